package bullmq

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Run works until ctx ends, then takes nothing more, waits for running jobs as
// long as the grace period lasts, cancels the rest, and returns. It returns
// nil after a clean stop, ErrAbandoned when handlers ignored their
// cancellation, and an error at once when the worker is not set up properly.
// The storage being away is no reason to return: the worker waits for it.
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
		w.endErr = w.shutdown(&pumping, handlerCancel, abandon)
		w.pump.slots.end()
		stop()
		besideStop()
		beside.Wait()
		abandon()
		w.closeHooks()
		close(w.ended)
	}()
	return nil
}

// settleTime is how long handlers have to return after they were cancelled.
const settleTime = 3 * time.Second

// shutdown waits for running jobs: for the grace period, then, with their
// contexts cancelled, for settleTime more.
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
	if waitFor(done, settleTime, nil) {
		return nil
	}
	left := w.pump.abandon()
	abandon()
	<-done
	if left == 0 {
		return fmt.Errorf("%w: the storage did not answer to the end, and may have given jobs of queue %q; another worker recovers them when their locks expire", ErrAbandoned, w.queue.Name)
	}
	return fmt.Errorf("%w: %d on queue %q ignored their cancellation; another worker recovers them when their locks expire", ErrAbandoned, left, w.queue.Name)
}

// waitFor reports whether done was closed before the time was over, or hurry closed.
func waitFor(done <-chan struct{}, d time.Duration, hurry <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
	case <-hurry:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func (w *Worker) closeHooks() {
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	w.hooks.close(ctx)
}

// Stop makes a started worker take nothing more and waits until it has
// stopped, as Run describes. The end of ctx cuts the grace period short.
// Stopping a worker that has stopped returns what the first stop returned.
func (w *Worker) Stop(ctx context.Context) error {
	w.mu.Lock()
	started, stop := w.started, w.stop
	w.mu.Unlock()
	if !started || stop == nil {
		return storage.Invalid("bullmq: stop of a worker that was not started")
	}
	stop()
	select {
	case <-w.ended:
		return w.endErr
	case <-ctx.Done():
	}
	w.hurryOnce.Do(func() { close(w.hurry) })
	<-w.ended
	return w.endErr
}
