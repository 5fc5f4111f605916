package bullmq

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Run processes jobs until ctx ends, then takes nothing more, waits for running
// jobs as long as the grace period lasts, cancels the rest, and returns. It returns
// nil after a clean stop, an *AbandonedError (ErrAbandoned) when something was left
// undone, and an error at once when the worker is not set up properly. The storage
// being away is no reason to return: the worker waits for it.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.Start(ctx); err != nil {
		return err
	}
	<-w.ended
	return w.endErr
}

// Start begins to work and returns. The end of ctx stops the worker as Stop
// does. It returns an error when the worker is not set up properly.
func (w *Worker) Start(ctx context.Context) error {
	if err := w.ready(); err != nil {
		return err
	}
	stopCtx, stop := context.WithCancel(ctx)
	w.mu.Lock()
	w.stop = stop
	w.mu.Unlock()
	var handlerCancel context.CancelCauseFunc
	w.handlerCtx, handlerCancel = context.WithCancelCause(context.WithoutCancel(ctx))
	callCtx, abandon := context.WithCancel(context.WithoutCancel(ctx))

	go w.hooks.run()
	var pumping sync.WaitGroup
	w.pump.ctx, w.pump.halt = callCtx, stopCtx
	pumping.Go(w.pump.run)
	var beside sync.WaitGroup
	beside.Go(func() { w.pump.idle(stopCtx, w.store.NewWaiter(w.queue.Name, w.cfg.name)) })
	besideCtx, besideStop := context.WithCancel(callCtx)
	beside.Go(func() { w.renewLocks(besideCtx) })
	if !w.cfg.noCancel {
		beside.Go(func() { w.listenForCancel(besideCtx) })
	}
	if !w.cfg.noStalledCheck {
		beside.Go(func() { w.checkStalled(stopCtx) })
	}
	go func() {
		<-stopCtx.Done()
		began := time.Now()
		w.verdict = w.shutdown(&pumping, handlerCancel, abandon)
		close(w.decided)
		pumping.Wait()
		w.pump.slots.end()
		stop()
		besideStop()
		beside.Wait()
		abandon()
		w.endErr = w.verdict
		if left := w.closeHooks(began); left > 0 && w.endErr == nil {
			w.endErr = &AbandonedError{Queue: w.queue.Name, Hooks: left}
		}
		close(w.ended)
	}()
	return nil
}

// settleTime is how long handlers have to return after they were cancelled.
const settleTime = 3 * time.Second

// shutdown waits for running jobs: for the grace period, then, with their
// contexts cancelled, for settleTime more. It returns what was left.
func (w *Worker) shutdown(pumping *sync.WaitGroup, cancelHandlers context.CancelCauseFunc, abandon func()) error {
	w.pump.beginStop()
	done := make(chan struct{})
	go func() {
		pumping.Wait()
		close(done)
	}()
	defer cancelHandlers(ErrShutdown)
	if waitFor(done, w.cfg.grace, w.hurry) {
		return nil
	}
	cancelHandlers(ErrShutdown)
	if waitFor(done, settleTime, w.giveUp) {
		return nil
	}
	left := w.pump.abandon()
	abandon()
	if left.none() {
		return nil // the last one was settled just now
	}
	left.Queue = w.queue.Name
	return left
}

// waitFor reports whether done was closed before the time was over, or cut closed.
func waitFor(done <-chan struct{}, d time.Duration, cut <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
	case <-cut:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// closeHooks lets the hooks be called that are pending, for what is left of the
// grace period, and returns how many were not. A stop that is to be over earlier
// leaves them settleTime.
func (w *Worker) closeHooks(began time.Time) (left int) {
	limit := max(w.cfg.grace-time.Since(began), settleTime)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-w.hurry:
			waitFor(ctx.Done(), settleTime, w.giveUp)
		case <-ctx.Done():
		}
	}()
	return w.hooks.close(ctx)
}

// Stop makes a started worker take nothing more and waits until it has stopped,
// as Run describes. The end of ctx cuts the grace period short: the contexts of
// handlers end so long before its deadline that they have time to return, 3
// seconds or half of what there was. Stop returns when its deadline is over,
// whatever is still under way, and the error says what that is. A ctx that is
// cancelled leaves handlers 3 seconds, unless the storage is away: what they return
// could not be stored. Stopping a worker that has stopped returns what the first
// stop returned.
func (w *Worker) Stop(ctx context.Context) error {
	w.mu.Lock()
	started, stop := w.started, w.stop
	w.mu.Unlock()
	if !started || stop == nil {
		return storage.Invalid("bullmq: stop of a worker that was not started")
	}
	stop()
	cut, release := before(ctx)
	defer release()
	select {
	case <-w.ended:
		return w.endErr
	case <-cut.Done():
	}
	w.hurryOnce.Do(func() { close(w.hurry) })
	if w.endsWith(ctx) {
		return w.endErr
	}
	w.giveUpOnce.Do(func() { close(w.giveUp) })
	<-w.decided
	if n := w.hooks.pending(); n > 0 && w.verdict == nil {
		return &AbandonedError{Queue: w.queue.Name, Hooks: n}
	}
	return w.verdict
}

// before is a context that ends before ctx does, if that has a deadline: there is
// time to do what is left then.
func before(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, deadline.Add(-min(settleTime, time.Until(deadline)/2)))
}

// stopLook is how often a stop that hurries looks whether the storage answers.
const stopLook = 20 * time.Millisecond

// endsWith waits until the worker has ended, as long as it makes sense: until the
// deadline of ctx, or, if that was cancelled, while the storage answers and
// handlers may still return. It is false when there is no point in waiting on.
func (w *Worker) endsWith(ctx context.Context) bool {
	select {
	case <-w.ended:
		return true
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return false
	}
	look := time.NewTicker(stopLook)
	defer look.Stop()
	var quiet silence
	for limit := time.Now().Add(2 * settleTime); time.Now().Before(limit); {
		select {
		case <-w.ended:
			return true
		case <-look.C:
			if w.pump.away(&quiet) {
				return false
			}
		}
	}
	return false
}
