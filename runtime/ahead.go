package bullmq

import (
	"slices"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Prefetch lets the worker take up to n jobs before it has slots for them, so
// that a slot that becomes free need not wait for an answer of the storage.
// Default 0: none. It is for handlers of a few milliseconds, or for a storage
// that is far away: the worker takes no more ahead than its slots finish in the
// time of two calls, so none while handlers take long.
//
// Jobs taken ahead are active and locked, for peers and counts as much as those
// that run, and a job of higher priority that is added later runs after them.
// They go back, first in line and without a start being counted, when the worker
// stops or is paused, or when no slot became free for a quarter of the lock
// duration. A worker that shares its slots, see Server, cannot have it.
func Prefetch(n int) WorkerOption { return workerOption(func(c *workerConfig) { c.prefetch = n }) }

// ahead is the jobs that were taken before there were slots for them.
type ahead struct {
	most  int           // 0: there are never any
	epoch time.Time     // that times of jobs count from
	pace  time.Duration // how long handlers take; 0: none has ended yet
	trip  time.Duration // how long calls take
	ready []*ActiveJob  // first come, first to run
}

// room is how many jobs there may be, with so many slots.
func (a *ahead) room(slots int) int {
	if a.most == 0 || a.pace == 0 {
		return 0
	}
	return int(min(2*float64(slots)*float64(a.trip)/float64(a.pace), float64(a.most)))
}

func (a *ahead) now() time.Duration { return time.Since(a.epoch) }

// begin notes when a job begins to run.
func (a *ahead) begin(j *ActiveJob) {
	if a.most > 0 {
		j.since = a.now()
	}
}

// ended learns from a job that ended how long handlers take.
func (a *ahead) ended(j *ActiveJob) {
	if a.most > 0 {
		a.pace = max(1, drift(a.pace, a.now()-j.since))
	}
}

// called learns from a call how long calls take. One that lasted through an
// outage says nothing of others.
func (a *ahead) called(d time.Duration) { a.trip = drift(a.trip, min(d, time.Second)) }

// drift is the mean of what there was before, with little weight for each new one.
func drift(mean, next time.Duration) time.Duration {
	if mean == 0 {
		return next
	}
	return mean + (next-mean)/16
}

// add makes jobs wait for a slot.
func (a *ahead) add(jobs []*ActiveJob) {
	now := a.now()
	for _, j := range jobs {
		j.since = now
	}
	a.ready = append(a.ready, jobs...)
}

// pop is the job that waits longest for a slot, or nil.
func (a *ahead) pop() *ActiveJob {
	if len(a.ready) == 0 {
		return nil
	}
	j := a.ready[0]
	a.ready = slices.Delete(a.ready, 0, 1)
	return j
}

// remove takes out a job, if it waits here.
func (a *ahead) remove(j *ActiveJob) bool {
	i := slices.Index(a.ready, j)
	if i < 0 {
		return false
	}
	a.ready = slices.Delete(a.ready, i, i+1)
	return true
}

// fill gives the slots that are free jobs that were taken ahead, and returns
// these. The caller starts them.
func (p *pump) fill() []*ActiveJob {
	var run []*ActiveJob
	for p.running < p.limit {
		j := p.ahead.pop()
		if j == nil {
			break
		}
		p.running++
		run = append(run, j)
	}
	return run
}

// proceed is the next job for a goroutine whose handler has ended, of those that
// were taken ahead; nil: there is none. Somebody else then sends the outcome.
func (p *pump) proceed() *ActiveJob {
	if p.ahead.most == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running >= p.limit {
		return nil
	}
	j := p.ahead.pop()
	if j == nil {
		return nil
	}
	p.running++
	if p.sending < p.lanes && p.sendable() {
		p.wake.Signal()
	}
	return j
}

// refill starts jobs that were taken ahead in slots that became free without a
// goroutine to go on.
func (p *pump) refill() {
	p.mu.Lock()
	run := p.fill()
	p.mu.Unlock()
	p.startAll(run)
}

// putBack makes all jobs that were taken ahead wait again, as if they had not
// been taken. It is called with the lock held.
func (p *pump) putBack() {
	for _, j := range p.ahead.ready {
		j.end = storage.Settlement{ID: j.ID, Token: j.token, Kind: storage.BackToWait, Unstarted: true}
		p.ends(j)
	}
	clear(p.ahead.ready)
	p.ahead.ready = p.ahead.ready[:0]
}

// unstick puts jobs back that have waited for a slot for so long: handlers take
// longer than they did when the jobs were taken. No others are taken ahead until
// one has ended, and told how long.
func (p *pump) unstick(patience time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ahead.ready) == 0 || p.ahead.now()-p.ahead.ready[0].since < patience {
		return
	}
	p.ahead.pace = 0
	p.putBack()
	p.wake.Broadcast()
}
