package bullmq

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// A stop whose time is over says what is left: here a handler that returned, and
// whose outcome nobody takes.
func TestStopSaysWhichOutcomesWereNotStored(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"a deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 100*time.Millisecond)
		},
		"cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, away := newAwayKit(t)
			open := make(chan struct{})
			w := k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
				<-open
				return hello(ctx, job)
			}, GracePeriod(time.Hour))
			h := k.add("a")
			k.until("the handler runs", func() bool { return w.Running() == 1 })
			away.leave(outageError{})
			close(open)
			k.until("it tries to settle", func() bool { return away.failed.Load() > 1 })
			ctx, cancel := end(k.ctx)
			defer cancel()
			err := w.Stop(ctx)
			var left *AbandonedError
			require.ErrorAs(t, err, &left)
			require.ErrorIs(t, err, ErrAbandoned)
			require.Equal(t, []string{h.ID}, left.Unstored)
			require.Empty(t, left.Running)
			require.ErrorContains(t, err, "the storage did not take the outcomes of 1 jobs")
		})
	}
}

// One that ends while a handler ignores its cancellation names that.
func TestStopSaysWhichHandlersRun(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	open := make(chan struct{})
	defer close(open)
	w := k.worker(func(context.Context, *Job[greet]) (greeting, error) { <-open; return greeting{}, nil }, GracePeriod(time.Hour))
	h := k.add("a")
	k.until("the handler runs", func() bool { return w.Running() == 1 })
	ctx, cancel := context.WithTimeout(k.ctx, 100*time.Millisecond)
	defer cancel()
	var left *AbandonedError
	require.ErrorAs(t, w.Stop(ctx), &left)
	require.Equal(t, []string{h.ID}, left.Running)
	require.Empty(t, left.Unstored)
}

// Run returns nil only when all hooks were called, however slow they are.
func TestAllHooksAreCalledBeforeRunReturns(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	var called atomic.Int32
	gate := make(chan struct{})
	w := k.worker(hello, Concurrency(10), GracePeriod(patience), WithHooks(Hooks{Completed: func(*ActiveJob, []byte) {
		<-gate
		called.Add(1)
	}}))
	_, err := k.task.AddMany(k.ctx, k.client, make([]greet, 200))
	require.NoError(t, err)
	k.settled(map[State]int{StateCompleted: 200})
	stopped := make(chan error, 1)
	go func() { stopped <- w.Stop(k.ctx) }()
	k.until("only hooks are left", func() bool { s := w.engine.State(); return s.Stopping && s.Held == 0 })
	require.Empty(t, stopped)
	close(gate)
	require.NoError(t, from(k, stopped))
	require.EqualValues(t, 200, called.Load())
}

// Those that are not called in time are counted.
func TestStopSaysHowManyHooksWereNotCalled(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	gate := make(chan struct{})
	defer close(gate)
	w := k.worker(hello, GracePeriod(time.Hour), WithHooks(Hooks{Completed: func(*ActiveJob, []byte) { <-gate }}))
	k.result(k.add("a"))
	k.result(k.add("b"))
	ctx, cancel := context.WithTimeout(k.ctx, 100*time.Millisecond)
	defer cancel()
	var left *AbandonedError
	require.ErrorAs(t, w.Stop(ctx), &left)
	require.Equal(t, 2, left.Hooks)
}
