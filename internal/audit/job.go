package audit

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Job is what the keys of one job, and the containers that hold its id, say.
type Job struct {
	ID  string
	Key string
	// Fields is the job's hash. The text of a payload that was not read is "null".
	Fields map[string]string
	// States names the containers that hold the id, once for each time.
	States []string
	// Scores holds the id's score in each sorted set.
	Scores map[string]float64
	// Lock is the job's lock, or nil.
	Lock *Lock
	// Stalled reports whether the id is in the set of jobs that may have stalled.
	Stalled bool
	// Parent is the parent that the job names, or nil if that does not exist.
	Parent *ParentOf
	// Pending and Failing count the children that the job waits for, and those
	// whose failure makes it fail.
	Pending, Failing int
}

// Lock is the lock of a job.
type Lock struct{ Expires bool }

// ParentOf is what a job needs to know of its parent.
type ParentOf struct {
	Timestamp float64
	Waits     bool // it waits for the job
}

var decimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// In reports whether the job is in one of the states.
func (j *Job) In(states ...string) bool {
	return slices.ContainsFunc(j.States, func(s string) bool { return slices.Contains(states, s) })
}

// number reads a field; absent, or not a number, is 0.
func (j *Job) number(field string) float64 {
	n, _ := strconv.ParseFloat(j.Fields[field], 64)
	return n
}

func (j *Job) has(field string) bool {
	_, ok := j.Fields[field]
	return ok
}

// Check reports the broken invariants of the job.
func (j *Job) Check(r Report) {
	j.fields(r)
	j.oneState(r)
	j.finish(r)
	j.started(r)
	j.locked(r)
	j.place(r)
	j.awaited(r)
	j.waitsForChildren(r)
}

const (
	cureHash  = "read the hash, then remove the job, or set the field by hand"
	cureWatch = "find out which program wrote it; see the job's log and events"
)

// fields checks that a job has what every job has, and that peers can read it.
func (j *Job) fields(r Report) {
	for _, f := range []string{"name", "data", "opts", "timestamp", "delay", "priority"} {
		if !j.has(f) {
			r.add(RuleHash, j.Key, j.ID, cureHash, Fix{}, "has no field %s", f)
		}
	}
	for _, f := range []string{"timestamp", "delay", "priority", "processedOn", "finishedOn", "ats", "atm", "stc"} {
		if v, ok := j.Fields[f]; ok && !decimal.MatchString(v) {
			r.add(RuleHash, j.Key, j.ID, cureHash, Fix{}, "field %s is %q, not a number", f, v)
		}
	}
	for _, f := range []string{"data", "opts", "parent", "returnvalue", "progress", "stacktrace"} {
		if v, ok := j.Fields[f]; ok && !json.Valid([]byte(v)) && (f != "data" || v != "") {
			r.add(RuleHash, j.Key, j.ID, cureHash, Fix{}, "field %s is %q, not JSON", f, v)
		}
	}
	if j.has("flowAttachmentFailed") {
		r.add(RuleHash, j.Key, j.ID, cureHash, Fix{}, "has field flowAttachmentFailed, which ends with the call that adds a flow")
	}
}

func (j *Job) oneState(r Report) {
	switch len(j.States) {
	case 0:
		r.add(RuleState, j.Key, j.ID, "put it back into the state that its hash describes", fix("lost", j.ID), "is in no state")
	case 1:
	default:
		r.add(RuleState, j.Key, j.ID, "keep the entry that its hash and its lock describe", fix("twice", j.ID),
			"is in %s: a job is in one state, once", strings.Join(j.States, " and "))
	}
}

// finish checks what finished jobs say about their end, and that others say nothing.
func (j *Job) finish(r Report) {
	for state, end := range map[string]string{"completed": "returnvalue", "failed": "failedReason"} {
		if !j.In(state) {
			continue
		}
		for _, f := range []string{"finishedOn", "atm", end} {
			if !j.has(f) {
				r.add(RuleFinish, j.Key, j.ID, cureWatch, Fix{}, "is %s and has no field %s", state, f)
			}
		}
		if at := j.number("finishedOn"); j.Scores[state] != at {
			r.add(RuleFinish, j.Key, j.ID, "set its score to finishedOn", fix("finished", j.ID, state),
				"finished at %.0f, and its score in %s is %.0f", at, state, j.Scores[state])
		}
	}
	if j.has("finishedOn") && len(j.States) > 0 && !j.In("completed", "failed") {
		r.add(RuleFinish, j.Key, j.ID, cureWatch, Fix{}, "has field finishedOn and is not finished")
	}
	if j.has("returnvalue") && len(j.States) > 0 && !j.In("completed") {
		r.add(RuleFinish, j.Key, j.ID, cureWatch, Fix{}, "has field returnvalue and is not completed")
	}
	if j.has("defa") && j.In("failed") {
		r.add(RuleFinish, j.Key, j.ID, cureWatch, Fix{}, "has failed, and field defa says that it has yet to fail")
	}
}

