package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/lanes"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/ledger"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/runner"
)

// Left is what an engine left undone when it stopped. The zero value: nothing.
type Left struct {
	// Running are the ids of jobs whose handlers have not returned.
	Running []string
	// Unstored are the ids of jobs whose outcomes the storage has not accepted.
	Unstored []string
	// Unknown: the storage was asked for jobs and did not say which it gave.
	Unknown bool
	// Hooks is how many calls of hooks were not made.
	Hooks int
}

// None reports whether nothing was left.
func (l *Left) None() bool { return len(l.Running)+len(l.Unstored)+l.Hooks == 0 && !l.Unknown }

// Start begins to process jobs and returns. The end of ctx stops the engine. It is
// called once.
func (e *Engine) Start(ctx context.Context) {
	stopCtx, stop := context.WithCancel(ctx)
	e.mu.Lock()
	e.stop = stop
	e.mu.Unlock()
	handlerCtx, cancelHandlers := context.WithCancelCause(context.WithoutCancel(ctx))
	callCtx, abandon := context.WithCancel(context.WithoutCancel(ctx))
	e.runner.Begin(handlerCtx)
	e.lanes.Begin(callCtx, stopCtx)

	go e.Hooks.Run()
	var calling sync.WaitGroup
	calling.Go(e.lanes.Run)
	var beside sync.WaitGroup
	besideCtx, besideStop := context.WithCancel(callCtx)
	beside.Go(func() { e.lanes.Wait(e.Store.NewWaiter(e.Queue, e.Worker)) })
	beside.Go(func() { e.renewLocks(besideCtx) })
	if !e.NoCancel {
		beside.Go(func() { e.listenForCancel(besideCtx) })
	}
	if e.StalledInterval > 0 {
		beside.Go(func() { e.checkStalled(stopCtx) })
	}
	go func() {
		<-stopCtx.Done()
		began := time.Now()
		e.verdict = e.shutdown(&calling, cancelHandlers, abandon)
		close(e.decided)
		calling.Wait()
		stop()
		besideStop()
		beside.Wait()
		abandon()
		e.endVerdict = e.verdict
		if left := e.closeHooks(began); left > 0 && e.endVerdict.None() {
			e.endVerdict = Left{Hooks: left}
		}
		close(e.ended)
	}()
}

// Ended is closed when the engine has stopped.
func (e *Engine) Ended() <-chan struct{} { return e.ended }

// Left returns what the engine left undone, once Ended is closed.
func (e *Engine) Left() Left { return e.endVerdict }

// SettleTime is how long handlers have to return after they were cancelled.
const SettleTime = 3 * time.Second

// shutdown waits for running jobs: for the grace period, then, with their
// contexts cancelled, for SettleTime more. It returns what was left.
func (e *Engine) shutdown(calling *sync.WaitGroup, cancelHandlers context.CancelCauseFunc, abandon func()) Left {
	e.ledger.BeginStop()
	done := make(chan struct{})
	go func() {
		calling.Wait()
		close(done)
	}()
	defer cancelHandlers(runner.ErrShutdown)
	if waitFor(done, e.Grace, e.hurry) {
		return Left{}
	}
	cancelHandlers(runner.ErrShutdown)
	if waitFor(done, SettleTime, e.forceStop) {
		return Left{}
	}
	left := e.ledger.Abandon()
	abandon()
	return Left{Running: idsOf(left.Running), Unstored: idsOf(left.Unstored), Unknown: left.Unknown}
}

func idsOf(jobs []*ledger.Job) []string {
	var ids []string
	for _, j := range jobs {
		ids = append(ids, j.Record.ID)
	}
	return ids
}

// waitFor reports whether done was closed before d was over, or cut closed.
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

// closeHooks waits until the pending hooks are called, for what is left of the
// grace period, and returns how many were not. A stop that must be over earlier
// leaves them SettleTime.
func (e *Engine) closeHooks(began time.Time) (left int) {
	limit := max(e.Grace-time.Since(began), SettleTime)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-e.hurry:
			waitFor(ctx.Done(), SettleTime, e.forceStop)
		case <-ctx.Done():
		}
	}()
	return e.Hooks.Close(ctx)
}

// Stop begins the stop and waits for it as long as ctx lasts. The contexts of
// handlers end long enough before its deadline for them to return. It returns what
// is left undone, and false for an engine that was not started.
func (e *Engine) Stop(ctx context.Context) (Left, bool) {
	e.mu.Lock()
	stop := e.stop
	e.mu.Unlock()
	if stop == nil {
		return Left{}, false
	}
	stop()
	cut, release := before(ctx)
	defer release()
	select {
	case <-e.ended:
		return e.endVerdict, true
	case <-cut.Done():
	}
	e.hurryOnce.Do(func() { close(e.hurry) })
	if e.endsWith(ctx) {
		return e.endVerdict, true
	}
	e.forceOnce.Do(func() { close(e.forceStop) })
	<-e.decided
	if n := e.Hooks.Pending(); n > 0 && e.verdict.None() {
		return Left{Hooks: n}, true
	}
	return e.verdict, true
}

// before returns a context that ends before ctx does, if that has a deadline: what
// is left undone can be done then.
func before(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, deadline.Add(-min(SettleTime, time.Until(deadline)/2)))
}

// stopLook is how often a stop that must end soon looks whether the storage answers.
const stopLook = 20 * time.Millisecond

// endsWith waits until the engine has ended, as long as that makes sense: until the
// deadline of ctx, or, if that was cancelled, while the storage answers and
// handlers may still return. It returns false when there is no point in waiting.
func (e *Engine) endsWith(ctx context.Context) bool {
	select {
	case <-e.ended:
		return true
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return false
	}
	look := time.NewTicker(stopLook)
	defer look.Stop()
	var quiet lanes.Silence
	for limit := time.Now().Add(2 * SettleTime); time.Now().Before(limit); {
		select {
		case <-e.ended:
			return true
		case <-look.C:
			if e.lanes.Away(&quiet) {
				return false
			}
		}
	}
	return false
}
