package model

import (
	"slices"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// drain removes what waits, and with delayed what is delayed.
func (q *queue) drain(delayed bool) {
	newest := slices.Clone(q.wait)
	slices.Reverse(newest)
	q.wait = nil
	q.eraseAll(newest)
	if delayed {
		q.eraseSet(bullmq.StateDelayed)
	}
	q.eraseSet(bullmq.StatePrioritized)
}

func (q *queue) eraseAll(ids []string) {
	for _, id := range ids {
		if j := q.jobs[id]; j != nil {
			q.erase(j, true, false)
		}
	}
}

func (q *queue) eraseSet(s bullmq.State) {
	ids := q.set(s).list()
	clear(q.set(s))
	q.eraseAll(ids)
}

// clean removes up to most jobs (0: all) of a state that are older than a time.
func (q *queue) clean(s bullmq.State, before int64, most int) []string {
	var gone []string
	for _, id := range q.list(s) {
		if (most == 0 || len(gone) < most) && q.cleanable(q.jobs[id], s, before) {
			gone = append(gone, id)
		}
	}
	for _, id := range gone {
		q.takeOut(id)
	}
	last := slices.Clone(gone)
	if q.set(s) == nil {
		slices.Reverse(last) // lists are removed from the newest on
	}
	q.eraseAll(last)
	return gone
}

func (q *queue) cleanable(j *job, s bullmq.State, before int64) bool {
	switch s {
	case bullmq.StateCompleted, bullmq.StateFailed:
		return j.ended <= before
	case bullmq.StateActive:
		return j.token == "" && j.begun <= before
	case bullmq.StatePrioritized:
		return j.timestamp <= before
	}
	if j.begun != 0 {
		return j.begun <= before
	}
	return j.timestamp <= before
}

// retry makes a finished job wait again.
func (q *queue) retry(id string, r bullmq.RetryRequest) error {
	j := q.jobs[id]
	if j == nil {
		return bullmq.ErrJobNotFound
	}
	if !q.set(r.State).take(id) {
		return bullmq.ErrNotInState
	}
	j.forget(r.State)
	if r.ResetMade {
		j.made = 0
	}
	if r.ResetStarted {
		j.starts = 0
	}
	q.makeWait(j, j.lifo)
	q.awaitAgain(j, r.State)
	return nil
}

// forget forgets how a job ended.
func (j *job) forget(s bullmq.State) {
	j.begun, j.ended = 0, 0
	if s == bullmq.StateFailed {
		j.reason = ""
	} else {
		j.result = ""
	}
}

// moveAll makes all jobs of a state wait.
func (q *queue) moveAll(s bullmq.State) {
	var plain []string
	for _, id := range q.set(s).list() {
		j := q.jobs[id]
		if s == bullmq.StateDelayed {
			j.delay = 0
		} else {
			j.forget(s)
			q.awaitAgain(j, s)
		}
		if j.priority > 0 {
			q.makeWait(j, false)
		} else {
			plain = append(plain, id)
		}
	}
	clear(q.set(s))
	for _, id := range plain {
		q.back(id)
	}
}

func (q *queue) promoteOne(id string) error {
	j := q.jobs[id]
	if j == nil {
		return bullmq.ErrJobNotFound
	}
	if !q.delayed.take(id) {
		return bullmq.ErrNotInState
	}
	j.delay = 0
	q.makeWait(j, false)
	return nil
}

func (q *queue) changeDelay(id string, ms int64) error {
	j := q.jobs[id]
	if j == nil {
		return bullmq.ErrJobNotFound
	}
	if _, ok := q.delayed[id]; !ok {
		return bullmq.ErrNotInState
	}
	j.delay = ms
	q.makeLater(id, q.now+ms)
	return nil
}

func (q *queue) changePriority(id string, priority int, first bool) error {
	j := q.jobs[id]
	if j == nil {
		return bullmq.ErrJobNotFound
	}
	j.priority = priority
	if !q.prioritized.take(id) && !takeFrom(&q.wait, id) {
		return nil
	}
	if priority > 0 && first {
		q.prioritized[id] = float64(priority) * perPriority
		return nil
	}
	q.makeWait(j, first)
	return nil
}

func (q *queue) remove(id string, deep bool) error {
	if q.locked(q.key(id), deep, map[string]bool{}) {
		return bullmq.ErrLocked
	}
	which, parent := "none", ""
	if deep {
		which = "all"
	}
	if j := q.jobs[id]; j != nil {
		parent = j.parent
	}
	q.removeTree(q.key(id), parent, which, map[string]bool{})
	return nil
}

// removePending removes the children of a job that were not started.
func (q *queue) removePending(id string) error {
	j := q.jobs[id]
	if j == nil {
		return bullmq.ErrJobNotFound
	}
	key := q.key(id)
	seen := map[string]bool{key: true}
	for _, child := range j.children("pending") {
		if !q.spared(child) {
			q.removeTree(child, key, "pending", seen)
		}
	}
	return nil
}

// unlink makes a parent no longer wait for a child.
func (q *queue) unlink(id string) (bool, error) {
	j := q.jobs[id]
	if j == nil {
		return false, bullmq.ErrJobNotFound
	}
	if j.parent == "" {
		return false, nil
	}
	pq, p := q.find(j.parent)
	if p == nil {
		return false, bullmq.ErrNoParent
	}
	if !p.pending[q.key(id)] {
		return false, nil
	}
	delete(p.pending, q.key(id))
	if len(p.pending) == 0 {
		pq.release(p)
	}
	j.parent = ""
	return true, nil
}

// obliterate removes the queue with all it has.
func (q *queue) obliterate(force bool) error {
	q.paused = true
	if len(q.active) > 0 && !force {
		return bullmq.ErrActiveJobs
	}
	newest := slices.Clone(q.active)
	slices.Reverse(newest)
	q.active = nil
	q.eraseAll(newest)
	q.eraseSet(bullmq.StateDelayed)
	q.eraseSet(bullmq.StateCompleted)
	newest = slices.Clone(q.wait)
	slices.Reverse(newest)
	q.wait = nil
	q.eraseAll(newest)
	for _, s := range []bullmq.State{bullmq.StatePrioritized, bullmq.StateFailed, bullmq.StateWaitingChildren} {
		q.eraseSet(s)
	}
	*q = *newQueue(q.world, q.name)
	return nil
}
