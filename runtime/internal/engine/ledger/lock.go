package ledger

import (
	"slices"
	"time"
)

// RenewedBefore returns the jobs whose locks were last renewed before t.
func (l *Ledger) RenewedBefore(t time.Time) []*Job {
	l.mu.Lock()
	defer l.mu.Unlock()
	var jobs []*Job
	for j := range l.held.all() {
		if j.renewed.Before(t) && j.state.Load() == stateHeld {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// SetRenewed records that the locks of jobs were renewed at t.
func (l *Ledger) SetRenewed(jobs []*Job, t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range jobs {
		j.renewed = t
	}
}

// Renewed returns when the lock of a job was set or last renewed.
func (l *Ledger) Renewed(j *Job) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return j.renewed
}

// Lose gives up a job whose lock is gone, and reports whether it did. A job that
// is settled, or that a call under way settles, stays: the call's answer decides.
func (l *Ledger) Lose(lost *Job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !lost.listed || !lost.state.CompareAndSwap(stateHeld, stateGone) {
		return false
	}
	if l.prefetch.remove(lost) {
		l.forgetLocked(lost)
		return true
	}
	if i := slices.Index(l.finished, lost); i >= 0 {
		l.finished = slices.Delete(l.finished, i, i+1)
		l.forgetLocked(lost)
	}
	return true // Finish forgets a job whose handler still runs
}
