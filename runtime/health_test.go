package bullmq

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine"
)

func TestAWorkerIsReadyWhileItRunsAndTheStorageServesIt(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	k := newKit(t, s)
	recovered := make(chan time.Duration, 1)
	w, err := NewWorker(k.client, k.queue, drainDelay(500*time.Millisecond), WithHooks(Hooks{
		Recovered: func(away time.Duration) { recovered <- away },
	}))
	require.NoError(t, err)
	k.task.Handle(w, hello)
	require.ErrorContains(t, w.Ready(k.ctx), `the worker of queue "greetings" was not started`)
	require.NoError(t, w.Start(context.Background()))
	require.NoError(t, w.Ready(k.ctx))
	s.Stop()
	k.until("it notices the outage", func() bool { return w.Ready(k.ctx) != nil })
	require.ErrorIs(t, w.Ready(k.ctx), ErrUnavailable)
	require.ErrorContains(t, w.Ready(k.ctx), "has been in trouble for")
	s.Restart()
	require.Positive(t, <-recovered)
	k.until("it is ready again", func() bool { return w.Ready(k.ctx) == nil })
	require.NoError(t, w.Stop(k.ctx))
	require.ErrorContains(t, w.Ready(k.ctx), "has stopped")
}

// run is a runner that notes when it ends.
type run func(ctx context.Context) error

func (r run) Run(ctx context.Context) error { return r(ctx) }

// The signal is the program's: it must not be parallel to tests that wait for one.
func TestRunUntilSignalStopsAllRunnersAtASignal(t *testing.T) {
	unharmed := make(chan os.Signal, 1) // the signal never ends the test itself
	signal.Notify(unharmed, syscall.SIGTERM)
	defer signal.Stop(unharmed)
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	started := make(chan struct{}, 2)
	until := run(func(ctx context.Context) error {
		started <- struct{}{}
		<-ctx.Done()
		return nil
	})
	ended := make(chan error)
	go func() { ended <- RunUntilSignal(context.Background(), until, until) }()
	<-started
	<-started
	require.NoError(t, self.Signal(syscall.SIGTERM))
	require.NoError(t, <-ended)
}

func TestRunUntilSignalStopsTheOthersWhenOneEnds(t *testing.T) {
	t.Parallel()
	bad := errors.New("not set up")
	until := run(func(ctx context.Context) error { <-ctx.Done(); return nil })
	require.ErrorIs(t, RunUntilSignal(context.Background(), until, run(func(context.Context) error { return bad }), until), bad)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, RunUntilSignal(ctx, until))
	require.ErrorIs(t, RunUntilSignal(ctx), ErrInvalid)
}

func TestTheDefaultGracePeriodFitsKubernetes(t *testing.T) {
	t.Parallel()
	c := defaultWorkerConfig(&QueueSpec{})
	require.Less(t, c.grace+engine.SettleTime, 30*time.Second, "between SIGTERM and the end of a pod")
}
