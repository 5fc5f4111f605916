package vectors

import (
	"slices"
	"strconv"
	"strings"
)

// pausedSilently: a queue was paused without an event.
func pausedSilently(r *Record) bool { return silently(r, "paused") }

// resumedSilently: a queue was resumed, and the call was to emit no event.
func resumedSilently(r *Record) bool { return silently(r, "resumed") }

func silently(r *Record, action string) bool {
	g := r.given()
	return g.Action == action && g.EmitEvent != nil && !*g.EmitEvent
}

// resumedBySetAside: the peer looked only at the jobs that were set aside,
// found none, and woke nobody for those that wait.
func resumedBySetAside(r *Record) bool {
	if r.given().Action != "resumed" || len(r.was("wait").List) == 0 || len(r.was("paused").List)+len(r.was("prioritized").Sorted) > 0 {
		return false
	}
	forDelayed := slices.ContainsFunc(r.is("marker").Sorted, func(m Member) bool {
		return m.Name == "1" && !slices.Contains(r.was("marker").Sorted, m)
	})
	return forDelayed || !r.baseMarker()
}

// twoLists: jobs wait in both lists.
func twoLists(r *Record) bool {
	return len(r.was("wait").List) > 0 && len(r.was("paused").List) > 0
}

// timesComparedAsText: the time of a job that is looked at is, as a text,
// before the time given, and as a number after it, or the other way round.
func timesComparedAsText(r *Record) bool {
	fields := []string{"finishedOn", "processedOn", "timestamp"}
	g := r.given()
	switch g.State {
	case "wait", "paused", "active":
	case "delayed":
		fields = fields[1:]
	case "prioritized":
		fields = fields[2:]
	default:
		return false
	}
	limit := strconv.FormatFloat(g.Timestamp, 'f', -1, 64)
	ids := r.was(g.State).names()
	if n := len(ids) - g.Limit; g.Limit > 0 && n > 0 && r.was(g.State).Type == "list" {
		ids = ids[n:] // the oldest
	}
	return slices.ContainsFunc(ids, func(id string) bool {
		locked := g.State == "active" && r.was(id+":lock").Type != ""
		for _, f := range fields {
			if at, ok := r.was(id).Hash[f]; ok {
				return !locked && !r.awaited(id) && (at <= limit) != (r.was(id).number(f) <= g.Timestamp)
			}
		}
		return false
	})
}

// schedulerJobDropped: of a drained list other entries stay than the jobs that
// schedulers wait for.
func schedulerJobDropped(r *Record) bool {
	return slices.ContainsFunc([]string{"wait", "paused"}, func(list string) bool {
		kept := slices.DeleteFunc(slices.Clone(r.was(list).List), func(id string) bool { return !r.awaited(id) })
		return !slices.Equal(kept, r.is(list).List)
	})
}

// leftBehind: the last step of an obliteration leaves keys of the queue, or
// the lock of a job that it removed.
func leftBehind(r *Record) bool {
	for key, e := range r.After {
		id, lock := strings.CutSuffix(key, ":lock")
		if lock && r.Before[id].Type == "hash" && r.After[id].Type == "" {
			return true
		}
		switch strings.TrimPrefix(key, r.Base()) {
		case "limiter", "priority":
			if string(r.Reply) == "0" {
				return true
			}
		case "waiting-children":
			if string(r.Reply) == "0" && len(e.Sorted) > 0 {
				return true
			}
		}
	}
	return false
}

// waitingLeftBehind: an obliteration had room for more jobs when it came to
// the waiting ones, and left them.
func waitingLeftBehind(r *Record) bool {
	room := r.given().Count
	for _, key := range []string{"active", "delayed", "repeat", "completed"} {
		room -= len(gone(r.was(key), r.is(key)))
	}
	return !r.refused() && room > 0 && len(r.is("wait").List) > 0
}

// notItsParent: the parent named is not that of the child, and what the peer
// answers is not what is true of the child's own.
func notItsParent(r *Record) bool {
	g := r.given()
	child, ok := r.Before[g.JobKey]
	own := child.Hash["parentKey"]
	if !ok || own == g.ParentKey {
		return false
	}
	answer := "0"
	switch {
	case own == "":
		answer = "1"
	case r.Before[own].Type == "":
		answer = "-5"
	case !r.Before[own+":dependencies"].has(g.JobKey):
		answer = "1"
	}
	return answer == "0" || answer != string(r.Reply)
}

// parentReleasedPlainly: a parent waits no longer for children, and was put in
// the plain list though it has a delay or a priority.
func parentReleasedPlainly(r *Record) bool {
	for key, waiting := range r.Before {
		base, ok := strings.CutSuffix(key, "waiting-children")
		if !ok {
			continue
		}
		for _, id := range gone(waiting, r.After[key]) {
			job := r.Before[base+id]
			if (job.number("delay") > 0 || job.number("priority") > 0) && r.wentToList(base, id) {
				return true
			}
		}
	}
	return false
}

// wentToList reports whether a parent stands in the plain list of its queue,
// or was removed from there later in the same call.
func (r *Record) wentToList(base, id string) bool {
	if r.After[base+"wait"].has(id) || r.After[base+"paused"].has(id) {
		return true
	}
	return slices.ContainsFunc(r.happened(base+"events"), func(e map[string]string) bool {
		return e["event"] == "removed" && e["jobId"] == id && (e["prev"] == "wait" || e["prev"] == "paused")
	})
}

// childrenInSetOrder: children of one job were removed in another order than
// that of their keys.
func childrenInSetOrder(r *Record) bool {
	for key, e := range r.Before {
		parent, part := splitKey(key)
		if r.Before[strings.TrimSuffix(parent, ":")].Type != "hash" {
			continue
		}
		switch {
		case part == "dependencies" && !r.inOrder(e.Set),
			(part == "processed" || part == "failed") && !r.inOrder(sortedKeys(e.Hash)):
			return true
		}
	}
	return false
}

// inOrder reports whether the events that say that jobs were removed, of those
// named, came in the order of the names.
func (r *Record) inOrder(keys []string) bool {
	last := map[string]int{} // place of the last event by stream
	for _, key := range slices.Sorted(slices.Values(keys)) {
		base, id := splitKey(key)
		at := slices.IndexFunc(r.happened(base+"events"), func(e map[string]string) bool {
			return e["event"] == "removed" && e["jobId"] == id
		})
		if at < 0 {
			continue
		}
		if at < last[base] {
			return false
		}
		last[base] = at
	}
	return true
}

// childLeftPending: a parent still waits for a child that was removed.
func childLeftPending(r *Record) bool {
	for key, e := range r.After {
		if _, part := splitKey(key); part != "dependencies" {
			continue
		}
		for _, child := range e.Set {
			if r.Before[child].Type != "" && r.After[child].Type == "" {
				return true
			}
		}
	}
	return false
}
