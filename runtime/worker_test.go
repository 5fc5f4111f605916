package bullmq

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine"
)

func TestWorkerRunsTypedJobs(t *testing.T) {
	t.Parallel()
	for _, server := range []func(testing.TB) *testredis.Server{testredis.Any, testredis.Mini} {
		k := newKit(t, server(t))
		k.worker(hello, Concurrency(4), WorkerName("w1"))
		first := k.add("ann")
		require.Equal(t, greeting{"hello ann", 1}, k.result(first))
		hs, err := k.task.AddMany(k.ctx, k.client, []greet{{Name: "bob"}, {Name: "eve"}})
		require.NoError(t, err)
		require.Equal(t, "hello bob", k.result(hs[0]).Text)
		require.Equal(t, "hello eve", k.result(hs[1]).Text)
		r := k.record(first.ID)
		require.Equal(t, "1", first.ID)
		require.Equal(t, "w1", r.ProcessedBy)
		require.Equal(t, 1, r.AttemptsMade)
		require.JSONEq(t, `{"name":"ann"}`, string(r.Data))
		k.settled(map[State]int{StateCompleted: 3})
		k.noLocks()
	}
}

func TestFailedAttemptsAreRetried(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		if job.Attempt <= 2 {
			return greeting{}, fmt.Errorf("attempt %d: boom \"x\" \n é", job.Attempt)
		}
		return hello(ctx, job)
	})
	h := k.add("ann", Attempts(3), WithBackoff(Fixed(20*time.Millisecond)))
	require.Equal(t, 3, k.result(h).Attempt)
	r := k.record(h.ID)
	require.Equal(t, 3, r.AttemptsStarted)
	require.Contains(t, string(r.Stack), "attempt 1")
	require.Contains(t, string(r.Stack), "attempt 2")

	final := k.add("bob", Attempts(2))
	_, err := final.Result(k.ctx)
	var failed *JobError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, ErrJobFailed)
	require.Equal(t, "attempt 2: boom \"x\" \n é", failed.Reason)
	// C007: the reason is stored as it is.
	require.Equal(t, failed.Reason, k.server.Client(t).HGet(k.ctx, "bull:greetings:"+final.ID, "failedReason").Val())
}

func TestPanicsAndGoexitFailTheJobAndKeepTheSlot(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		switch job.Data.Name {
		case "panic":
			panic("oh no")
		case "nil":
			var none *greet
			return greeting{none.Name, 0}, nil
		case "exit":
			runtime.Goexit()
		}
		return hello(ctx, job)
	})
	for name, want := range map[string]string{"panic": "panic: oh no", "nil": "nil pointer", "exit": "Goexit"} {
		h := k.add(name)
		_, err := h.Result(k.ctx)
		require.ErrorContains(t, err, want)
		if name == "panic" {
			require.Contains(t, string(k.record(h.ID).Stack), "worker_test.go", "the stack says where")
		}
	}
	require.Equal(t, "hello ann", k.result(k.add("ann")).Text)
	k.noLocks()
}

func TestJobsThatCannotRunFailForGood(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	var runs atomic.Int32
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		runs.Add(1)
		return hello(ctx, job)
	})
	q := k.client.Queue("greetings")
	for _, tt := range []struct {
		name string
		data any
		want string
	}{
		{"unknown", greet{}, `no handler for task "unknown" on queue "greetings" (job "`},
		{"greet", map[string]any{"name": 5}, `payload of task "greet", job "`},
		{"greet", map[string]any{"name": 5}, `at $.name: a JSON number does not fit string`},
		{"greet", nil, "the payload is null"},
		{"greet", struct{}{}, `lacks "name"`},
		{"greet", []int{1}, "JSON array"},
	} {
		h, err := q.Add(k.ctx, tt.name, tt.data, Attempts(5))
		require.NoError(t, err)
		_, err = h.Result(k.ctx)
		require.ErrorContains(t, err, tt.want)
		require.Equal(t, 1, k.record(h.ID).AttemptsMade, "not tried again")
	}
	require.Zero(t, runs.Load())
}

// C019: a result without JSON form ends the job, which must not stay active.
func TestC019ResultsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	task := NewTask[greet, any](Spec{Queue: k.queue, Name: "odd", Attempts: 3}, nil)
	w, err := NewWorker(k.client, k.queue)
	require.NoError(t, err)
	task.Handle(w, func(context.Context, *Job[greet]) (any, error) { return func() {}, nil })
	require.NoError(t, w.Start(k.ctx))
	h, err := task.Add(k.ctx, k.client, greet{Name: "x"})
	require.NoError(t, err)
	_, err = h.Result(k.ctx)
	require.ErrorContains(t, err, `result of task "odd"`)
	require.NoError(t, w.Stop(k.ctx))
	k.settled(map[State]int{StateFailed: 1})
}

