package audit

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var decimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// jobs checks each job by itself, and what is in the states.
func (a *auditor) jobs(q *queue) {
	for _, id := range slices.Sorted(maps.Keys(q.jobs)) {
		j := q.jobs[id]
		a.fields(j)
		a.oneState(j)
		a.finish(q, j)
		a.started(q, j)
	}
	for _, state := range containers {
		for _, id := range q.ids(state) {
			if q.jobs[id] == nil && !isLegacy(id) {
				a.report(RuleGhost, q.base+state, "holds %q, which is no job", id)
			}
		}
	}
}

// isLegacy reports whether an entry of a list is a marker of BullMQ 4 and no job.
func isLegacy(id string) bool { return strings.HasPrefix(id, "0:") }

// fields checks that a job has what every job has, and that peers can read it.
func (a *auditor) fields(j *job) {
	for _, f := range []string{"name", "data", "opts", "timestamp", "delay", "priority"} {
		if _, ok := j.fields[f]; !ok {
			a.report(RuleHash, j.key, "has no field %s", f)
		}
	}
	for _, f := range []string{"timestamp", "delay", "priority", "processedOn", "finishedOn", "ats", "atm", "stc"} {
		if v, ok := j.fields[f]; ok && !decimal.MatchString(v) {
			a.report(RuleHash, j.key, "field %s is %q, not a number", f, v)
		}
	}
	for _, f := range []string{"data", "opts", "parent", "returnvalue", "progress", "stacktrace"} {
		if v, ok := j.fields[f]; ok && !json.Valid([]byte(v)) && (f != "data" || v != "") {
			a.report(RuleHash, j.key, "field %s is %q, not JSON", f, v)
		}
	}
	if _, ok := j.fields["flowAttachmentFailed"]; ok {
		a.report(RuleHash, j.key, "has field flowAttachmentFailed, which ends with the call that adds a flow")
	}
}

func (a *auditor) oneState(j *job) {
	switch len(j.states) {
	case 0:
		a.report(RuleState, j.key, "is in no state")
	case 1:
	default:
		a.report(RuleState, j.key, "is in %s: a job is in one state, once", strings.Join(j.states, " and "))
	}
}

// finish checks what finished jobs say of their end, and that others say nothing.
func (a *auditor) finish(q *queue, j *job) {
	end := map[string]string{"completed": "returnvalue", "failed": "failedReason"}
	for _, state := range []string{"completed", "failed"} {
		if !j.in(state) {
			continue
		}
		for _, f := range []string{"finishedOn", "atm", end[state]} {
			if _, ok := j.fields[f]; !ok {
				a.report(RuleFinish, j.key, "is %s and has no field %s", state, f)
			}
		}
		at, _ := j.number("finishedOn")
		if score := q.score(state, j.id); score != at {
			a.report(RuleFinish, j.key, "finished at %.0f, and stands in %s with %.0f", at, state, score)
		}
	}
	if _, ok := j.fields["finishedOn"]; ok && !j.in("completed", "failed") {
		a.report(RuleFinish, j.key, "has field finishedOn and is not finished")
	}
	if _, ok := j.fields["returnvalue"]; ok && !j.in("completed") {
		a.report(RuleFinish, j.key, "has field returnvalue and is not completed")
	}
	if _, ok := j.fields["defa"]; ok && j.in("failed") {
		a.report(RuleFinish, j.key, "has failed, and field defa says that it is to be")
	}
}

func (q *queue) score(key, member string) float64 {
	for _, m := range q.own[key].Sorted {
		if m.Name == member {
			return m.Score
		}
	}
	return 0
}

// started checks active jobs, locks, and the set of those that may have stalled.
func (a *auditor) started(q *queue, j *job) {
	_, begun := j.fields["processedOn"]
	ats, _ := j.number("ats")
	if j.in("active") && (!begun || ats < 1) {
		a.report(RuleActive, j.key, "is active: processedOn is %q, ats is %q", j.fields["processedOn"], j.fields["ats"])
	}
	if lock, ok := q.parts[j.id]["lock"]; ok {
		if !j.in("active") {
			a.report(RuleLock, j.key+":lock", "locks a job that is not active, but in %s", strings.Join(j.states, " and "))
		}
		if lock.TTL == nil {
			a.report(RuleLock, j.key+":lock", "never ends")
		}
	}
	// One that left the active ones since may be there: the next check drops it.
	// Then a new job may have got its id, if that is no number.
	_, made := j.fields["atm"]
	_, err := strconv.Atoi(j.id)
	if slices.Contains(q.own["stalled"].Set, j.id) && err == nil && !begun && !made && ats == 0 {
		a.report(RuleStalled, q.base+"stalled", "holds %q, which was never started", j.id)
	}
}

// counter reads a number that a queue keeps; absent is 0.
func (a *auditor) counter(q *queue, name string) int64 {
	text := q.own[name].Text
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && text != "" {
		a.report(RuleKey, q.base+name, "is %q, not a number", text)
	}
	return n
}
