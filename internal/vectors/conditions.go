package vectors

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// conditions are the situations that deviations name. Each looks at a record
// alone, at its arguments and at the keys before and after, so that a record
// that nobody has seen yet is recognised by what it is about. A condition says
// as exactly as it can when the peer's way and ours part.
var conditions = map[string]func(*Record) bool{
	// adding
	"staleDedupKey":     staleDedupKey,
	"holderRescheduled": holderRescheduled,
	"fractionalDelay":   fractionalDelay,
	"parentVanished":    parentVanished,
	"nextJobKept":       nextJobKept,
	"nextJobIDTaken":    nextJobIDTaken,

	// reading
	"markerDropped":      markerDropped,
	"setAsideUncounted":  setAsideUncounted,
	"setAsideUnlisted":   setAsideUnlisted,
	"onePlainListCount":  onePlainListCount,
	"pageNotFilled":      pageNotFilled,
	"noListOfChildren":   noListOfChildren,
	"cursorNeverEnds":    cursorNeverEnds,
	"noSuchJob":          noSuchJob,
	"listOfOneStateOnly": listOfOneStateOnly,

	// waiting jobs and their workers
	"prioritizedUnnoticed":  prioritizedUnnoticed,
	"slotUnnoticed":         slotUnnoticed,
	"waitingUnnoticed":      waitingUnnoticed,
	"delayedUnnoticed":      delayedUnnoticed,
	"markerEndsFetch":       markerEndsFetch,
	"deferredFailureCounts": deferredFailureCounts,
	"stalledInSetOrder":     stalledInSetOrder,
	"stalledAndWaiting":     stalledAndWaiting,
	"priorityForgotten":     priorityForgotten,
	"delayForgotten":        delayForgotten,
	"ghostMoved":            ghostMoved,
	"retriedChildForgotten": retriedChildForgotten,
	"waitsElsewhere":        waitsElsewhere,

	// pausing, and removing
	"pausedSilently":        pausedSilently,
	"resumedSilently":       resumedSilently,
	"resumedBySetAside":     resumedBySetAside,
	"twoLists":              twoLists,
	"timesComparedAsText":   timesComparedAsText,
	"schedulerJobDropped":   schedulerJobDropped,
	"leftBehind":            leftBehind,
	"waitingLeftBehind":     waitingLeftBehind,
	"notItsParent":          notItsParent,
	"parentReleasedPlainly": parentReleasedPlainly,
	"childrenInSetOrder":    childrenInSetOrder,
	"childLeftPending":      childLeftPending,

	// schedulers
	"intervalChanged":   intervalChanged,
	"finishedJobInSlot": finishedJobInSlot,
	"slotJobUnfound":    slotJobUnfound,
	"nextSlotTaken":     nextSlotTaken,
	"slotNotGiven":      slotNotGiven,
}

// staleDedupKey: the new job's deduplication id is held, without an end, by a
// job that does not exist any more.
func staleDedupKey(r *Record) bool {
	g := r.given()
	d := g.Opts.Dedup
	if d == nil || r.refused() || g.JobID != "" && r.was(g.JobID).Type != "" {
		return false
	}
	holder := r.was("de:" + d.ID)
	stale := holder.Type != "" && holder.TTL == nil && r.was(holder.Text).Type == ""
	replaced := d.Replace && r.Op() != "addParentJob" && r.was("delayed").has(holder.Text)
	return stale && !replaced
}

// holderRescheduled: the new job yields to a delayed one, which is to get its delay.
func holderRescheduled(r *Record) bool {
	g := r.given()
	d := g.Opts.Dedup
	if d == nil || !d.Reschedule || r.refused() || g.JobID != "" && r.was(g.JobID).Type != "" {
		return false
	}
	replaced := d.Replace && r.Op() != "addParentJob"
	return r.was("delayed").has(r.was("de:"+d.ID).Text) && !replaced && !staleDedupKey(r)
}

// fractionalDelay: the delay is no whole number of milliseconds.
func fractionalDelay(r *Record) bool {
	g := r.given()
	part := func(d float64) bool { return d > 0 && d != math.Floor(d) }
	return !r.refused() && (part(g.Opts.Delay) || part(g.Delay))
}

// parentVanished: a child is added whose id is there already, as a child of a
// parent that does not exist any more.
func parentVanished(r *Record) bool {
	g := r.given()
	old := r.was(g.JobID).Hash["parentKey"]
	return g.JobID != "" && g.ParentKey != "" && !r.refused() &&
		old != "" && old != g.ParentKey && r.Before[old].Type == ""
}

