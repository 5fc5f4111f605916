package bullmq

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// C003: the loser of a job learns it, and the winner's result stands.
func TestC003LostLock(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(ctx context.Context, rdb *redis.Client, lock string) error{
		"gone": func(ctx context.Context, rdb *redis.Client, lock string) error { return rdb.Del(ctx, lock).Err() },
		"another": func(ctx context.Context, rdb *redis.Client, lock string) error {
			return rdb.Set(ctx, lock, "x", time.Hour).Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, testredis.Any(t))
			rdb := k.server.Client(t)
			var starts atomic.Int32
			causes := make(chan error, 2)
			lost := make(chan string, 1)
			h := func(ctx context.Context, job *Job[greet]) (greeting, error) {
				if starts.Add(1) > 1 {
					return greeting{Text: "winner"}, nil
				}
				lock := "bull:greetings:" + job.ID + ":lock"
				causes <- take(ctx, rdb, lock)
				<-ctx.Done()
				causes <- context.Cause(ctx)
				rdb.Del(k.ctx, lock)
				return greeting{Text: "loser"}, nil
			}
			opts := []WorkerOption{LockDuration(time.Hour), renewEvery(50 * time.Millisecond), StalledCheck(50*time.Millisecond, 1),
				WithHooks(Hooks{LockLost: func(j *ActiveJob) { lost <- j.ID }})}
			k.worker(h, opts...)
			k.worker(h, opts...)
			handle := k.add("a", Attempts(5))
			require.Equal(t, "winner", k.result(handle).Text)
			require.NoError(t, from(k, causes))
			require.ErrorIs(t, from(k, causes), ErrLockLost)
			require.Equal(t, handle.ID, from(k, lost))
			r := k.record(handle.ID)
			require.Equal(t, 1, r.AttemptsMade)
			require.Equal(t, 1, r.StalledCount)
			require.JSONEq(t, `{"text":"winner","attempt":0}`, string(r.ReturnValue))
		})
	}
}

// C003: a loser that noticed nothing, and ends while the winner is still at work.
func TestC003LoserEndsFirst(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	rdb := k.server.Client(t)
	lost, held := make(chan string, 1), make(chan struct{})
	loserHolds, loserEnds, winnerEnds := make(chan string, 1), make(chan struct{}), make(chan struct{})
	k.worker(func(_ context.Context, job *Job[greet]) (greeting, error) {
		loserHolds <- job.ID
		<-loserEnds
		return greeting{Text: "loser"}, nil
	}, LockDuration(time.Hour), NoStalledCheck(), WithHooks(Hooks{LockLost: func(j *ActiveJob) { lost <- j.ID }}))
	handle := k.add("a")
	id := from(k, loserHolds)
	require.NoError(t, rdb.Del(k.ctx, "bull:greetings:"+id+":lock").Err())
	k.worker(func(context.Context, *Job[greet]) (greeting, error) {
		close(held)
		<-winnerEnds
		return greeting{Text: "winner"}, nil
	}, LockDuration(time.Hour), StalledCheck(20*time.Millisecond, 1))
	from(k, held)
	close(loserEnds)
	require.Equal(t, id, from(k, lost))
	require.Equal(t, map[State]int{StateActive: 1}, k.counts(), "it is still the winner's")
	require.Equal(t, int64(1), rdb.Exists(k.ctx, "bull:greetings:"+id+":lock").Val(), "and so is the lock")
	close(winnerEnds)
	require.Equal(t, "winner", k.result(handle).Text)
	r := k.record(id)
	require.Equal(t, []int{1, 2, 1}, []int{r.AttemptsMade, r.AttemptsStarted, r.StalledCount})
}

// C009: scripts that the server forgot are loaded again, under load.
func TestC009ScriptFlushUnderLoad(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Start(t))
	k.worker(hello, Concurrency(20))
	ctx, stop := context.WithCancel(k.ctx)
	var flushing sync.WaitGroup
	rdb := k.server.Client(t)
	flushing.Go(func() {
		for ctx.Err() == nil {
			rdb.ScriptFlush(ctx)
		}
	})
	for i := range 20 {
		ps := make([]greet, 50)
		for j := range ps {
			ps[j].Name = fmt.Sprint(i, "-", j)
		}
		_, err := k.task.AddMany(k.ctx, k.client, ps)
		require.NoError(t, err)
	}
	k.settled(map[State]int{StateCompleted: 1000})
	stop()
	flushing.Wait()
	k.noLocks()
}