// started checks active jobs, and the set of those that may have stalled.
func (j *Job) started(r Report) {
	begun, starts := j.has("processedOn"), j.number("ats")
	if j.In("active") && (!begun || starts < 1) {
		r.add(RuleActive, j.Key, j.ID, cureWatch, Fix{}, "is active: processedOn is %q, ats is %q", j.Fields["processedOn"], j.Fields["ats"])
	}
	// One that left the active jobs since may be there: the next check drops it.
	// Then a new job may have got its id, if that is not a number.
	_, err := strconv.Atoi(j.ID)
	if j.Stalled && err == nil && !begun && !j.has("atm") && starts == 0 {
		r.add(RuleStalled, base(j.Key)+"stalled", j.ID, "the next stalled check drops it", Fix{}, "holds %q, which was never started", j.ID)
	}
}

func (j *Job) locked(r Report) {
	if j.Lock == nil {
		return
	}
	if len(j.States) > 0 && !j.In("active") {
		r.add(RuleLock, j.Key+":lock", j.ID, "delete the lock", fix("lock", j.ID), "locks a job that is not active, but in %s", strings.Join(j.States, " and "))
	}
	if !j.Lock.Expires {
		r.add(RuleLock, j.Key+":lock", j.ID, "let it expire in 30 seconds; its worker renews it, or the stalled check recovers the job", fix("lock", j.ID), "never expires")
	}
}

// The distance between the scores of two priorities, and of two milliseconds.
const (
	perPriority = 1 << 32
	perMilli    = 4096
)

// place checks the score of a prioritized or delayed job.
func (j *Job) place(r Report) {
	if score, ok := j.Scores["prioritized"]; ok {
		if level := Level(score); level != j.number("priority") || level < 1 {
			r.add(RulePriority, j.Key, j.ID, "place it by the priority in its hash", fix("place", j.ID),
				"has priority %q, and its score in prioritized is that of %.0f", j.Fields["priority"], level)
		}
	}
	if score, ok := j.Scores["delayed"]; ok {
		until := j.number("timestamp") + j.number("delay")
		if due := float64(int64(score / perMilli)); due < float64(int64(until)) {
			r.add(RuleDelay, j.Key, j.ID, "change its delay if it must run later", Fix{}, "is due at %.0f, %.0f ms before its delay is over", due, until-due)
		}
	}
}

// Level is the priority that a score of prioritized jobs stands for.
func Level(score float64) float64 { return float64(int64(score / perPriority)) }

// Place is the place among the jobs of one priority that a score stands for.
func Place(score float64) float64 { return score - Level(score)*perPriority }

// awaited checks what a job says about its parent, and that the parent waits for it.
func (j *Job) awaited(r Report) {
	pkey, text := j.Fields["parentKey"], j.Fields["parent"]
	if pkey == "" && text == "" {
		return
	}
	var p struct {
		ID       string `json:"id"`
		QueueKey string `json:"queueKey"`
		Remove   bool   `json:"rdof"`
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil || p.QueueKey+":"+p.ID != pkey {
		r.add(RuleParent, j.Key, j.ID, cureHash, Fix{}, "has the parent %q, and by field parent %s", pkey, text)
		return
	}
	// A parent may have been removed, and another job have got its id; a child
	// that leaves no trace when it fails is not waited for when it is retried.
	if j.Parent == nil || j.In("completed", "failed") || p.Remove || j.Parent.Timestamp > j.number("timestamp") {
		return
	}
	if !j.Parent.Waits {
		r.add(RuleUnawaited, j.Key, j.ID, "its result is lost to the parent: check both, and add the flow again", Fix{},
			"is not done, and its parent %s does not wait for it", pkey)
	}
}

// waitsForChildren checks that a parent in waiting-children can leave it.
func (j *Job) waitsForChildren(r Report) {
	if !j.In("waiting-children") {
		return
	}
	if j.Pending == 0 {
		r.add(RuleReleased, j.Key, j.ID, "release it", fix("release", j.ID), "waits for children and has none pending")
	}
	if j.Failing > 0 {
		r.add(RuleReleased, j.Key, j.ID, "fail it by hand, or retry the child", Fix{}, "waits for children, one of which has failed and makes it fail")
	}
}

// base is what the keys of the queue begin with that a job's key is of.
func base(jobKey string) string { return jobKey[:strings.LastIndexByte(jobKey, ':')+1] }
