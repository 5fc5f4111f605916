package model

import (
	"maps"
	"slices"
	"strconv"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// taker is a worker that takes jobs.
type taker struct {
	name    string
	limit   bullmq.RateLimit
	metrics bool
}

// forbidden is how much of a rate limit is used when it was set by hand.
const forbidden = 1<<53 - 1

// take takes up to n jobs, and reports whether a rate limit kept it from more.
func (q *queue) take(n int, w taker, token string) (taken []*job, limited bool) {
	q.promote()
	most := int64(w.limit.Max)
	if q.limit.Max > 0 {
		most = int64(q.limit.Max)
	}
	room := int64(-1) // any number
	if most > 0 {
		if room = most - q.used; room <= 0 {
			return nil, true
		}
	}
	if q.paused {
		return nil, false
	}
	if q.concurrency > 0 {
		n = min(n, q.concurrency-len(q.active))
	}
	for n > 0 && room != 0 {
		j := q.takeOne()
		if j == nil {
			break
		}
		q.begin(j, w, token)
		taken = append(taken, j)
		n--
		if most > 0 && j.deferred == "" {
			room--
			q.count(w)
		}
	}
	return taken, false
}

// takeOne takes the next waiting job out of its place.
func (q *queue) takeOne() *job {
	if len(q.wait) > 0 {
		j := q.jobs[q.wait[0]]
		q.wait = q.wait[1:]
		return j
	}
	list := q.prioritized.list()
	if len(list) == 0 {
		q.places = 0
		return nil
	}
	q.prioritized.take(list[0])
	return q.jobs[list[0]]
}

func (q *queue) begin(j *job, w taker, token string) {
	q.active = append(slices.Clone(q.active), j.id)
	j.begun, j.token = q.now, token
	j.starts++
	if w.name != "" {
		j.by = w.name
	}
}

// count counts a started job for the rate limit.
func (q *queue) count(w taker) {
	if q.used++; q.used > 1 {
		return
	}
	per := q.limit.Per
	if w.limit.Max > 0 {
		per = w.limit.Per
	}
	q.until = q.now + per.Milliseconds()
}

// forbid lets no limited worker start a job for some time.
func (q *queue) forbid(ms int64) { q.used, q.until = forbidden, q.now+ms }

// outcome is what becomes of a taken job.
type outcome struct {
	kind   string // "done", "fail", "final", "delay", "back", "limit" or "children"
	value  int
	reason string
	ms     int64
}

// held is a job that a worker has taken.
type held struct {
	queue string
	id    string
	token string
	by    int               // the worker's number
	hand  *bullmq.ActiveJob // nil: it was taken by a call of the storage
	// What the worker knows since then.
	request
	made int
}

// retries reports whether an outcome means another attempt: now, or later.
func (h *held) retries(o outcome) (now, later bool) {
	again := o.kind == "fail" && h.made+1 < h.attempts
	return again && h.backoff == 0, again && h.backoff > 0
}

// settle is what finishing a taken job does, and why it is refused.
func (q *queue) settle(h *held, o outcome, w taker) error {
	j := q.jobs[h.id]
	if j == nil {
		return bullmq.ErrJobNotFound
	}
	if err := j.refuses(o.kind); err != nil {
		return err
	}
	if err := j.unlock(h); err != nil {
		return err
	}
	delete(q.mark, j.id)
	takeFrom(&q.active, j.id) // what is locked is active
	if o.kind == "fail" || o.kind == "final" {
		j.reason = o.reason
	}
	now, later := h.retries(o)
	switch {
	case o.kind == "done":
		q.finish(j, bullmq.StateCompleted, strconv.Itoa(o.value), j.keepDone, w)
	case now:
		j.made++
		q.makeWait(j, j.lifo)
	case later:
		j.made++
		q.later(j, h.backoff)
	case o.kind == "fail", o.kind == "final":
		q.finish(j, bullmq.StateFailed, o.reason, j.keepLost, w)
	case o.kind == "delay":
		q.later(j, o.ms)
	case o.kind == "back", o.kind == "limit":
		if j.priority > 0 {
			q.prioritized[j.id] = float64(j.priority) * perPriority
		} else {
			q.front(j.id)
		}
	case o.kind == "children":
		q.parents[j.id] = float64(q.now)
	}
	return nil
}

// unlock releases the job's lock, if it is the worker's.
func (j *job) unlock(h *held) error {
	switch j.token {
	case "":
		return bullmq.ErrLockLost
	case h.token:
		j.token = ""
		return nil
	}
	return bullmq.ErrLockMismatch
}

// refuses tells whether children stand against an outcome.
func (j *job) refuses(kind string) error {
	switch {
	case kind == "children" && len(j.lost) > 0, kind == "done" && len(j.pending) == 0 && len(j.lost) > 0:
		return bullmq.ErrFailedChildren
	case kind == "done" && len(j.pending) > 0:
		return bullmq.ErrPendingChildren
	case kind == "children" && len(j.pending) == 0:
		return bullmq.ErrNoChildren
	}
	return nil
}

func (q *queue) later(j *job, ms int64) {
	j.delay = ms
	q.makeLater(j.id, q.now+ms)
}

// finish finishes a job that has left the active ones.
func (q *queue) finish(j *job, state bullmq.State, text string, keep *bullmq.Retention, w taker) {
	if w.metrics {
		q.done[state]++
	}
	q.dedupDone(j)
	if state == bullmq.StateFailed {
		q.childLost(j, text)
	} else {
		q.childDone(j, text)
	}
	j.made++
	if keep != nil && keep.Remove {
		q.erase(j, false, true)
		return
	}
	j.ended = q.now
	if state == bullmq.StateFailed {
		j.reason, j.deferred = text, ""
	} else {
		j.result = text
	}
	q.set(state)[j.id] = float64(q.now)
	if keep != nil {
		q.retain(state, keep)
	}
}

// retain drops finished jobs that a policy does not keep.
func (q *queue) retain(state bullmq.State, keep *bullmq.Retention) {
	set := q.set(state)
	drop := func(is func(i int, id string) bool) {
		list := set.list()
		slices.Reverse(list)
		for i, id := range list {
			if is(i, id) {
				q.erase(q.jobs[id], false, true)
				set.take(id)
			}
		}
	}
	if keep.Age > 0 {
		drop(func(_ int, id string) bool { return set[id] <= float64(q.now-keep.Age.Milliseconds()) })
	}
	if keep.Count > 0 {
		drop(func(i int, _ string) bool { return i >= keep.Count })
	}
}

// recover puts stalled jobs back, and marks the active ones.
func (q *queue) recover(most int) (back []string) {
	for _, id := range slices.Sorted(maps.Keys(q.mark)) {
		j := q.jobs[id]
		if j != nil && j.token != "" || !takeFrom(&q.active, id) {
			continue
		}
		if j.stalls++; j.stalls > most {
			j.deferred = "job stalled more than allowable limit"
		}
		q.front(id)
		back = append(back, id)
	}
	q.mark = map[string]bool{}
	for _, id := range q.active {
		q.mark[id] = true
	}
	return back
}