// C015: an answer that was lost neither doubles a job nor loses one.
func TestC015LostAnswers(t *testing.T) {
	t.Parallel()
	server := testredis.Start(t)
	link := testredis.Proxy(t, server.Addr())
	k := newKitAt(t, server, link.URL())
	var runs atomic.Int32
	var lost atomic.Int32
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		if runs.Add(1)%10 == 5 {
			link.DropReply("evalsha") // to the call that settles this job
		}
		if job.Data.Fail > 0 && job.Attempt == 1 {
			return greeting{}, errors.New("not yet")
		}
		return hello(ctx, job)
	}, Concurrency(4), WithHooks(Hooks{LockLost: func(*ActiveJob) { lost.Add(1) }}))
	k.result(k.add("warm up"))
	direct := newKit(t, server) // adds past the broken link
	const n = 200
	for i := range n {
		if i%10 == 0 {
			link.DropReply("evalsha")
		}
		_, err := direct.task.Add(k.ctx, direct.client, greet{fmt.Sprint(i), i % 2}, Attempts(2))
		require.NoError(t, err)
	}
	direct.settled(map[State]int{StateCompleted: n + 1})
	require.EqualValues(t, n+1+n/2, runs.Load(), "each attempt was made once")
	require.Zero(t, lost.Load(), "no job was taken for lost")
	require.Greater(t, link.Dropped(), n/20)
	direct.noLocks()

	link.DropReply("evalsha")
	_, err := k.task.Add(k.ctx, k.client, greet{Name: "once"})
	if err != nil {
		require.ErrorIs(t, err, ErrUncertain)
	}
	direct.settled(map[State]int{StateCompleted: n + 2})
}

// C031: a worker goes on when its server was away, was frozen, or changed its role.
func TestC031Outages(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]func(k *kit, s *testredis.Server, link *testredis.Link){
		"restart": func(_ *kit, s *testredis.Server, _ *testredis.Link) { s.Restart() },
		"frozen": func(k *kit, s *testredis.Server, _ *testredis.Link) {
			s.Pause()
			time.AfterFunc(200*time.Millisecond, s.Continue)
		},
		"cut": func(_ *kit, _ *testredis.Server, link *testredis.Link) { link.Cut() },
		"refused": func(_ *kit, _ *testredis.Server, link *testredis.Link) {
			link.Refuse(true)
			link.Cut()
			time.AfterFunc(300*time.Millisecond, func() { link.Refuse(false) })
		},
		"replica": func(k *kit, s *testredis.Server, _ *testredis.Link) {
			rdb := s.Client(k)
			require.NoError(k, rdb.Do(k.ctx, "replicaof", "127.0.0.1", "1").Err())
			time.AfterFunc(300*time.Millisecond, func() { rdb.Do(context.Background(), "replicaof", "no", "one") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testredis.Start(t, testredis.AppendOnly())
			link := testredis.Proxy(t, server.Addr())
			k := newKitAt(t, server, link.URL())
			var reported atomic.Int32
			k.worker(hello, Concurrency(3), WithHooks(Hooks{Error: func(error) { reported.Add(1) }}))
			for i := range 3 {
				k.result(k.add(fmt.Sprint(i)))
			}
			outage(k, server, link)
			var h *JobHandle[greeting]
			k.until("a job is added again", func() bool {
				var err error
				h, err = k.task.Add(k.ctx, k.client, greet{Name: "after"}, JobID("after"))
				return err == nil
			})
			require.Equal(t, "hello after", k.result(h).Text)
			require.Less(t, reported.Load(), int32(6), "an outage is not reported over and over")
		})
	}
}

// C037: locks are renewed until the last handler has returned.
func TestC037LocksLastThroughAGracefulStop(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	var runs atomic.Int32
	begun, open := make(chan struct{}, 9), make(chan struct{})
	h := func(ctx context.Context, job *Job[greet]) (greeting, error) {
		runs.Add(1)
		begun <- struct{}{}
		<-open
		return hello(ctx, job)
	}
	opts := []WorkerOption{LockDuration(time.Hour), renewEvery(100 * time.Millisecond), StalledCheck(100*time.Millisecond, 1)}
	w := k.worker(h, opts...)
	handle := k.add("a")
	<-begun
	stopped := make(chan error, 1)
	go func() { stopped <- w.Stop(k.ctx) }()
	var checks atomic.Int32
	other := k.worker(h, append(opts, WithHooks(Hooks{Stalled: func(string) { checks.Add(1) }}))...)
	rdb := k.server.Client(t)
	// The lock is renewed at least five times.
	last := time.Duration(-1)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for renewals := 0; renewals < 5; <-look.C {
		ttl := rdb.PTTL(k.ctx, "bull:greetings:"+handle.ID+":lock").Val()
		require.Positive(t, ttl, "the lock is held")
		if ttl > last {
			renewals++
		}
		last = ttl
	}
	close(open)
	require.NoError(t, <-stopped)
	require.Equal(t, "hello a", k.result(handle).Text)
	require.EqualValues(t, 1, runs.Load())
	require.Zero(t, checks.Load())
	require.NoError(t, other.Stop(k.ctx))
}