func TestWorkerRefusesToStartWithoutAllHandlers(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Mini(t))
	q := &QueueSpec{Name: "greetings", Tasks: []string{"greet", "wave"}}
	start := func(opts []WorkerOption, setUp ...func(*Worker)) error {
		w, err := NewWorker(k.client, q, opts...)
		require.NoError(t, err)
		for _, f := range setUp {
			f(w)
		}
		ctx, cancel := context.WithCancel(k.ctx)
		cancel()
		return w.Run(ctx)
	}
	handle := func(w *Worker) { k.task.Handle(w, hello) }
	other := NewTask[greet, greeting](Spec{Queue: &QueueSpec{Name: "other"}, Name: "greet"}, nil)
	bad := NewTask[greet, greeting](Spec{Queue: &QueueSpec{Name: "a:b"}, Attempts: -1}, nil)
	require.ErrorContains(t, start(nil), "no handlers")
	require.ErrorContains(t, start(nil, handle), "no handler for wave")
	require.NoError(t, start([]WorkerOption{AllowPartial()}, handle))
	require.ErrorContains(t, start(nil, handle, handle), `two handlers for task "greet"`)
	require.ErrorContains(t, start(nil, func(w *Worker) { other.Handle(w, hello) }), `belongs to queue "other"`)
	err := start(nil, func(w *Worker) { bad.Handle(w, hello) })
	for _, word := range []string{"colon", "the name of a task", "attempts"} {
		require.ErrorContains(t, err, word)
	}
	_, err = bad.Add(k.ctx, k.client, greet{})
	require.ErrorContains(t, err, "colon")
	_, err = NewWorker(k.client, q, Concurrency(0), LockDuration(1), WorkerName("a b"), StalledCheck(0, -1), Limit(0, time.Second), MaxLimitDelay(0), WithBackoffStrategy("fixed", nil))
	for _, word := range []string{"concurrency", "lock duration", "spaces", "stalled", "rate limit", "max limit delay", "backoff strategy"} {
		require.ErrorContains(t, err, word)
	}
}

func TestConcurrencyIsKept(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	var now, most atomic.Int32
	open := make(chan struct{})
	w := k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-open
		return hello(ctx, job)
	}, Concurrency(5))
	payloads := make([]greet, 100)
	for i := range payloads {
		payloads[i].Name = fmt.Sprint(i)
	}
	_, err := k.task.AddMany(k.ctx, k.client, payloads)
	require.NoError(t, err)
	k.until("all capacity is used", func() bool { return now.Load() == 5 })
	require.Equal(t, 5, w.Running())
	require.NoError(t, w.SetConcurrency(9))
	k.until("new capacity is used", func() bool { return now.Load() == 9 }) // Running counts a job before its handler has begun
	require.Equal(t, 9, w.Running())
	close(open)
	k.settled(map[State]int{StateCompleted: 100})
	require.EqualValues(t, 9, most.Load())
}

func TestHandlersMoveTheirJobs(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		if job.Starts > 3 {
			return hello(ctx, job)
		}
		switch job.Data.Name {
		case "delay":
			return greeting{}, DelayFor(10 * time.Millisecond)
		case "until":
			return greeting{}, DelayUntil(time.Now().Add(10 * time.Millisecond))
		case "children":
			return greeting{}, WaitForChildren()
		default:
			return greeting{}, BackToWait()
		}
	})
	for _, name := range []string{"delay", "until", "back", "children"} {
		h := k.add(name)
		require.Equal(t, greeting{"hello " + name, 1}, k.result(h), "no attempt is counted")
		r := k.record(h.ID)
		require.Equal(t, 1, r.AttemptsMade)
		require.Equal(t, 4, r.AttemptsStarted)
	}
}

