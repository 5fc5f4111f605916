package audit

import (
	"maps"
	"math"
	"slices"
	"strconv"
)

// perPriority is the distance between the scores of two priorities, perMilli
// that between two milliseconds.
const (
	perPriority = 1 << 32
	perMilli    = 4096
)

// places checks scores against the jobs, and the counters that they come from.
func (a *auditor) places(q *queue) {
	pc := a.counter(q, "pc")
	for _, m := range q.own["prioritized"].Sorted {
		j := q.jobs[m.Name]
		if j == nil {
			continue
		}
		priority, _ := j.number("priority")
		level, place := math.Floor(m.Score/perPriority), math.Mod(m.Score, perPriority)
		if level != priority || priority < 1 {
			a.report(RulePriority, j.key, "has priority %q, and stands in prioritized with %.0f", j.fields["priority"], level)
		}
		if pc < perPriority && place > float64(pc) {
			a.report(RulePriority, j.key, "has place %.0f among those of its priority, pc is %d", place, pc)
		}
	}
	for _, m := range q.own["delayed"].Sorted {
		j := q.jobs[m.Name]
		if j == nil {
			continue
		}
		made, _ := j.number("timestamp")
		delay, _ := j.number("delay")
		if due := math.Floor(m.Score / perMilli); due < math.Floor(made+delay) {
			a.report(RuleDelay, j.key, "is due at %.0f, %.0f ms before its delay is over", due, made+delay-due)
		}
	}
	a.numbers(q)
}

// numbers checks that the counter of ids is beyond all that were given.
func (a *auditor) numbers(q *queue) {
	last := a.counter(q, "id")
	for _, id := range slices.Sorted(maps.Keys(q.jobs)) {
		if n, err := strconv.ParseInt(id, 10, 64); err == nil && strconv.FormatInt(n, 10) == id && n > last {
			a.report(RuleID, q.base+"id", "is %d: job %q will be written over", last, id)
		}
	}
}

// wake checks that workers that wait are woken.
func (a *auditor) wake(q *queue) {
	base, later := false, math.Inf(1)
	for _, m := range q.own["marker"].Sorted {
		switch {
		case m.Name == "0" && m.Score == 0:
			base = true
		case m.Name == "1" && m.Score > 0:
			later = m.Score
		default:
			a.report(RuleMarker, q.base+"marker", "holds %q with %v", m.Name, m.Score)
		}
	}
	meta := q.own["meta"].Hash
	if base || a.looking[q.name] || meta["paused"] != "" {
		return
	}
	waiting := 0
	for _, id := range slices.Concat(q.ids("wait"), q.ids("paused"), q.ids("prioritized")) {
		if !isLegacy(id) {
			waiting++
		}
	}
	limit, err := strconv.Atoi(meta["concurrency"])
	if err == nil && len(q.ids("active")) >= limit {
		return
	}
	if waiting > 0 {
		a.report(RuleWake, q.base+"marker", "%d jobs wait, and no worker is woken", waiting)
	}
	if known, ok := a.knows[q.name]; ok {
		later = min(later, float64(known.UnixMilli()))
	}
	if delayed := q.own["delayed"].Sorted; len(delayed) > 0 && later > delayed[0].Score/perMilli {
		a.report(RuleWake, q.base+"marker", "job %q is due at %.0f, and workers are woken at %.0f",
			delayed[0].Name, math.Floor(delayed[0].Score/perMilli), later)
	}
}