// C043: whatever was taken when a worker stops is finished, not left active.
func TestC043StopAtAnyMoment(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	added := 0
	for range 60 {
		w, err := NewWorker(k.client, k.queue, Concurrency(1+random.IntN(8)), Prefetch(random.IntN(2)*random.IntN(20)))
		require.NoError(t, err)
		k.task.Handle(w, hello)
		ctx, cancel := context.WithCancel(k.ctx)
		time.AfterFunc(time.Duration(random.IntN(15_000))*time.Microsecond, cancel)
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		for range random.IntN(30) {
			k.add(fmt.Sprint(added))
			added++
		}
		require.NoError(t, <-done)
		counts := k.counts()
		require.Zero(t, counts[StateActive])
		require.Equal(t, added, counts[StateCompleted]+counts[StateWaiting])
	}
	k.noLocks()
}

// C051: renewal and stalled checks never disturb a job that finishes.
func TestC051NoLockErrorsNearTheLocksEnd(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	var trouble recorder
	var mu sync.Mutex
	runs := map[string]int{}
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		mu.Lock()
		runs[job.ID]++
		mu.Unlock()
		timer := time.NewTimer(time.Duration(200+rand.IntN(200)) * time.Millisecond) // renewed once, or not
		defer timer.Stop()
		<-timer.C
		return hello(ctx, job)
	}, Concurrency(50), LockDuration(time.Hour), renewEvery(250*time.Millisecond), StalledCheck(20*time.Millisecond, 1), WithHooks(Hooks{
		Stalled:  func(id string) { trouble.note("stalled " + id) },
		LockLost: func(j *ActiveJob) { trouble.note("lost " + j.ID) },
		Error:    func(err error) { trouble.note(err.Error()) },
	}))
	ps := make([]greet, 300)
	for i := range ps {
		ps[i].Name = fmt.Sprint(i)
	}
	_, err := k.task.AddMany(k.ctx, k.client, ps)
	require.NoError(t, err)
	k.settled(map[State]int{StateCompleted: 300})
	require.Empty(t, trouble.all())
	mu.Lock()
	defer mu.Unlock()
	for id, n := range runs {
		require.Equal(t, 1, n, id)
	}
}

// C053: the same with both versions of the protocol and a client of the user's.
func TestC053ProtocolsAndClients(t *testing.T) {
	t.Parallel()
	for _, protocol := range []int{2, 3} {
		k := newKit(t, testredis.Any(t))
		o := k.server.Options()
		o.Protocol = protocol
		rdb := redis.NewClient(o)
		t.Cleanup(func() { _ = rdb.Close() })
		store, err := redisq.New(rdb, redisq.Logger(quiet()))
		require.NoError(t, err)
		t.Cleanup(func() { _ = store.Close() })
		k.client, err = NewClient(store, WithLogger(quiet()))
		require.NoError(t, err)
		t.Cleanup(func() { _ = k.client.Close() })
		k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
			if job.Data.Fail >= job.Attempt {
				return greeting{}, errors.New("not yet")
			}
			return hello(ctx, job)
		})
		h, err := k.task.Add(k.ctx, k.client, greet{"ann", 1}, Attempts(2))
		require.NoError(t, err)
		require.Equal(t, greeting{"hello ann", 2}, k.result(h))
	}
}