func TestCustomBackoffAndMaxStarts(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	var asked recorder
	k.worker(func(context.Context, *Job[greet]) (greeting, error) { return greeting{}, errors.New("no") },
		MaxStartedAttempts(3), WithBackoffStrategy("odd", func(attempt int, job *ActiveJob, err error) time.Duration {
			asked.note(fmt.Sprint(attempt, job.Name, err))
			return time.Duration(attempt) * time.Millisecond
		}))
	h := k.add("a", Attempts(9), WithBackoff(Backoff{Type: "odd"}))
	_, err := h.Result(k.ctx)
	require.ErrorContains(t, err, "failed: no")
	require.Equal(t, []string{"1greetno", "2greetno"}, asked.all())
	_, err = k.add("b", Attempts(9), WithBackoff(Backoff{Type: "unheard"})).Result(k.ctx)
	require.ErrorContains(t, err, `unknown backoff strategy "unheard"`)
}

func TestTimeoutsAndTTL(t *testing.T) {
	t.Parallel()
	var skew atomic.Int64
	k := newKit(t, testredis.Any(t), WithClock(func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }))
	old := k.add("old", TTL(time.Minute))
	fresh := k.add("fresh", TTL(time.Hour))
	skew.Store(int64(10 * time.Minute))
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		if job.Data.Name == "slow" {
			<-ctx.Done()
			return greeting{}, ctx.Err()
		}
		return hello(ctx, job)
	})
	_, err := old.Result(k.ctx)
	require.ErrorContains(t, err, "expired before it was started")
	require.Equal(t, "hello fresh", k.result(fresh).Text)
	_, err = k.add("slow", Timeout(10*time.Millisecond)).Result(k.ctx)
	require.ErrorContains(t, err, ErrTimeout.Error())
}

func TestCancelByID(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	running := make(chan string, 1)
	w := k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		running <- job.ID
		<-ctx.Done()
		return greeting{}, context.Cause(ctx)
	})
	h := k.add("a", Attempts(5))
	require.False(t, w.Cancel("nobody"))
	require.True(t, w.Cancel(<-running))
	_, err := h.Result(k.ctx)
	require.ErrorContains(t, err, "cancelled")
	require.Equal(t, 1, k.record(h.ID).AttemptsMade)
}

func TestCancelFromAnotherProcess(t *testing.T) {
	t.Parallel()
	for _, server := range []func(testing.TB) *testredis.Server{testredis.Any, testredis.Mini} {
		k := newKit(t, server(t))
		other := newKit(t, k.server)
		running := make(chan string, 1)
		k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
			running <- job.ID
			<-ctx.Done()
			return greeting{}, context.Cause(ctx)
		})
		for range 2 {
			h := k.add("a", Attempts(5))
			id := <-running
			k.until("the worker hears of it", func() bool {
				require.NoError(t, other.client.Queue("greetings").Cancel(k.ctx, id))
				state, err := h.State(k.ctx)
				return err == nil && state == StateFailed
			})
			_, err := h.Result(k.ctx)
			require.ErrorContains(t, err, "cancelled")
		}
		require.Error(t, other.client.Queue("greetings").Cancel(k.ctx, ""))
	}
}

func TestHooksSeeEverything(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	var seen, active recorder
	w := k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		require.Contains(t, active.all(), "active "+job.ID, "it was called before the handler")
		if job.Data.Name == "bad" {
			return greeting{}, errors.New("bad")
		}
		return hello(ctx, job)
	}, WithHooks(Hooks{
		Active:    func(j *ActiveJob) { active.note("active " + j.ID) },
		Completed: func(j *ActiveJob, v []byte) { seen.note("completed " + j.ID + string(v)) },
		Failed:    func(j *ActiveJob, err error, final bool) { seen.note(fmt.Sprint("failed ", j.ID, err, final)) },
		Error:     func(error) { panic("a hook's panic harms nobody") },
	}))
	k.result(k.add("a"))
	_, err := k.add("bad", Attempts(2)).Result(k.ctx)
	require.Error(t, err)
	require.NoError(t, w.Stop(k.ctx))
	require.Equal(t, []string{"active 1", "active 2", "active 2"}, active.all())
	require.Equal(t, []string{`completed 1{"text":"hello a","attempt":1}`, "failed 2bad false", "failed 2bad true"}, seen.all())
}

// C099: pausing and resuming a worker starts no second loop and loses nothing.
func TestC099PauseAndResumeOfAWorker(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	var now, most atomic.Int32
	w := k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		return hello(ctx, job)
	}, Concurrency(2))
	for i := range 50 {
		w.Pause()
		k.add(fmt.Sprint(i))
		require.NoError(t, w.Resume())
	}
	k.settled(map[State]int{StateCompleted: 50})
	require.LessOrEqual(t, most.Load(), int32(2))
	w.Pause()
	h := k.add("last")
	state, err := h.State(k.ctx)
	require.NoError(t, err)
	require.Equal(t, StateWaiting, state)
	require.NoError(t, w.Stop(k.ctx))
	require.ErrorIs(t, w.Resume(), ErrClosed)
	require.Error(t, w.Start(k.ctx), "a worker runs once")
}

