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

// hitchStore fails calls about jobs as often as it is told to, with an error that
// a full server, one that starts, or a broken connection gives.
type hitchStore struct {
	storage.Storage
	err   error
	left  atomic.Int32
	calls atomic.Int32
}

func (s *hitchStore) fail() error {
	s.calls.Add(1)
	if s.left.Add(-1) >= 0 {
		return s.err
	}
	return nil
}

func (s *hitchStore) KeepStep(ctx context.Context, queue string, lock storage.Lock, name string, value []byte) error {
	if err := s.fail(); err != nil {
		return err
	}
	return s.Storage.KeepStep(ctx, queue, lock, name, value)
}

func (s *hitchStore) Children(ctx context.Context, key string) ([]storage.Child, error) {
	if err := s.fail(); err != nil {
		return nil, err
	}
	return s.Storage.Children(ctx, key)
}

func (s *hitchStore) UpdateData(ctx context.Context, queue, id string, data []byte) error {
	if err := s.fail(); err != nil {
		return err
	}
	return s.Storage.UpdateData(ctx, queue, id, data)
}

func (s *hitchStore) UpdateProgress(ctx context.Context, queue, id string, text []byte) error {
	if err := s.fail(); err != nil {
		return err
	}
	return s.Storage.UpdateProgress(ctx, queue, id, text)
}

func (s *hitchStore) AddLog(ctx context.Context, queue, id, line string, keep int) (int, error) {
	if err := s.fail(); err != nil {
		return 0, err
	}
	return s.Storage.AddLog(ctx, queue, id, line, keep)
}

// ownCalls are the methods of a job that call the storage.
var ownCalls = map[string]func(ctx context.Context, job *Job[greet]) error{
	"Step": func(ctx context.Context, job *Job[greet]) error {
		return Do(ctx, job, "s", func(context.Context) error { return nil })
	},
	"Children": func(ctx context.Context, job *Job[greet]) error { return second(job.Children(ctx)) },
	"SetData":  func(ctx context.Context, job *Job[greet]) error { return job.UpdateData(ctx, job.Data) },
	"Progress": func(ctx context.Context, job *Job[greet]) error { return job.UpdateProgress(ctx, 1) },
	"Log":      func(ctx context.Context, job *Job[greet]) error { return job.Log(ctx, "line") },
}

// A short outage during a handler is not the handler's: it notices nothing.
func TestMethodsOfAJobOutlastAHitch(t *testing.T) {
	t.Parallel()
	for name, call := range ownCalls {
		for _, kind := range []error{ErrUnavailable, ErrUncertain, ErrNotPermitted} {
			if name == "Log" && kind == ErrUncertain {
				continue // a line might be there twice
			}
			t.Run(fmt.Sprint(name, "/", kind), func(t *testing.T) {
				t.Parallel()
				k := newKit(t, testredis.Any(t))
				hitch := &hitchStore{Storage: k.store, err: fmt.Errorf("hitch: %w", kind)}
				hitch.left.Store(3)
				k.client = k.on(hitch)
				var runs atomic.Int32
				k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
					runs.Add(1)
					return greeting{}, call(ctx, job)
				})
				k.result(k.add("a"))
				require.EqualValues(t, 1, runs.Load())
				require.EqualValues(t, 4, hitch.calls.Load())
			})
		}
	}
}

// One that outlasts the lock sets the job back, and counts no attempt.
func TestAnOutageThatOutlastsTheLockSetsTheJobBack(t *testing.T) {
	t.Parallel()
	for name, call := range ownCalls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, testredis.Any(t))
			hitch := &hitchStore{Storage: k.store, err: fmt.Errorf("away: %w", ErrUnavailable)}
			hitch.left.Store(1 << 30)
			k.client = k.on(hitch)
			var runs atomic.Int32
			k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
				runs.Add(1)
				if err := call(ctx, job); err != nil {
					return greeting{}, fmt.Errorf("of the handler: %w", err)
				}
				return greeting{Attempt: job.Attempt}, nil
			}, LockDuration(time.Second), setBackTime(10*time.Millisecond))
			h := k.add("a")
			k.until("it runs again", func() bool { return runs.Load() > 1 })
			hitch.left.Store(0)
			require.Equal(t, 1, k.result(h).Attempt, "the first attempt, and the only one there is")
		})
	}
}

// on is a client on another storage.
func (k *kit) on(s storage.Storage) *Client {
	k.Helper()
	c, err := NewClient(s, WithLogger(quiet()))
	require.NoError(k, err)
	k.Cleanup(func() { _ = c.Close() })
	return c
}