// C093: a handler that ignores its cancellation does not keep the worker from stopping.
func TestC093HandlersThatIgnoreCancellation(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	open := make(chan struct{})
	var runs atomic.Int32
	late := make(chan error, 1)
	h := func(ctx context.Context, job *Job[greet]) (greeting, error) {
		if runs.Add(1) == 1 {
			<-open
			late <- job.UpdateProgress(k.ctx, 50)
			return greeting{Text: "too late"}, nil
		}
		return hello(ctx, job)
	}
	opts := []WorkerOption{LockDuration(time.Hour), StalledCheck(50*time.Millisecond, 1)}
	w := k.worker(h, opts...)
	handle := k.add("a")
	k.until("the handler runs", func() bool { return w.Running() == 1 })
	ctx, cancel := context.WithCancel(k.ctx)
	cancel()
	require.ErrorIs(t, w.Stop(ctx), ErrAbandoned)
	require.NoError(t, k.server.Client(t).Del(k.ctx, "bull:greetings:"+handle.ID+":lock").Err(), "its time is over")
	k.worker(h, opts...)
	require.Equal(t, "hello a", k.result(handle).Text)
	close(open)
	require.ErrorIs(t, <-late, ErrLockLost)
	r := k.record(handle.ID)
	require.Equal(t, "0", string(orZero(r.Progress)))
	require.Contains(t, string(r.ReturnValue), "hello a")
}

func orZero(b []byte) []byte {
	if len(b) == 0 {
		return []byte("0")
	}
	return b
}

// Handlers that heed their cancellation give their jobs back uncounted.
func TestShutdownGivesJobsBack(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	w := k.worker(func(ctx context.Context, _ *Job[greet]) (greeting, error) {
		<-ctx.Done()
		return greeting{}, ctx.Err()
	}, GracePeriod(0))
	h := k.add("a")
	k.until("the handler runs", func() bool { return w.Running() == 1 })
	require.NoError(t, w.Stop(k.ctx))
	k.settled(map[State]int{StateWaiting: 1})
	require.Zero(t, k.record(h.ID).AttemptsMade)
	k.noLocks()
}

// C095 and its kind: while a queue is paused nothing starts; then all comes in order.
func TestC095PausedQueue(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	q := k.client.Queue("greetings")
	var seen recorder
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		seen.note(job.Data.Name)
		return hello(ctx, job)
	}, drainDelay(time.Hour)) // that the queue goes on, it must be told
	k.result(k.add("before"))
	require.NoError(t, q.Pause(k.ctx))
	k.add("plain")
	k.add("lifo", LIFO(true))
	k.add("first", Priority(1))
	h := k.add("delayed", Delay(time.Millisecond))
	k.until("due jobs are promoted", func() bool { s, err := h.State(k.ctx); return err == nil && s == StateWaiting })
	require.Equal(t, []string{"before"}, seen.all())
	paused, err := q.Paused(k.ctx)
	require.NoError(t, err)
	require.True(t, paused)
	require.NoError(t, q.Resume(k.ctx))
	k.settled(map[State]int{StateCompleted: 5})
	require.Equal(t, []string{"before", "lifo", "plain", "delayed", "first"}, seen.all())
}

// C095: what a 5.x peer set aside while it paused the queue is worked too, after
// a resume by either side, and before what came to the other list meanwhile.
func TestC095JobsSetAsideBy5x(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]struct{ aside, waiting int }{
		"only set aside": {3, 0}, "more set aside": {5, 2}, "fewer set aside": {2, 5}, "none": {0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, testredis.Any(t))
			store, err := redisq.Open(k.server.URL(), redisq.Logger(quiet()), redisq.Peers5())
			require.NoError(t, err)
			t.Cleanup(func() { _ = store.Close() })
			five := *k
			five.client, err = NewClient(store, WithLogger(quiet()))
			require.NoError(t, err)
			t.Cleanup(func() { _ = five.client.Close() })
			require.NoError(t, five.client.Queue("greetings").Pause(k.ctx))
			var want []string
			for i := range n.aside + n.waiting {
				want = append(want, fmt.Sprint(i))
				if i < n.aside {
					five.add(want[i])
				} else {
					k.add(want[i])
				}
			}
			rdb := k.server.Client(t)
			require.EqualValues(t, n.aside, rdb.LLen(k.ctx, "bull:greetings:paused").Val())
			require.Equal(t, map[State]int{StateWaiting: len(want)}, k.counts())
			var seen recorder
			k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
				seen.note(job.Data.Name)
				return hello(ctx, job)
			})
			require.NoError(t, k.client.Queue("greetings").Resume(k.ctx))
			k.settled(map[State]int{StateCompleted: len(want)})
			require.Equal(t, want, seen.all())
		})
	}
}

