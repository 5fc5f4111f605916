package audit

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Member is an element of a sorted set.
type Member struct {
	Name  string
	Score float64
}

// Queue is what the keys of a queue itself say.
type Queue struct {
	Name string
	Base string // "<prefix>:<name>:"
	// Text holds the counters: id, pc and limiter, if they exist.
	Text map[string]string
	// LimiterExpires reports whether the rate limit ends.
	LimiterExpires bool
	Meta           map[string]string
	Marker         []Member
	// Waiting counts the jobs that a worker could take now, Active those that are taken.
	Waiting, Active int
	// Delayed is the first delayed job, or nil.
	Delayed *Member
	// Metrics holds the counts of completed and failed jobs.
	Metrics map[string]*Metrics
	// Looking is set when a worker took the marker and is about to look for
	// jobs: nobody else needs to be woken. Knows is when a worker looks by itself.
	Looking bool
	Knows   float64
}

// Metrics is what is kept below metrics:completed or metrics:failed.
type Metrics struct {
	Exists bool
	Hash   map[string]string
	Points []string
}

// counter reads a number that a queue keeps; absent is 0.
func (q *Queue) counter(r Report, name string) int64 {
	text := q.Text[name]
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && text != "" {
		r.add(RuleKey, q.Base+name, "", "set it to a number that is larger than all in use", Fix{}, "is %q, not a number", text)
	}
	return n
}

// Check reports the broken invariants of the queue itself.
func (q *Queue) Check(r Report) {
	q.wake(r)
	q.meta(r)
	for _, state := range []string{"completed", "failed"} {
		if m := q.Metrics[state]; m != nil {
			m.check(r, q.Base+"metrics:"+state)
		}
	}
	if _, ok := q.Text["limiter"]; ok {
		q.counter(r, "limiter")
		if !q.LimiterExpires {
			r.add(RuleLimiter, q.Base+"limiter", "", "remove the rate limit", fix("limiter"), "never expires")
		}
	}
}

// CheckNumber reports an id that the counter of ids will give once more.
func (q *Queue) CheckNumber(r Report, id string) {
	n, err := strconv.ParseInt(id, 10, 64)
	if last := q.counter(func(Problem) {}, "id"); err == nil && strconv.FormatInt(n, 10) == id && n > last {
		r.add(RuleID, q.Base+"id", id, "set the counter to the largest id in use", fix("counter", "id", id), "is %d: job %q will be written over", last, id)
	}
}

// CheckPlace reports a place among prioritized jobs that the counter of places
// will give once more.
func (q *Queue) CheckPlace(r Report, m Member) {
	pc, place := q.counter(func(Problem) {}, "pc"), Place(m.Score)
	if pc < perPriority && place > float64(pc) {
		r.add(RulePriority, q.Base+m.Name, m.Name, "set the counter to the largest place in use",
			fix("counter", "pc", strconv.FormatFloat(place, 'f', 0, 64)), "has place %.0f among those of its priority, pc is %d", place, pc)
	}
}

// Counters reports counters that are no numbers.
func (q *Queue) Counters(r Report) {
	q.counter(r, "id")
	q.counter(r, "pc")
}

// wake checks that waiting workers are woken.
func (q *Queue) wake(r Report) {
	base, later := false, math.Inf(1)
	for _, m := range q.Marker {
		switch {
		case m.Name == "0" && m.Score == 0:
			base = true
		case m.Name == "1" && m.Score > 0:
			later = m.Score
		default:
			r.add(RuleMarker, q.Base+"marker", "", "take the member out", fix("marker", m.Name), "holds %q with %v", m.Name, m.Score)
		}
	}
	if base || q.Looking || q.Meta["paused"] != "" {
		return
	}
	if limit, err := strconv.Atoi(q.Meta["concurrency"]); err == nil && q.Active >= limit {
		return
	}
	const cure = "wake a worker"
	if q.Waiting > 0 {
		r.add(RuleWake, q.Base+"marker", "", cure, fix("wake"), "%d jobs wait, and no worker is woken", q.Waiting)
	}
	if q.Knows > 0 {
		later = min(later, q.Knows)
	}
	if q.Delayed != nil && later > q.Delayed.Score/perMilli {
		r.add(RuleWake, q.Base+"marker", q.Delayed.Name, cure, fix("wake"), "job %q is due at %.0f, and workers are woken at %.0f",
			q.Delayed.Name, math.Floor(q.Delayed.Score/perMilli), later)
	}
}

