package bullmq

import (
	"context"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// maxWait is the longest single wait for work: one that takes longer may mean
// a connection that is dead without saying so.
const maxWait = 10 * time.Second

// idle waits for work whenever the lanes found none, until the pump ends. Ctx
// ends when the worker stops.
func (p *pump) idle(ctx context.Context, waiter storage.Waiter) {
	defer waiter.Close()
	back := newBackoff()
	for {
		limited, due, ok := p.nothingToTake()
		if !ok || ctx.Err() != nil {
			return
		}
		if wait := time.Until(limited); wait > 0 {
			p.rest(ctx, wait)
			p.lookAgain(ctx, false)
			continue
		}
		wait := p.w.cfg.drainDelay
		if !due.IsZero() {
			wait = min(time.Until(due), maxWait)
		}
		if wait <= 0 {
			p.lookAgain(ctx, false)
			continue
		}
		p.waited(ctx, waiter, wait, back)
	}
}

// waited waits once and makes the lanes look if there may be something.
func (p *pump) waited(ctx context.Context, waiter storage.Waiter, wait time.Duration, back *reconnect) {
	next, err := waiter.Wait(ctx, wait)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		p.w.outage.report(p.w, waitForJobs, err)
		back.wait(ctx)
		p.lookAgain(ctx, false) // what woke somebody meanwhile is not told twice
	case !next.IsZero() && next.After(p.w.now()):
		p.answered(back)
		p.setDue(time.Now().Add(next.Sub(p.w.now())))
	default:
		p.answered(back)
		p.lookAgain(ctx, true)
	}
}

// answered notes that a wait ended as it should.
func (p *pump) answered(back *reconnect) {
	back.reset()
	p.w.outage.over(p.w, waitForJobs)
}

// nothingToTake waits until the worker has room but there is nothing to take,
// and returns until when a rate limit is in force and when the next delayed
// job is due. It is false when the pump ends.
func (p *pump) nothingToTake() (limited, due time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.over || p.stopping {
			return limited, due, false
		}
		if p.vacant() > 0 && p.takes == 0 && (p.drained || p.limited.After(time.Now())) {
			return p.limited, p.due, true
		}
		p.idler.Wait()
	}
}

// lookAgain makes the lanes take. When all slots were filled meanwhile, a
// wake-up that was meant for some worker goes back for the others.
func (p *pump) lookAgain(ctx context.Context, woken bool) {
	p.mu.Lock()
	p.drained = false
	p.due, p.limited = time.Time{}, time.Time{}
	full := p.member.room(p.vacant()) == 0
	p.mu.Unlock()
	p.wake.Broadcast()
	if woken && full {
		switch err := p.w.store.Wake(ctx, p.w.queue.Name); {
		case err == nil:
			p.w.outage.over(p.w, wakeOthers)
		case ctx.Err() == nil:
			p.w.outage.report(p.w, wakeOthers, err)
		}
	}
}

func (p *pump) setDue(t time.Time) {
	p.mu.Lock()
	p.due = t
	p.mu.Unlock()
}

// rest waits while a rate limit is in force, unless it is told to look.
func (p *pump) rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.nudged:
	case <-ctx.Done():
	}
}

// nudge makes a worker that rests look at the queue now.
func (p *pump) nudge() {
	select {
	case p.nudged <- struct{}{}:
	default: // it is told already
	}
}