// C095: whatever puts jobs in line while the queue is paused starts none.
func TestC095WaysIntoAPausedQueue(t *testing.T) {
	t.Parallel()
	for _, peers5 := range []bool{false, true} {
		t.Run(fmt.Sprint("peers of 5.x: ", peers5), func(t *testing.T) {
			t.Parallel()
			k := flowKit(t)
			if peers5 {
				store, err := redisq.Open(k.server.URL(), redisq.Logger(quiet()), redisq.Peers5())
				require.NoError(t, err)
				t.Cleanup(func() { _ = store.Close() })
				k.client, err = NewClient(store, WithLogger(quiet()))
				require.NoError(t, err)
				t.Cleanup(func() { _ = k.client.Close() })
			}
			q := k.client.Queue("parents")
			var runs recorder
			k.start(parentQueue, func(w *Worker) {
				parentTask.Handle(w, func(_ context.Context, job *Job[int]) (DependencyCounts, error) {
					runs.note(fmt.Sprint(job.Data))
					if job.Data == 1 && job.Starts == 1 {
						return DependencyCounts{}, errors.New("no")
					}
					return DependencyCounts{}, nil
				})
			})
			failed, err := parentTask.Add(k.ctx, k.client, 1)
			require.NoError(t, err)
			k.inState("parents", failed.ID, StateFailed)
			delayed, err := parentTask.Add(k.ctx, k.client, 2, Delay(time.Hour))
			require.NoError(t, err)
			parent := parentTask.Node(3)
			parent.Children = []*Node{childTask.Node("ok")}
			_, err = k.client.AddFlows(k.ctx, parent)
			require.NoError(t, err)

			require.NoError(t, q.Pause(k.ctx))
			require.NoError(t, q.Retry(k.ctx, failed.ID))
			require.NoError(t, q.Promote(k.ctx, delayed.ID))
			k.workChildren()
			_, err = parentTask.AddMany(k.ctx, k.client, []int{4, 5}, Priority(2))
			require.NoError(t, err)
			require.NoError(t, q.ChangePriority(k.ctx, failed.ID, 0, BeforeOthers()))
			k.until("all wait", func() bool {
				n, err := q.Counts(k.ctx, StateWaiting, StatePrioritized)
				return err == nil && n[StateWaiting] == 3 && n[StatePrioritized] == 2
			})
			require.Equal(t, []string{"1"}, runs.all())
			list := map[bool]string{false: "wait", true: "paused"}[peers5] // where a resume of the peers finds them
			require.EqualValues(t, 3, k.server.Client(t).LLen(k.ctx, "bull:parents:"+list).Val())
			require.NoError(t, q.Resume(k.ctx))
			k.until("all are done", func() bool {
				n, err := q.Counts(k.ctx, StateCompleted)
				return err == nil && n[StateCompleted] == 5
			})
			require.ElementsMatch(t, []string{"1", "1", "2", "3", "4", "5"}, runs.all())
		})
	}
}

// C077: a handler's own rate limit puts the job back, first, with no attempt counted.
func TestC077RateLimitFromAHandler(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	var seen recorder
	h := k.add("a", Attempts(1))
	next := k.add("b")
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		seen.note(job.Data.Name)
		if job.Starts <= 3 && job.Data.Name == "a" {
			return greeting{}, RateLimited(20 * time.Millisecond)
		}
		return hello(ctx, job)
	}, Limit(1000, time.Second))
	require.Equal(t, greeting{"hello a", 1}, k.result(h))
	require.Equal(t, 1, k.record(h.ID).AttemptsMade)
	k.result(next)
	require.Equal(t, []string{"a", "a", "a", "a", "b"}, seen.all())
}

// C077: the limit that a handler asks for holds from then on, also for the job
// itself, until its time is over or it is released.
func TestC077RateLimitFromAHandlerHolds(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	var seen recorder
	first := k.add("a", Attempts(1))
	k.add("b")
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		seen.note(job.Data.Name)
		if job.Starts == 1 && job.Data.Name == "a" {
			return greeting{}, RateLimited(time.Hour)
		}
		return hello(ctx, job)
	}, Limit(1000, time.Second), MaxLimitDelay(10*time.Millisecond))
	k.until("it is put back", func() bool { return k.record(first.ID).AttemptsStarted > 0 && k.counts()[StateActive] == 0 })
	require.Greater(t, k.server.Client(t).PTTL(k.ctx, "bull:greetings:limiter").Val(), time.Minute)
	require.Equal(t, map[State]int{StateWaiting: 2}, k.counts())
	require.Equal(t, []string{"a"}, seen.all())
	require.NoError(t, k.client.Queue("greetings").RateLimit(k.ctx, 0))
	k.settled(map[State]int{StateCompleted: 2})
	require.Equal(t, []string{"a", "a", "b"}, seen.all())
}