// A full server at a tick ends no schedule, and its job is done once.
func TestAScheduleOutlivesAFullServer(t *testing.T) {
	t.Parallel()
	server := testredis.Start(t)
	k := newKit(t, server)
	rdb := server.Client(t)
	var runs atomic.Int32
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		runs.Add(1)
		return hello(ctx, job)
	}, LockDuration(time.Second), setBackTime(10*time.Millisecond))
	_, err := k.client.Queue("greetings").UpsertSchedule(k.ctx, "s", ScheduleSpec{Every: 200 * time.Millisecond}, "greet", greet{Name: "x"})
	require.NoError(t, err)
	for range 3 {
		before := runs.Load()
		k.until("it ticks", func() bool { return runs.Load() > before+1 })
		require.NoError(t, rdb.ConfigSet(k.ctx, "maxmemory", "1").Err())
		k.until("a command is refused", func() bool { return strings.Contains(rdb.Info(k.ctx, "errorstats").Val(), "OOM") })
		require.NoError(t, rdb.ConfigSet(k.ctx, "maxmemory", "0").Err())
		require.NoError(t, rdb.ConfigResetStat(k.ctx).Err())
	}
	before := runs.Load()
	k.until("it still ticks", func() bool { return runs.Load() > before+1 })
	require.Zero(t, k.counts()[StateFailed])
}

// A result is waited for through an outage.
func TestAResultIsWaitedForThroughAnOutage(t *testing.T) {
	t.Parallel()
	server := testredis.Start(t)
	link := testredis.Proxy(t, server.Addr())
	k, direct := newKitAt(t, server, link.URL()), newKit(t, server)
	h := k.add("a")
	result := make(chan error, 1)
	go func() { result <- second(h.Result(k.ctx)) }()
	k.until("it waits", func() bool {
		k.client.mu.Lock()
		defer k.client.mu.Unlock()
		return k.client.watchers["greetings"] != nil
	})
	link.Refuse(true)
	link.Cut()
	direct.worker(hello)
	direct.settled(map[State]int{StateCompleted: 1})
	require.Empty(t, result)
	link.Refuse(false)
	require.NoError(t, from(k, result))
}

// A wrong password is one line of the log, however often it is met.
func TestAWrongPasswordIsLoggedOnce(t *testing.T) {
	t.Parallel()
	server := testredis.Start(t, testredis.Password("secret"))
	lines := &recorder{}
	log := slog.New(slog.NewTextHandler(writer(func(p []byte) { lines.note(string(p)) }), nil))
	k := newKitAt(t, server, "redis://:wrong@"+server.Addr(), WithLogger(log))
	w := k.worker(hello)
	k.until("it tries", func() bool { return w.engine.State().Failing >= 3 }) // settle, stalled, cancels
	told := 0
	for _, line := range lines.all() {
		if strings.Contains(line, "level=ERROR") {
			told++
		}
	}
	require.Equal(t, 1, told, lines.all())
	require.NoError(t, w.Stop(k.ctx))
}

// A handler that waits for children of which none is pending rests longer and longer.
func TestWaitingForNoChildrenRests(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	var runs atomic.Int32
	k.worker(func(context.Context, *Job[greet]) (greeting, error) {
		if runs.Add(1) < 5 {
			return greeting{}, WaitForChildren()
		}
		return greeting{}, nil
	})
	h := k.add("a")
	k.result(h)
	require.EqualValues(t, 5, runs.Load())
	require.Equal(t, 1, k.record(h.ID).AttemptsMade)
}

// The end of a rate limit is noticed at once, and not when it would have ended.
func TestTheEndOfAHoldIsNoticedAtOnce(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	q := k.client.Queue("greetings")
	w := k.worker(hello, Limit(1000, time.Second), MaxLimitDelay(time.Hour))
	k.result(k.add("before"))
	require.NoError(t, q.RateLimit(k.ctx, time.Hour))
	h := k.add("held")
	k.until("it rests", func() bool { return !w.engine.State().LimitedUntil.IsZero() })
	require.Equal(t, StateWaiting, k.state(h.ID))
	require.NoError(t, q.RateLimit(k.ctx, 0))
	k.result(h)
}

// What a failed parent returns leads to the child with which it began.
func TestAFailedFlowLeadsToItsRootCause(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	k.worker(func(_ context.Context, job *Job[greet]) (greeting, error) {
		if job.Data.Name == "leaf" {
			return greeting{}, errors.New("boom")
		}
		return greeting{}, nil
	})
	node := func(name string, children ...*Node) *Node {
		n := NewNode("greetings", "greet", greet{Name: name}, WhenFails(OnFailFail))
		n.Children = children
		return n
	}
	handles, err := k.client.AddFlows(k.ctx, node("root", node("middle", node("leaf"))))
	require.NoError(t, err)
	_, err = handles[0].Result(k.ctx)
	var failed *JobError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, handles[0].ID, failed.ID)
	leaf := handles[0].Children[0].Children[0]
	require.Equal(t, &JobError{Queue: "greetings", ID: leaf.ID, Reason: "boom"}, failed.Root())
	require.ErrorContains(t, err, "boom")
	require.ErrorIs(t, err, ErrJobFailed)
}
