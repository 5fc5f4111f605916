package bullmq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// awayStore is a storage that cannot be reached at times.
type awayStore struct {
	storage.Storage
	err    atomic.Pointer[error] // nil: it can
	failed atomic.Int32          // calls
}

func (s *awayStore) leave(err error) { s.err.Store(&err) }
func (s *awayStore) back()           { s.err.Store(nil) }

func (s *awayStore) reach() error {
	err := s.err.Load()
	if err == nil {
		return nil
	}
	s.failed.Add(1)
	return *err
}

func (s *awayStore) Settle(ctx context.Context, queue string, r *storage.SettleRequest) (*storage.SettleReply, error) {
	if err := s.reach(); err != nil {
		return nil, err
	}
	return s.Storage.Settle(ctx, queue, r)
}

func (s *awayStore) LastEvent(ctx context.Context, queue string) (string, error) {
	if err := s.reach(); err != nil {
		return "", err
	}
	return s.Storage.LastEvent(ctx, queue)
}

func (s *awayStore) ReadEvents(ctx context.Context, queue, after string, block time.Duration) ([]storage.Event, error) {
	if err := s.reach(); err != nil {
		return nil, err
	}
	return s.Storage.ReadEvents(ctx, queue, after, block)
}

// newAwayKit is a kit on such a storage.
func newAwayKit(t *testing.T, opts ...ClientOption) (*kit, *awayStore) {
	t.Helper()
	k := newKit(t, testredis.Any(t))
	away := &awayStore{Storage: k.store}
	c, err := NewClient(away, append([]ClientOption{WithLogger(quiet())}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	k.client = c
	return k, away
}

// A worker that cannot reach the storage stops at once: it holds nothing.
func TestStopWhileTheStorageIsAway(t *testing.T) {
	t.Parallel()
	k, away := newAwayKit(t)
	away.leave(outageError{})
	w := k.worker(hello, GracePeriod(time.Hour))
	k.until("it tries", func() bool { return away.failed.Load() > 1 })
	require.NoError(t, w.Stop(k.ctx))
}

// What a worker may have been given is not left alone for that: it asks until
// its grace period is over.
func TestStopWhileItIsNotKnownWhatWasTaken(t *testing.T) {
	t.Parallel()
	k, away := newAwayKit(t)
	away.leave(fmt.Errorf("%w: %w", storage.ErrUncertain, outageError{}))
	w := k.worker(hello, GracePeriod(time.Hour))
	k.until("it tries", func() bool { return away.failed.Load() > 1 })
	ctx, hurry := context.WithCancel(k.ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- w.Stop(ctx) }()
	before := away.failed.Load()
	k.until("it goes on asking", func() bool { return away.failed.Load() > before+1 })
	require.Empty(t, stopped)
	hurry()
	err := <-stopped
	require.ErrorIs(t, err, ErrAbandoned)
	require.ErrorContains(t, err, "the storage did not answer")
}

// Jobs that run while the storage is away and the worker stops are settled
// when it is back.
func TestStopSettlesWhatRan(t *testing.T) {
	t.Parallel()
	k, away := newAwayKit(t)
	open := make(chan struct{})
	w := k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		<-open
		return hello(ctx, job)
	}, Concurrency(2), GracePeriod(time.Hour))
	h := k.add("a")
	k.until("the handler runs", func() bool { return w.Running() == 1 })
	away.leave(outageError{})
	k.add("b") // wakes the worker for its second slot
	k.until("it tries to take another job", func() bool { return away.failed.Load() > 1 })
	stopped := make(chan error, 1)
	go func() { stopped <- w.Stop(k.ctx) }()
	k.until("it takes no more", func() bool { s := w.engine.State(); return s.Stopping && s.InFlight == 0 })
	close(open)
	before := away.failed.Load()
	k.until("it tries to settle", func() bool { return away.failed.Load() > before+2 })
	away.back()
	require.NoError(t, <-stopped)
	require.Equal(t, "hello a", k.result(h).Text)
}

// An outage is logged once by whoever reads events, however long it lasts.
func TestOutageOfEventsIsLoggedOnce(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*kit, *JobHandle[greeting]) error{
		"result": func(k *kit, h *JobHandle[greeting]) error { _, err := h.Result(k.ctx); return err },
		"events": func(k *kit, h *JobHandle[greeting]) error {
			for e, err := range k.client.Queue(k.queue.Name).Events(k.ctx, EventsAfter("0")) {
				if c, ok := e.(CompletedEvent); ok && c.JobID() == h.ID {
					return err
				}
			}
			return errors.New("the events ended")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := &recorder{}
			k, away := newAwayKit(t, WithLogger(slog.New(slog.NewTextHandler(writer(func(p []byte) { lines.note(string(p)) }), nil))))
			h := k.add("a")
			away.leave(outageError{})
			done := make(chan error, 1)
			go func() { done <- read(k, h) }()
			k.until("reading is tried", func() bool { return away.failed.Load() > 3 })
			away.back()
			k.worker(hello, WithHooks(Hooks{}))
			require.NoError(t, <-done)
			told := 0
			for _, line := range lines.all() {
				if strings.Contains(line, "reading events failed") {
					told++
				}
			}
			require.Equal(t, 1, told, lines.all())
		})
	}
}

// writer is a function as a writer.
type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}
