package audit

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
)

// settings checks what a queue has beside its jobs.
func (a *auditor) settings(q *queue) {
	a.meta(q)
	for _, state := range []string{"completed", "failed"} {
		a.metrics(q, "metrics:"+state)
	}
	if e, ok := q.own["limiter"]; ok {
		a.counter(q, "limiter")
		if e.TTL == nil {
			a.report(RuleLimiter, q.base+"limiter", "never ends")
		}
	}
	a.events(q)
	a.schedulers(q)
}

func (a *auditor) meta(q *queue) {
	h := q.own["meta"].Hash
	for _, f := range []string{"concurrency", "max", "duration", "opts.maxLenEvents"} {
		if v, ok := h[f]; ok {
			if n, err := strconv.ParseInt(v, 10, 64); err != nil || n < 0 || n == 0 && f != "opts.maxLenEvents" {
				a.report(RuleMeta, q.base+"meta", "field %s is %q", f, v)
			}
		}
	}
	if v, ok := h["paused"]; ok && v != "1" {
		a.report(RuleMeta, q.base+"meta", "field paused is %q", v)
	}
	if (h["max"] == "") != (h["duration"] == "") {
		a.report(RuleMeta, q.base+"meta", "a rate limit has both max and duration: %q, %q", h["max"], h["duration"])
	}
}

func (a *auditor) metrics(q *queue, name string) {
	h, ok := q.own[name]
	data := q.own[name+":data"].List
	if !ok {
		if len(data) > 0 {
			a.report(RuleMetrics, q.base+name+":data", "has points, and nothing is counted")
		}
		return
	}
	read := func(field string) int64 {
		n, err := strconv.ParseInt(h.Hash[field], 10, 64)
		if err != nil || n < 0 {
			a.report(RuleMetrics, q.base+name, "field %s is %q", field, h.Hash[field])
		}
		return n
	}
	count, before := read("count"), read("prevCount")
	read("prevTS")
	var sum int64
	for _, point := range data {
		n, err := strconv.ParseInt(point, 10, 64)
		if err != nil || n < 0 {
			a.report(RuleMetrics, q.base+name+":data", "has the point %q", point)
		}
		sum += n
	}
	if before > count || sum > before {
		a.report(RuleMetrics, q.base+name, "counts %d, %d before this minute, and %d in its points", count, before, sum)
	}
}

// events checks the entries of the stream: a Node program stops to read events
// for good at one whose value is not JSON.
func (a *auditor) events(q *queue) {
	values := map[string]string{"progress": "data", "completed": "returnvalue"}
	for _, e := range q.own["events"].Stream {
		name := e.Fields["event"]
		if name == "" {
			a.report(RuleEvent, q.base+"events", "entry %s has no name", e.ID)
		}
		if f, ok := values[name]; ok && !json.Valid([]byte(e.Fields[f])) {
			a.report(RuleEvent, q.base+"events", "entry %s, %s of job %q, has the value %q, not JSON", e.ID, name, e.Fields["jobId"], e.Fields[f])
		}
	}
}

// schedulers checks that each scheduler has its settings, and a job that makes
// the next one.
func (a *auditor) schedulers(q *queue) {
	for _, m := range q.own["repeat"].Sorted {
		key := q.base + "repeat:" + m.Name
		if _, ok := q.sched[m.Name]; !ok {
			a.report(RuleScheduler, key, "is listed and has no settings")
		}
		if next := nextJob(m); q.jobs[next] == nil {
			a.report(RuleScheduler, key, "waits for job %q, which does not exist", next)
		}
	}
}

// owners checks what stands below a prefix and no queue: in which queues
// somebody declares schedulers.
func (a *auditor) owners(prefix string) {
	for key, e := range a.state {
		if rest, ok := strings.CutPrefix(key, prefix+"::"); !ok {
			continue
		} else if rest != "gen:schedules" {
			a.report(RuleKey, key, "is of no queue, and nothing that we know")
			continue
		}
		a.typed(key, e, "set")
		for _, m := range e.Set {
			if queue, owner, _ := strings.Cut(m, ":"); queue == "" || owner == "" {
				a.report(RuleScheduler, key, "has the member %q, which names no queue and owner", m)
			}
		}
	}
}

// nextJob is the id of the job that a scheduler waits for.
func nextJob(m vectors.Member) string {
	return "repeat:" + m.Name + ":" + strconv.FormatFloat(m.Score, 'f', 0, 64)
}