func (q *Queue) meta(r Report) {
	key, h := q.Base+"meta", q.Meta
	const cure = "set it with SetConcurrency, SetRateLimit, Pause or Resume"
	for _, f := range []string{"concurrency", "max", "duration", "opts.maxLenEvents"} {
		if v, ok := h[f]; ok {
			if n, err := strconv.ParseInt(v, 10, 64); err != nil || n < 0 || n == 0 && f != "opts.maxLenEvents" {
				r.add(RuleMeta, key, "", cure, Fix{}, "field %s is %q", f, v)
			}
		}
	}
	if v, ok := h["paused"]; ok && v != "1" {
		r.add(RuleMeta, key, "", cure, Fix{}, "field paused is %q", v)
	}
	if (h["max"] == "") != (h["duration"] == "") {
		r.add(RuleMeta, key, "", cure, Fix{}, "a rate limit has both max and duration: %q, %q", h["max"], h["duration"])
	}
}

func (m *Metrics) check(r Report, key string) {
	const cure = "counts only: obliterate the metrics if they must be right"
	if !m.Exists {
		if len(m.Points) > 0 {
			r.add(RuleMetrics, key+":data", "", cure, Fix{}, "has points, and nothing is counted")
		}
		return
	}
	read := func(field string) int64 {
		n, err := strconv.ParseInt(m.Hash[field], 10, 64)
		if err != nil || n < 0 {
			r.add(RuleMetrics, key, "", cure, Fix{}, "field %s is %q", field, m.Hash[field])
		}
		return n
	}
	count, before := read("count"), read("prevCount")
	read("prevTS")
	var sum int64
	for _, point := range m.Points {
		n, err := strconv.ParseInt(point, 10, 64)
		if err != nil || n < 0 {
			r.add(RuleMetrics, key+":data", "", cure, Fix{}, "has the point %q", point)
		}
		sum += n
	}
	if before > count || sum > before {
		r.add(RuleMetrics, key, "", cure, Fix{}, "counts %d, %d before this minute, and %d in its points", count, before, sum)
	}
}

// CheckEvent reports an entry of the event stream that peers cannot read: a
// Node program stops reading events at one whose value is not JSON.
func CheckEvent(r Report, key, id string, fields map[string]string) {
	cure := "delete the entry: XDEL " + key + " " + id
	name := fields["event"]
	if name == "" {
		r.add(RuleEvent, key, "", cure, Fix{}, "entry %s has no name", id)
	}
	values := map[string]string{"progress": "data", "completed": "returnvalue"}
	if f, ok := values[name]; ok && !json.Valid([]byte(fields[f])) {
		r.add(RuleEvent, key, fields["jobId"], cure, Fix{}, "entry %s, %s of job %q, has the value %q, not JSON", id, name, fields["jobId"], fields[f])
	}
}

// Scheduler is a schedule, its settings and its next job.
type Scheduler struct {
	Key      string
	Settings bool   // its hash exists
	Next     string // the id of its next job
	Waits    bool   // that job exists
}

// Check reports a schedule that makes no more jobs.
func (s *Scheduler) Check(r Report) {
	const cure = "store the schedule again"
	if !s.Settings {
		r.add(RuleScheduler, s.Key, "", cure, Fix{}, "is listed and has no settings")
	}
	if !s.Waits {
		r.add(RuleScheduler, s.Key, s.Next, cure, Fix{}, "waits for job %q, which does not exist", s.Next)
	}
}

// NextJob is the id of the job that a schedule waits for.
func NextJob(m Member) string {
	return "repeat:" + m.Name + ":" + strconv.FormatFloat(m.Score, 'f', 0, 64)
}

// CheckOwner reports a key below a prefix that belongs to no queue, or members
// of the one that does: it names the queues in which somebody declares schedules.
func CheckOwner(r Report, prefix, key, typ string, members []string) {
	if rest := strings.TrimPrefix(key, prefix+"::"); rest != "gen:schedules" {
		if !strings.HasPrefix(rest, "relay:") { // pub/sub of BullMQ 6
			r.add(RuleKey, key, "", "rename or delete the key: it is not BullMQ's", Fix{}, "is of no queue, and unknown")
		}
		return
	}
	CheckType(r, key, typ, "set")
	for _, m := range members {
		if queue, owner, _ := strings.Cut(m, ":"); queue == "" || owner == "" {
			r.add(RuleScheduler, key, "", "remove the member", Fix{}, "has the member %q, which names no queue and owner", m)
		}
	}
}
