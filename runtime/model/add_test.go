package model

import (
	"slices"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// add adds a job, and returns the id of the handle, whether that job was there
// already, and why it was refused.
func (q *queue) add(r request) (id string, existing bool, err error) {
	_, parent := q.find(r.parent)
	if r.parent != "" && parent == nil {
		return "", false, bullmq.ErrNoParent
	}
	id = q.nextID()
	if r.id != "" {
		if id = r.id; q.jobs[id] != nil {
			return id, true, q.addAgain(q.jobs[id], r)
		}
	}
	if r.dedup != nil {
		if other := q.yields(id, r); other != "" {
			return other, true, nil
		}
	}
	q.store(id, r)
	return id, false, nil
}

// store stores a job and puts it where it belongs.
func (q *queue) store(id string, r request) {
	j := &job{
		request: r, id: id, timestamp: q.now, pending: map[string]bool{}, processed: map[string]string{},
		ignored: map[string]string{}, lost: map[string]bool{},
	}
	q.jobs[id] = j
	if r.delay > 0 {
		q.makeLater(id, q.now+r.delay)
	} else {
		q.makeWait(j, r.lifo)
	}
	if _, p := q.find(r.parent); p != nil {
		p.pending[q.key(id)] = true
	}
}

// addAgain is an add with the id of a job that is there: it may get a parent.
func (q *queue) addAgain(j *job, r request) error {
	if r.parent == "" {
		return nil
	}
	if _, old := q.find(j.parent); old != nil && j.parent != r.parent {
		return bullmq.ErrOtherParent
	}
	pq, p := q.find(r.parent)
	j.parent, j.onFail = r.parent, r.onFail
	if q.state(j.id) != bullmq.StateCompleted {
		p.pending[q.key(j.id)] = true
		return nil
	}
	p.processed[q.key(j.id)] = j.result
	if len(p.pending) == 0 {
		pq.release(p)
	}
	return nil
}

// yields returns the id of the job that an add yields to; empty: it does not,
// and holds the deduplication id now.
func (q *queue) yields(id string, r request) string {
	d := r.dedup
	h, ok := q.held[d.ID]
	own := ok && q.jobs[h.id] != nil && q.jobs[h.id].deid() == d.ID // else the id was given to another job
	switch {
	case !ok:
		q.hold(d, id)
		return ""
	case d.Replace && own && q.delayed.take(h.id):
		q.detach(q.key(h.id), q.jobs[h.id].parent, false)
		delete(q.jobs, h.id)
		delete(q.next, d.ID)
		if d.TTL > 0 && !d.Extend && !d.KeepLastIfActive {
			q.held[d.ID] = holder{id, h.until}
		} else {
			q.hold(d, id)
		}
		return ""
	case h.until == 0 && !own: // held by nobody
		delete(q.next, d.ID)
		q.hold(d, id)
		return ""
	case d.KeepLastIfActive && own && slices.Contains(q.active, h.id):
		r.id = id
		q.next[d.ID] = r
		q.held[d.ID] = holder{h.id, 0}
	case d.Replace:
	default:
		if d.Extend {
			q.hold(d, h.id)
		}
		if _, later := q.delayed[h.id]; later && own && d.Reschedule {
			q.jobs[h.id].delay = r.delay
			q.makeLater(h.id, q.now+r.delay)
		}
	}
	return h.id
}

// hold lets a job hold a deduplication id.
func (q *queue) hold(d *bullmq.Dedup, id string) {
	h := holder{id: id}
	if d.TTL > 0 && !d.KeepLastIfActive {
		h.until = q.now + d.TTL.Milliseconds()
	}
	q.held[d.ID] = h
}

// dedupDone frees the deduplication id of a finished job, and adds the job that
// was kept to follow it.
func (q *queue) dedupDone(j *job) {
	d := j.deid()
	if d == "" {
		return
	}
	if h, ok := q.held[d]; ok && h.until == 0 && h.id == j.id {
		delete(q.held, d)
	}
	next, ok := q.next[d]
	if !ok {
		return
	}
	delete(q.next, d)
	q.lastID++
	if q.jobs[next.id] != nil {
		return
	}
	q.hold(next.dedup, next.id)
	q.store(next.id, next)
}
