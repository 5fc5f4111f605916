package model

import (
	"maps"
	"slices"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// release lets a parent that waits for children go, as its own options say.
func (q *queue) release(j *job) {
	if !q.parents.take(j.id) {
		return
	}
	q.move(j)
}

func (q *queue) move(j *job) {
	if j.delay > 0 {
		q.delayed[j.id] = float64((q.now + j.delay) * perMilli)
		return
	}
	q.makeWait(j, true)
}

// childDone tells a parent that a child is completed.
func (q *queue) childDone(j *job, value string) {
	pq, p := q.find(j.parent)
	key := q.key(j.id)
	if p == nil || !p.pending[key] {
		return
	}
	delete(p.pending, key)
	p.processed[key] = value
	if len(p.pending) == 0 {
		pq.release(p)
	}
}

// childLost tells a parent that a child has failed for good.
func (q *queue) childLost(j *job, reason string) {
	pq, p := q.find(j.parent)
	key := q.key(j.id)
	if p == nil || j.onFail == bullmq.OnFailWait || !p.pending[key] {
		return
	}
	delete(p.pending, key)
	switch j.onFail {
	case bullmq.OnFailFail:
		p.lost[key] = true
		switch {
		case pq.parents.take(p.id):
			p.deferred = "child bull:" + key + " failed"
			pq.move(p)
		case pq.delayed.take(p.id):
			p.deferred, p.delay = "child bull:"+key+" failed", 0
			pq.move(p)
		case pq.state(p.id) != bullmq.StateFailed:
			p.deferred = "child bull:" + key + " failed"
		}
	case bullmq.OnFailContinue:
		p.ignored[key] = reason
		pq.release(p)
	case bullmq.OnFailIgnore, bullmq.OnFailRemove:
		if len(p.pending) == 0 {
			pq.release(p)
		}
		if j.onFail == bullmq.OnFailIgnore {
			p.ignored[key] = reason
		}
	}
}

// awaitAgain makes a parent wait for a finished child that is to run again.
func (q *queue) awaitAgain(j *job, state bullmq.State) {
	_, p := q.find(j.parent)
	if p == nil {
		return
	}
	key := q.key(j.id)
	known := false
	if state == bullmq.StateFailed {
		if known = p.lost[key]; known {
			delete(p.lost, key)
		} else if _, known = p.ignored[key]; known {
			delete(p.ignored, key)
		}
	} else if _, known = p.processed[key]; known {
		delete(p.processed, key)
	}
	if known {
		p.pending[key] = true
	}
}

// detach makes a parent no longer wait for a child that is removed. In a hard
// removal a parent that is in the same queue and has waited for this child
// alone goes too.
func (q *queue) detach(child, parent string, hard bool) {
	pq, p := q.find(parent)
	if p == nil || !p.pending[child] {
		return
	}
	delete(p.pending, child)
	if len(p.pending) > 0 || !pq.parents.take(p.id) {
		return
	}
	if hard && pq == q {
		pq.erase(p, true, false)
		return
	}
	pq.move(p)
}

// erase removes what is kept of a job. Its place is the caller's to take away.
func (q *queue) erase(j *job, hard, keepDedup bool) {
	q.detach(q.key(j.id), j.parent, hard)
	if !keepDedup {
		q.freeDedup(j)
	}
	delete(q.jobs, j.id)
}

// freeDedup frees the deduplication id that a job holds.
func (q *queue) freeDedup(j *job) {
	if h, ok := q.held[j.deid()]; !ok || h.id == j.id {
		delete(q.held, j.deid())
		delete(q.next, j.deid())
	}
}

// locked reports whether a worker holds a job, or with deep one of its descendants.
func (q *queue) locked(key string, deep bool, seen map[string]bool) bool {
	_, j := q.find(key)
	if j == nil || seen[key] {
		return false
	}
	seen[key] = true
	if j.token != "" {
		return true
	}
	for _, child := range j.children("all") {
		if deep && q.locked(child, deep, seen) {
			return true
		}
	}
	return false
}

// removeTree removes a job by name: with "all" or the "pending" of its children.
func (w *world) removeTree(key, parent, which string, seen map[string]bool) {
	q, j := w.find(key)
	if seen[key] {
		return
	}
	seen[key] = true
	q.detach(key, parent, false)
	if j == nil {
		return
	}
	if j.parent != parent {
		q.detach(key, j.parent, false)
	}
	for _, child := range j.children(which) {
		if which == "all" || !w.spared(child) {
			w.removeTree(child, key, which, seen)
		}
	}
	q.takeOut(j.id)
	q.freeDedup(j)
	delete(q.jobs, j.id)
}

// spared reports whether a pending child stays when others go: a worker holds
// it, or it has failed.
func (w *world) spared(key string) bool {
	q, j := w.find(key)
	return j != nil && (j.token != "" || q.state(j.id) == bullmq.StateFailed)
}

// children are those that go with a job.
func (j *job) children(which string) []string {
	var out []string
	if which == "all" {
		out = slices.Concat(slices.Sorted(maps.Keys(j.processed)), slices.Sorted(maps.Keys(j.ignored)), slices.Sorted(maps.Keys(j.lost)))
	}
	if which != "none" {
		out = append(out, slices.Sorted(maps.Keys(j.pending))...)
	}
	return out
}