func TestRateLimitBoundsStarts(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	var runs atomic.Int32
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		runs.Add(1)
		return hello(ctx, job)
	}, Limit(3, time.Hour), Concurrency(10))
	for i := range 8 {
		k.add(fmt.Sprint(i))
	}
	k.settled(map[State]int{StateCompleted: 3, StateWaiting: 5})
	require.EqualValues(t, 3, runs.Load())
	ttl, err := k.store.RateLimitTTL(k.ctx, "greetings", 3)
	require.NoError(t, err)
	require.Positive(t, ttl)
}

// skewed is a clock that differs from that of the machine.
type skewed struct{ by atomic.Int64 }

func (c *skewed) now() time.Time         { return time.Now().Add(time.Duration(c.by.Load())) }
func (c *skewed) set(skew time.Duration) { c.by.Store(int64(skew)) }

// C111: a clock that jumps does not cost a job that runs its lock.
func TestC111ClockJumpsDuringARun(t *testing.T) {
	t.Parallel()
	var clock skewed
	k := newKit(t, testredis.Any(t), WithClock(clock.now))
	rdb := k.server.Client(t)
	var stalls recorder
	begun, open := make(chan string, 9), make(chan struct{})
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		begun <- job.ID
		<-open
		return hello(ctx, job)
	}, LockDuration(time.Hour), renewEvery(50*time.Millisecond), StalledCheck(20*time.Millisecond, 1), WithHooks(Hooks{Stalled: func(id string) { stalls.note(id) }}))
	h := k.add("a")
	lock := "bull:greetings:" + <-begun + ":lock"
	for _, skew := range []time.Duration{-time.Hour, time.Hour, 0} {
		clock.set(skew)
		last := rdb.PTTL(k.ctx, lock).Val()
		for renewals := 0; renewals < 2; {
			ttl := rdb.PTTL(k.ctx, lock).Val()
			require.Positive(t, ttl, "the lock is held, %v off", skew)
			if ttl > last {
				renewals++
			}
			last = ttl
		}
	}
	close(open)
	require.Equal(t, "hello a", k.result(h).Text)
	require.Empty(t, stalls.all())
	require.Empty(t, begun, "it ran once")
}

// settles counts the calls that settle or take.
type settles struct {
	storage.Storage
	n atomic.Int32
}

func (s *settles) Settle(ctx context.Context, queue string, req *storage.SettleRequest) (*storage.SettleReply, error) {
	s.n.Add(1)
	return s.Storage.Settle(ctx, queue, req)
}

// C111: producers and workers whose clocks differ. A delay is the longer or the
// shorter for it; other jobs are worked meanwhile, and nobody asks on and on.
func TestC111ClocksOfPeersDiffer(t *testing.T) {
	t.Parallel()
	for name, skew := range map[string]time.Duration{"the worker is behind": -10 * time.Minute, "the worker is ahead": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			producer := newKit(t, testredis.Any(t))
			var clock skewed
			clock.set(skew)
			k := newKit(t, producer.server, WithClock(clock.now))
			counted := &settles{Storage: k.store}
			var err error
			k.client, err = NewClient(counted, WithLogger(quiet()), WithClock(clock.now))
			require.NoError(t, err)
			t.Cleanup(func() { _ = k.client.Close() })
			k.worker(hello)
			late := producer.add("late", Delay(time.Minute))
			other := producer.add("other")
			require.Equal(t, "hello other", producer.result(other).Text)
			if skew > 0 {
				require.Equal(t, "hello late", producer.result(late).Text, "its time has come for the worker")
			} else {
				finished := producer.record(other.ID)
				require.True(t, finished.FinishedOn.Before(finished.Timestamp), "as peers have it too")
				require.Equal(t, map[State]int{StateCompleted: 1, StateDelayed: 1}, k.counts())
				clock.set(time.Hour)
				producer.add("looks again")
				require.Equal(t, "hello late", producer.result(late).Text)
			}
			// What is delayed by this clock itself is waited for, not asked for.
			clock.set(skew)
			before := counted.n.Load()
			h, err := k.task.Add(k.ctx, k.client, greet{Name: "soon"}, Delay(300*time.Millisecond))
			require.NoError(t, err)
			require.Equal(t, "hello between", producer.result(producer.add("between")).Text)
			require.Equal(t, "hello soon", producer.result(h).Text)
			require.Less(t, counted.n.Load()-before, int32(20))
		})
	}
}