// nextJobKept: the new job took the place of the one that held its
// deduplication id, and the job that was kept to follow that one stays.
func nextJobKept(r *Record) bool {
	d := r.given().Opts.Dedup
	if d == nil || !d.Replace {
		return false
	}
	holder := r.was("de:" + d.ID).Text
	replaced := r.was("delayed").has(holder) && r.is("de:"+d.ID).Text != holder
	return replaced && r.is("dn:"+d.ID).Type != ""
}

// nextJobIDTaken: the job that was kept to follow the finished one has an id
// that another job got meanwhile.
func nextJobIDTaken(r *Record) bool {
	deid := r.was(r.given().JobID).Hash["deid"]
	id := r.was("dn:" + deid).Hash["jid"]
	return deid != "" && id != "" && !r.refused() && r.was(id).Type != ""
}

// markerDropped: the peer removed the marker of BullMQ 4 from a list that it only read.
func markerDropped(r *Record) bool {
	for key, before := range r.Before {
		if marked(before.List) && len(r.After[key].List) < len(before.List) {
			return true
		}
	}
	return false
}

// setAsideUncounted: waiting jobs are counted while some are set aside, which
// the peer leaves out.
func setAsideUncounted(r *Record) bool {
	return slices.Contains(r.given().States, "wait") && jobs(r.was("paused").List) > 0
}

// setAsideUnlisted: waiting jobs are listed while some are set aside, and
// these would be on the page.
func setAsideUnlisted(r *Record) bool {
	g := r.given()
	newestOnly := !g.Asc && g.Start >= 0 && g.End >= 0 && g.End < jobs(r.was("wait").List)
	return setAsideUncounted(r) && !newestOnly
}

// onePlainListCount: the peer counts jobs without a priority by the length of
// one list; all of them are in two, and a marker of BullMQ 4 is none.
func onePlainListCount(r *Record) bool {
	all := jobs(r.was("wait").List) + jobs(r.was("paused").List)
	return slices.Contains(r.given().Priorities, 0) && len(r.was(r.list()).List) != all
}

// pageNotFilled: a page of jobs has fewer than there is room for, though more follow.
func pageNotFilled(r *Record) bool {
	g := r.given()
	var pages [][]any
	if json.Unmarshal(r.Reply, &pages) != nil || g.Start < 0 || g.End < g.Start {
		return false
	}
	for i, state := range g.States {
		ids := r.was(state).names()
		if (r.was(state).Type == "list") == g.Asc {
			slices.Reverse(ids) // lists have the newest first, sets the oldest
		}
		ids = ids[min(g.Start, len(ids)):]
		exist := slices.DeleteFunc(ids, func(id string) bool { return r.was(id).Type == "" })
		if i < len(pages) && len(pages[i]) < min(len(exist), g.End-g.Start+1) {
			return true
		}
	}
	return false
}

// noListOfChildren: the key that is paged through is not one of a job's children.
func noListOfChildren(r *Record) bool {
	_, part := splitKey(r.firstKey())
	return !slices.Contains([]string{"dependencies", "processed", "failed"}, part) && !strings.Contains(string(r.Reply), `"error"`)
}

// cursorNeverEnds: the cursor after the last failed child is not 0.
func cursorNeverEnds(r *Record) bool {
	var reply struct {
		Next int `json:"nextFailedCursor"`
	}
	return json.Unmarshal(r.Reply, &reply) == nil && reply.Next != 0
}

// noSuchJob: the job has no hash, or one that is not a job's.
func noSuchJob(r *Record) bool {
	_, ok := r.was(r.given().JobID).Hash["name"]
	return !ok
}

// listOfOneStateOnly: a job is looked for in one of the two lists of waiting
// jobs, and is in the other.
func listOfOneStateOnly(r *Record) bool {
	id := r.given().JobID
	switch r.firstKey() {
	case r.Base() + "wait":
		return r.was("paused").has(id) && !r.was("wait").has(id)
	case r.Base() + "paused":
		return r.was("wait").has(id) && !r.was("paused").has(id)
	}
	return false
}

// baseMarker reports whether workers that wait are woken after the operation.
func (r *Record) baseMarker() bool { return r.is("marker").has("0") }

// waitingUnnoticed: after the operation jobs wait, nothing keeps workers from
// them, and no worker is told.
func waitingUnnoticed(r *Record) bool {
	waiting := len(r.is("wait").List)+len(r.is("paused").List)+len(r.is("prioritized").Sorted) > 0
	return waiting && !r.paused() && !r.maxed() && !r.baseMarker()
}

// prioritizedUnnoticed: that holds of a job that went from a worker back to
// the prioritized ones.
func prioritizedUnnoticed(r *Record) bool {
	id := r.given().JobID
	return waitingUnnoticed(r) && r.is("prioritized").has(id) && !r.was("prioritized").has(id)
}

