package vectors

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// givenSchedule are the arguments of the operations on schedulers.
type givenSchedule struct {
	ID    string `json:"schedulerId"`
	Taken string `json:"producerId"`
	Rule  struct {
		Every  float64  `json:"every"`
		Offset *float64 `json:"offset"`
	} `json:"schedulerOpts"`
	Job struct {
		PrevMillis float64 `json:"prevMillis"`
		Repeat     struct {
			Pattern string `json:"pattern"`
		} `json:"repeat"`
	} `json:"jobOpts"`
}

func (r *Record) givenSchedule() givenSchedule {
	var g givenSchedule
	_ = json.Unmarshal(r.Args, &g) // what does not fit is left out
	return g
}

// slotJob is the job of a scheduler's slot, or empty.
func (r *Record) slotJob(sid string) string {
	for _, m := range r.was("repeat").Sorted {
		if m.Name == sid {
			return fmt.Sprintf("repeat:%s:%.0f", sid, m.Score)
		}
	}
	return ""
}

// slotPending reports whether that job waits or is delayed.
func (r *Record) slotPending(sid string) bool {
	id := r.slotJob(sid)
	return slices.ContainsFunc([]string{"delayed", "prioritized", "wait", "paused"}, func(key string) bool { return r.was(key).has(id) })
}

// intervalChanged: a scheduler gets another interval than it had, or one
// instead of a pattern, the job of its slot is replaced, and the phase that was
// kept is not that of the new job.
func intervalChanged(r *Record) bool {
	g := r.givenSchedule()
	if g.Rule.Every <= 0 || g.Rule.Offset != nil || r.was("repeat:"+g.ID).number("every") == g.Rule.Every || !r.slotPending(g.ID) {
		return false
	}
	for _, m := range r.is("repeat").Sorted {
		if m.Name == g.ID {
			return math.Mod(m.Score, g.Rule.Every) != r.was("repeat:"+g.ID).number("offset")
		}
	}
	return false
}

// finishedJobInSlot: the next job of a pattern, whose job is replaced, is to
// get the id of one that exists.
func finishedJobInSlot(r *Record) bool {
	g := r.givenSchedule()
	id := fmt.Sprintf("repeat:%s:%.0f", g.ID, g.Job.PrevMillis)
	return g.Job.Repeat.Pattern != "" && r.slotPending(g.ID) && id != r.slotJob(g.ID) && r.was(id).Type != ""
}

// slotJobUnfound: the job of the slot stands in the list of a paused queue that
// 6.x does not look at.
func slotJobUnfound(r *Record) bool {
	return !r.Peers5() && r.was("meta").Hash["paused"] != "" && r.was("wait").has(r.slotJob(r.givenSchedule().ID))
}

// nextSlotTaken: the current job of a scheduler with an interval is taken, and
// another one has the id that its next one is to get.
func nextSlotTaken(r *Record) bool {
	g := r.givenSchedule()
	return g.Taken == r.slotJob(g.ID) && r.was("repeat:"+g.ID).number("every") > 0 && string(r.Reply) == "null"
}

// slotNotGiven: the options of the job of a pattern do not name its slot.
func slotNotGiven(r *Record) bool {
	g := r.givenSchedule()
	return g.Job.Repeat.Pattern != "" && g.Job.PrevMillis == 0
}
