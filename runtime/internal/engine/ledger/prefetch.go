package ledger

import (
	"slices"
	"time"
)

// prefetch holds the jobs that were taken before there was capacity for them.
type prefetch struct {
	most  int           // 0: there are never any
	epoch time.Time     // that times of jobs count from
	pace  time.Duration // how long handlers take; 0: none has ended yet
	trip  time.Duration // how long calls take
	ready []*Job        // first come, first to run
}

// room returns how many jobs may be prefetched: as many as handlers finish in
// the time of two calls.
func (p *prefetch) room(capacity int) int {
	if p.most == 0 || p.pace == 0 {
		return 0
	}
	return int(min(2*float64(capacity)*float64(p.trip)/float64(p.pace), float64(p.most)))
}

func (p *prefetch) now() time.Duration { return time.Since(p.epoch) }

// ended learns from a job that ended how long handlers take.
func (p *prefetch) ended(j *Job) {
	if p.most > 0 {
		p.pace = max(1, drift(p.pace, p.now()-j.since))
	}
}

// called learns from a call how long calls take. One that lasted through an
// outage says nothing about others.
func (p *prefetch) called(d time.Duration) { p.trip = drift(p.trip, min(d, time.Second)) }

// drift is a moving average. Each new value has little weight.
func drift(mean, next time.Duration) time.Duration {
	if mean == 0 {
		return next
	}
	return mean + (next-mean)/16
}

// add makes jobs wait for capacity.
func (p *prefetch) add(jobs []*Job) {
	now := p.now()
	for _, j := range jobs {
		j.since = now
	}
	p.ready = append(p.ready, jobs...)
}

// pop removes and returns the job that has waited longest, or nil.
func (p *prefetch) pop() *Job {
	if len(p.ready) == 0 {
		return nil
	}
	j := p.ready[0]
	p.ready = slices.Delete(p.ready, 0, 1)
	return j
}

// remove takes out a job, and reports whether it waited here.
func (p *prefetch) remove(j *Job) bool {
	i := slices.Index(p.ready, j)
	if i < 0 {
		return false
	}
	p.ready = slices.Delete(p.ready, i, i+1)
	return true
}

// Started records that the handler of a job is about to run. The goroutine that
// runs the job calls it.
func (l *Ledger) Started(j *Job) {
	if l.prefetch.most > 0 {
		j.since = l.prefetch.now()
	}
}

// StartNext returns the next prefetched job for a goroutine whose handler has
// returned, or nil. If there is a job, another goroutine sends the outcome.
func (l *Ledger) StartNext() *Job {
	if l.prefetch.most == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running >= l.capacity {
		return nil
	}
	j := l.prefetch.pop()
	if j == nil {
		return nil
	}
	l.running++
	if l.inFlight < l.lanes && l.sendableLocked() {
		l.toSend.Signal()
	}
	return j
}

// StartPrefetched returns prefetched jobs for all capacity that is free. The
// caller must start them.
func (l *Ledger) StartPrefetched() []*Job {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.startPrefetchedLocked()
}

func (l *Ledger) startPrefetchedLocked() []*Job {
	var run []*Job
	for l.running < l.capacity {
		j := l.prefetch.pop()
		if j == nil {
			break
		}
		l.running++
		run = append(run, j)
	}
	return run
}

// putBackLocked decides that all prefetched jobs wait again, as if they had not
// been taken.
func (l *Ledger) putBackLocked() {
	for _, j := range l.prefetch.ready {
		j.Outcome = j.PutBack()
		l.endLocked(j)
	}
	clear(l.prefetch.ready)
	l.prefetch.ready = l.prefetch.ready[:0]
}

// PutBackAfter puts all prefetched jobs back if one has waited for capacity for
// as long as patience: handlers take longer than they did when it was taken. No
// others are prefetched until a handler has returned.
func (l *Ledger) PutBackAfter(patience time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.prefetch.ready) == 0 || l.prefetch.now()-l.prefetch.ready[0].since < patience {
		return
	}
	l.prefetch.pace = 0
	l.putBackLocked()
	l.toSend.Broadcast()
}