// slotUnnoticed: a job left its slot of a queue with a limited number of them,
// its worker takes no other, and nobody is told of what waits or is delayed.
func slotUnnoticed(r *Record) bool {
	left := len(r.is("active").List) < len(r.was("active").List)
	if !left || r.given().FetchNext || r.is("meta").Hash["concurrency"] == "" || r.paused() || r.maxed() {
		return false
	}
	waiting := len(r.is("wait").List)+len(r.is("paused").List)+len(r.is("prioritized").Sorted) > 0
	return waiting && !r.baseMarker() || !waiting && !r.delayedMarker()
}

// delayedMarker reports whether workers that wait are woken in time for the
// earliest delayed job, if there is one.
func (r *Record) delayedMarker() bool {
	delayed := r.is("delayed").Sorted
	return len(delayed) == 0 || slices.Contains(r.is("marker").Sorted, Member{"1", delayed[0].Score / 4096})
}

// delayedUnnoticed: a job was delayed, and the marker of the earliest delayed
// job was not set because the same call took another job.
func delayedUnnoticed(r *Record) bool {
	return strings.HasPrefix(string(r.Reply), "[[") && !r.delayedMarker()
}

// markerEndsFetch: the peer met a marker of BullMQ 4 where it looked for the
// next job, and did not look behind it.
func markerEndsFetch(r *Record) bool {
	wait := r.was("wait").List
	met := r.given().FetchNext && marked(wait) && !r.is("wait").has(wait[len(wait)-1])
	took := len(gone(r.is("active"), r.was("active"))) > 0
	return met && !took && len(r.is("wait").List)+len(r.is("prioritized").Sorted) > 0
}

// deferredFailureCounts: a job was taken that is only to be failed, and was
// counted for the rate limit.
func deferredFailureCounts(r *Record) bool {
	counted := r.is("limiter").Text != "" && r.is("limiter").Text != r.was("limiter").Text
	return counted && slices.ContainsFunc(gone(r.is("active"), r.was("active")), func(id string) bool {
		_, deferred := r.was(id).Hash["defa"]
		return deferred
	})
}

// stalledInSetOrder: stalled jobs went back in another order than that of their ids.
func stalledInSetOrder(r *Record) bool {
	var ids []string
	return json.Unmarshal(r.Reply, &ids) == nil && !slices.IsSorted(ids)
}

// stalledAndWaiting: a job without a lock was active and waited, too.
func stalledAndWaiting(r *Record) bool {
	return slices.ContainsFunc(r.was("stalled").Set, func(id string) bool {
		return r.was(id+":lock").Type == "" && r.was("active").has(id) && (r.was("wait").has(id) || r.was("paused").has(id))
	})
}

// moved are the jobs that an operation took out of a state in bulk, or the one
// that it was about.
func (r *Record) moved() []string {
	if g := r.given(); g.JobID == "" {
		return gone(r.was(g.State), r.is(g.State))
	} else if !r.refused() {
		return []string{g.JobID}
	}
	return nil
}

// priorityForgotten: a job with a priority was put among those without.
func priorityForgotten(r *Record) bool {
	return slices.ContainsFunc(r.moved(), func(id string) bool {
		return r.was(id).number("priority") > 0 && (r.is("wait").has(id) || r.is("paused").has(id))
	})
}

// delayForgotten: a job that was delayed waits, and still has its delay.
func delayForgotten(r *Record) bool {
	return r.given().State == "delayed" && slices.ContainsFunc(r.moved(), func(id string) bool {
		return r.is(id).number("delay") != 0
	})
}

// ghostMoved: an id without a job was put among the waiting ones.
func ghostMoved(r *Record) bool {
	return slices.ContainsFunc(r.moved(), func(id string) bool {
		_, ok := r.was(id).Hash["name"]
		return !ok
	})
}

// retriedChildForgotten: a finished child is to run again, and its parent,
// which knows how it ended, does not wait for it anew.
func retriedChildForgotten(r *Record) bool {
	return slices.ContainsFunc(r.moved(), func(id string) bool {
		key, parent := r.Base()+id, r.was(id).Hash["parentKey"]
		_, processed := r.Before[parent+":processed"].Hash[key]
		_, ignored := r.Before[parent+":failed"].Hash[key]
		known := processed || ignored || r.Before[parent+":unsuccessful"].has(key)
		return known && r.Before[parent].Type != "" && !r.After[parent+":dependencies"].has(key)
	})
}

// waitsElsewhere: the job waits in the one of the two lists that the peer does
// not look into.
func waitsElsewhere(r *Record) bool {
	id := r.given().JobID
	return !r.was(r.list()).has(id) && (r.was("wait").has(id) || r.was("paused").has(id))
}

// list is the one list of waiting jobs that the peer looks into.
func (r *Record) list() string {
	if r.Peers5() && r.paused() {
		return "paused"
	}
	return "wait"
}