func TestProgressAndLogs(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	late := make(chan *Job[greet], 1)
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		require.NoError(t, job.UpdateProgress(ctx, map[string]int{"pct": 42}))
		for i := range 4 {
			require.NoError(t, job.Log(ctx, fmt.Sprint("line ", i)))
		}
		require.NoError(t, job.UpdateData(ctx, greet{Name: "changed"}))
		require.Same(t, job.ActiveJob, JobFrom(ctx))
		late <- job
		return hello(ctx, job)
	})
	h := k.add("a", KeepLogs(2))
	require.Equal(t, "hello changed", k.result(h).Text)
	r := k.record(h.ID)
	require.JSONEq(t, `{"pct":42}`, string(r.Progress))
	require.JSONEq(t, `{"name":"changed"}`, string(r.Data))
	lines, total, err := k.client.Queue("greetings").Logs(k.ctx, h.ID, 0, -1)
	require.NoError(t, err)
	require.Equal(t, []string{"line 2", "line 3"}, lines)
	require.Equal(t, 2, total)
	job := <-late
	k.until("the job is gone from the worker", func() bool { return job.usable() != nil })
	require.ErrorIs(t, job.UpdateProgress(k.ctx, 1), ErrLockLost)
	require.ErrorIs(t, job.Log(k.ctx, "x"), ErrLockLost)
}

func TestManyWorkersRunEachJobOnce(t *testing.T) {
	t.Parallel()
	for _, batch := range []int{1, 2, 7, engine.DefaultMaxBatch} {
		k := newKit(t, testredis.Any(t))
		var mu sync.Mutex
		seen := map[string]int{}
		for range 3 {
			k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
				mu.Lock()
				seen[job.Data.Name]++
				mu.Unlock()
				return hello(ctx, job)
			}, Concurrency(10), batchLimit(batch))
		}
		const n = 600
		payloads := make([]greet, n)
		for i := range payloads {
			payloads[i].Name = fmt.Sprint(i)
		}
		_, err := k.task.AddMany(k.ctx, k.client, payloads)
		require.NoError(t, err)
		k.settled(map[State]int{StateCompleted: n})
		mu.Lock()
		require.Len(t, seen, n)
		for name, times := range seen {
			require.Equal(t, 1, times, name)
		}
		mu.Unlock()
		k.noLocks()
	}
}

func TestOrderOfWaitingJobs(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	for _, j := range []struct {
		name string
		o    AddOption
	}{{"c", Priority(5)}, {"d", Priority(9)}, {"a1", Priority(0)}, {"b", Priority(1)}, {"a2", Delay(0)}, {"a0", LIFO(true)}} {
		k.add(j.name, j.o)
	}
	var seen recorder
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		seen.note(job.Data.Name)
		return hello(ctx, job)
	})
	k.settled(map[State]int{StateCompleted: 6})
	require.Equal(t, "a0 a1 a2 b c d", strings.Join(seen.all(), " "))
}

// C089: a delayed job that becomes the earliest wakes a waiting worker.
func TestC089EarlierDelayedJobsWakeTheWorker(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	k.worker(hello, drainDelay(time.Hour))
	rdb := k.server.Client(t)
	// The worker waits when it has taken the last marker, which is of a job that is far off.
	waits := func() {
		t.Helper()
		k.until("the worker waits", func() bool { return rdb.Exists(k.ctx, "bull:greetings:marker").Val() == 0 })
	}
	far := k.add("far", Delay(time.Hour))
	waits()
	require.Equal(t, "hello near", k.result(k.add("near", Delay(30*time.Millisecond))).Text)
	q := k.client.Queue("greetings")
	next := k.add("next", Delay(2*time.Hour))
	waits()
	require.NoError(t, q.ChangeDelay(k.ctx, far.ID, 10*time.Millisecond))
	require.Equal(t, "hello far", k.result(far).Text)
	last := k.add("last", Delay(3*time.Hour))
	waits()
	require.NoError(t, q.Promote(k.ctx, next.ID))
	require.Equal(t, "hello next", k.result(next).Text)
	k.add("never", Delay(4*time.Hour))
	waits()
	require.NoError(t, q.PromoteAll(k.ctx))
	require.Equal(t, "hello last", k.result(last).Text)
}
