package lanes

import (
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// MaxWait is the longest single wait for work: one that takes longer may mean
// a connection that is dead without saying so.
const MaxWait = 10 * time.Second

// Wait waits for work whenever the lanes found none, until the worker begins to
// stop.
func (l *Lanes) Wait(waiter storage.Waiter) {
	defer waiter.Close()
	var back outage.Backoff
	for {
		limited, due, ok := l.Ledger.AwaitNothing()
		if !ok || l.halt.Err() != nil {
			return
		}
		if wait := time.Until(limited); wait > 0 {
			l.rest(wait)
			l.Ledger.LookAgain()
			continue
		}
		wait := l.DrainDelay
		if !due.IsZero() {
			wait = min(time.Until(due), MaxWait)
		}
		if wait <= 0 {
			l.Ledger.LookAgain()
			continue
		}
		l.waitOnce(waiter, wait, &back)
	}
}

// waitOnce waits for work once, and makes the lanes look if there may be some.
func (l *Lanes) waitOnce(waiter storage.Waiter, wait time.Duration, back *outage.Backoff) {
	next, err := waiter.Wait(l.halt, wait)
	switch {
	case l.halt.Err() != nil:
	case err != nil:
		l.Outage.Failed(outage.WaitForJobs, err)
		back.Wait(l.halt)
		l.Ledger.LookAgain() // a wake-up that was lost is not repeated
	case !next.IsZero() && next.After(l.Now()):
		l.waited(back)
		l.Ledger.SetDue(time.Now().Add(next.Sub(l.Now())))
	default:
		l.waited(back)
		if !l.Ledger.LookAgain() {
			l.passOn()
		}
	}
}

// waited records that a wait ended as it should.
func (l *Lanes) waited(back *outage.Backoff) {
	back.Reset()
	l.Outage.Succeeded(outage.WaitForJobs)
}

// passOn gives a wake-up that was meant for any worker back for the others: all
// capacity of this one was filled meanwhile.
func (l *Lanes) passOn() {
	switch err := l.Store.Wake(l.halt, l.Queue); {
	case err == nil:
		l.Outage.Succeeded(outage.WakeOthers)
	case l.halt.Err() == nil:
		l.Outage.Failed(outage.WakeOthers, err)
	}
}

// rest waits while a rate limit is in force, or until Nudge.
func (l *Lanes) rest(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.nudged:
	case <-l.halt.Done():
	}
}

// Nudge makes a worker that rests because of a rate limit look at the queue now.
func (l *Lanes) Nudge() {
	select {
	case l.nudged <- struct{}{}:
	default: // it will look already
	}
}
