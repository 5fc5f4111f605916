package ledger

import "time"

// RecordSettled records the answers to the outcomes of jobs. The caller has
// called SetGone on those that are done. The others have another outcome, which
// is sent next.
func (l *Ledger) RecordSettled(jobs []*Job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range jobs {
		if j.Gone() {
			l.held.remove(j)
			continue
		}
		j.state.Store(stateHeld)
		l.finished = append(l.finished, j)
	}
}

// Taken is what a call took, and what it said about the queue. Times are by the
// monotonic clock of this process.
type Taken struct {
	// Now is when the call was answered.
	Now time.Time
	// Took is how long the call took. It counts with prefetch only.
	Took time.Duration
	// Run are the jobs to run.
	Run []*Job
	// Decided are the jobs that are not run. Their outcomes are set.
	Decided []*Job
	// Due is when the next delayed job is due; zero: there is none.
	Due time.Time
	// LimitedUntil is until when a rate limit holds; zero: none does.
	LimitedUntil time.Time
}

// RecordTaken records what the call of a batch took. It returns the jobs that
// the caller must start now.
func (l *Ledger) RecordTaken(b *Batch, t *Taken) (run []*Job) {
	run = t.Run
	l.mu.Lock()
	l.holdLocked(t)
	l.asked -= b.Take
	if l.prefetch.most > 0 {
		l.prefetch.called(t.Took)
		l.prefetch.add(run)
		if l.stopping || l.paused {
			l.putBackLocked()
		}
		run = l.startPrefetchedLocked()
	} else {
		l.running += len(run)
	}
	if b.TakesOnly() {
		l.takes--
	}
	if b.Take > 0 {
		l.drained = len(t.Run)+len(t.Decided) < b.Take
		if l.drained {
			l.member.sated()
		}
		l.due, l.limited = t.Due, t.LimitedUntil
	}
	wait := l.nothingToTakeLocked()
	l.mu.Unlock()
	l.member.release(b.Take - len(t.Run))
	if wait {
		l.toWait.Signal()
	}
	return run
}

func (l *Ledger) holdLocked(t *Taken) {
	for _, j := range t.Run {
		l.held.add(j)
	}
	for _, j := range t.Decided {
		l.held.add(j)
		l.endLocked(j)
	}
}

// Finish records that a handler has returned, and that the job has an outcome.
// The outcome of a job that is gone is dropped.
func (l *Ledger) Finish(j *Job) {
	l.mu.Lock()
	l.running--
	l.prefetch.ended(j)
	if j.Gone() {
		l.forgetLocked(j)
	} else {
		l.endLocked(j)
	}
	wait := l.nothingToTakeLocked()
	l.mu.Unlock()
	l.member.release(1)
	if wait {
		l.toWait.Signal()
	}
}

// endLocked makes a job's outcome wait to be sent.
func (l *Ledger) endLocked(j *Job) {
	j.ended = true
	l.finished = append(l.finished, j)
}

// forgetLocked removes a job of which nothing will be sent.
func (l *Ledger) forgetLocked(j *Job) {
	l.held.remove(j)
	if l.stopping {
		l.toSend.Broadcast() // Await looks whether it was the last
	}
}

// nothingToTakeLocked reports whether the last take found less than it asked
// for, or a rate limit holds. Only then is there something to wait for.
func (l *Ledger) nothingToTakeLocked() bool { return l.drained || !l.limited.IsZero() }

// Find returns the held jobs with an id.
func (l *Ledger) Find(id string) []*Job {
	l.mu.Lock()
	defer l.mu.Unlock()
	var jobs []*Job
	for j := range l.held.all() {
		if j.Record.ID == id {
			jobs = append(jobs, j)
		}
	}
	return jobs
}
