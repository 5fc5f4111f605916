package bullmq

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// gated is a worker whose handlers tell that they began and end when the gate is
// opened, and n jobs for it. It believes that handlers take no time, so that it
// takes as many jobs ahead as it may.
type gated struct {
	*kit
	worker *Worker
	began  chan string
	gate   chan struct{}
}

func newGated(t *testing.T, n int, opts ...WorkerOption) *gated {
	t.Helper()
	k := newKit(t, testredis.Any(t))
	g := &gated{kit: k, began: make(chan string, 100), gate: make(chan struct{})}
	for i := range n {
		k.add(strconv.Itoa(i + 1))
	}
	w, err := NewWorker(k.client, k.queue, append([]WorkerOption{drainDelay(time.Second), GracePeriod(patience), measured(1, time.Hour)}, opts...)...)
	require.NoError(t, err)
	k.task.Handle(w, func(ctx context.Context, job *Job[greet]) (greeting, error) {
		g.began <- job.ID
		select {
		case <-g.gate:
		case <-ctx.Done():
			return greeting{}, ctx.Err()
		}
		return hello(ctx, job)
	})
	g.worker = w
	require.NoError(t, w.Start(context.Background()))
	t.Cleanup(func() { _ = w.Stop(context.Background()) })
	return g
}

// begins checks which jobs begin next, in any order.
func (g *gated) begins(ids ...string) {
	g.Helper()
	var got []string
	for range ids {
		got = append(got, from(g.kit, g.began))
	}
	require.ElementsMatch(g, ids, got)
}

func (g *gated) open() { close(g.gate) }

// waiting are the ids of the jobs that wait, the next one to run first.
func (g *gated) waiting() []string {
	g.Helper()
	list, err := g.server.Client(g).LRange(g.ctx, "bull:greetings:wait", 0, -1).Result()
	require.NoError(g, err)
	ids := make([]string, len(list))
	for i, id := range list {
		ids[len(list)-1-i] = id
	}
	return ids
}

func TestPrefetchTakesJobsBeforeThereIsCapacity(t *testing.T) {
	t.Parallel()
	g := newGated(t, 10, Concurrency(2), Prefetch(3))
	g.begins("1", "2")
	g.settled(map[State]int{StateActive: 5, StateWaiting: 5})
	require.Equal(t, 2, g.worker.Running())
	g.gate <- struct{}{}
	g.begins("3") // at once, whatever the storage says
	g.open()
	g.begins("4", "5", "6", "7", "8", "9", "10")
	g.settled(map[State]int{StateCompleted: 10})
	g.noLocks()
	require.Equal(t, 1, g.record("5").AttemptsStarted)
}

// With a concurrency of 1 the handler runs while calls are under way: what it finishes
// meanwhile goes into one call.
func TestPrefetchKeepsOneHandlerBusy(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	var seen recorder
	for i := range 200 {
		k.add(strconv.Itoa(i))
	}
	k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
		seen.note(job.Data.Name)
		return hello(ctx, job)
	}, Concurrency(1), Prefetch(20))
	k.settled(map[State]int{StateCompleted: 200})
	for i, name := range seen.all() {
		require.Equal(t, strconv.Itoa(i), name, "one handler at a time runs them in order")
	}
	k.noLocks()
}

func TestPrefetchedJobsGoBackWhenTheWorkerStops(t *testing.T) {
	t.Parallel()
	g := newGated(t, 10, Concurrency(2), Prefetch(3))
	g.begins("1", "2")
	g.settled(map[State]int{StateActive: 5, StateWaiting: 5})
	stopped := make(chan error)
	go func() { stopped <- g.worker.Stop(g.ctx) }()
	g.settled(map[State]int{StateActive: 2, StateWaiting: 8})
	require.Equal(t, []string{"3", "4", "5", "6", "7", "8", "9", "10"}, g.waiting())
	require.Zero(t, g.record("3").AttemptsStarted, "it was not started")
	g.open()
	require.NoError(t, from(g.kit, stopped))
	g.noLocks()
	g.kit.worker(hello, MaxStartedAttempts(1))
	g.settled(map[State]int{StateCompleted: 10})
}

func TestPrefetchedJobsGoBackWhenTheWorkerIsPaused(t *testing.T) {
	t.Parallel()
	g := newGated(t, 6, Concurrency(1), Prefetch(3))
	g.begins("1")
	g.settled(map[State]int{StateActive: 4, StateWaiting: 2})
	g.worker.Pause()
	g.settled(map[State]int{StateActive: 1, StateWaiting: 5})
	require.Equal(t, []string{"2", "3", "4", "5", "6"}, g.waiting())
	g.open()
	g.settled(map[State]int{StateCompleted: 1, StateWaiting: 5})
	require.NoError(t, g.worker.Resume())
	g.begins("2", "3", "4", "5", "6")
	g.settled(map[State]int{StateCompleted: 6})
}

// Jobs do not wait for handlers that do not return.
func TestPrefetchedJobsGoBackWhenHandlersAreSlow(t *testing.T) {
	t.Parallel()
	g := newGated(t, 6, Concurrency(1), Prefetch(3), LockDuration(time.Hour), renewEvery(100*time.Millisecond))
	g.begins("1")
	g.settled(map[State]int{StateActive: 1, StateWaiting: 5})
	require.Equal(t, []string{"2", "3", "4", "5", "6"}, g.waiting())
	g.open()
	g.settled(map[State]int{StateCompleted: 6})
}

// A worker without free capacity leaves single jobs to others.
func TestPrefetchLeavesJobsToIdleWorkers(t *testing.T) {
	t.Parallel()
	g := newGated(t, 1, Concurrency(1), Prefetch(5))
	g.begins("1")
	g.kit.worker(hello)
	for range 5 {
		g.result(g.add("other"))
	}
	g.open()
	g.settled(map[State]int{StateCompleted: 6})
	require.Empty(t, g.began)
}

func TestPrefetchedJobIsLostOrCancelledBeforeItRuns(t *testing.T) {
	t.Parallel()
	lost := make(chan string, 1)
	g := newGated(t, 5, Concurrency(1), Prefetch(4), WithHooks(Hooks{LockLost: func(j *ActiveJob) { lost <- j.ID }}))
	g.begins("1")
	g.settled(map[State]int{StateActive: 5})
	require.Equal(t, "3", g.worker.engine.State().Prefetched[1].Record.ID)
	require.NoError(t, g.server.Client(t).Del(g.ctx, "bull:greetings:3:lock").Err())
	g.worker.engine.RenewLocks(g.ctx, time.Now())
	require.Equal(t, "3", from(g.kit, lost))
	require.True(t, g.worker.Cancel("4"))
	g.open()
	g.begins("2", "5")
	g.settled(map[State]int{StateCompleted: 3, StateActive: 1, StateFailed: 1})
	require.Contains(t, g.record("4").FailedReason, ErrCancelled.Error())
	require.NoError(t, g.worker.Stop(g.ctx))
	require.Empty(t, g.began, "neither ran")
}

func TestPrefetchedJobsRunWhenCapacityIsAdded(t *testing.T) {
	t.Parallel()
	g := newGated(t, 6, Concurrency(1), Prefetch(3))
	g.begins("1")
	g.settled(map[State]int{StateActive: 4, StateWaiting: 2})
	require.NoError(t, g.worker.SetConcurrency(3))
	g.begins("2", "3")
	require.NoError(t, g.worker.SetConcurrency(1))
	g.gate <- struct{}{}
	g.gate <- struct{}{}
	g.until("one handler runs", func() bool { return g.worker.Running() == 1 })
	g.open()
	g.begins("4", "5", "6")
	g.settled(map[State]int{StateCompleted: 6})
}

// Whatever the size of calls, and whoever ends a goroutine, each job runs once.
func TestPrefetchRunsEachJobOnce(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 2, 7, 50} {
		k := newKit(t, testredis.Any(t))
		const n = 300
		var runs [n]atomic.Int32
		for i := range n {
			k.add(strconv.Itoa(i))
		}
		handler := func(ctx context.Context, job *Job[greet]) (greeting, error) {
			i, _ := strconv.Atoi(job.Data.Name)
			runs[i].Add(1)
			for range i % 5 {
				runtime.Gosched()
			}
			if i%50 == 7 {
				runtime.Goexit()
			}
			return hello(ctx, job)
		}
		for _, n := range []int{1, 4} {
			w := k.worker(handler, Concurrency(n), Prefetch(10), batchLimit(most))
			defer w.Stop(k.ctx) //nolint:errcheck // the kit stops it too
		}
		stops := k.worker(handler, Concurrency(2), Prefetch(10), batchLimit(most))
		require.NoError(t, stops.Stop(k.ctx))
		k.settled(map[State]int{StateCompleted: n - n/50, StateFailed: n / 50})
		for i := range runs {
			require.Equal(t, int32(1), runs[i].Load(), "job %d", i)
		}
		k.noLocks()
	}
}

func TestPrefetchThatCannotWork(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Mini(t))
	_, err := NewWorker(k.client, k.queue, Prefetch(-1))
	require.ErrorContains(t, err, "prefetch must be 0 or more, not -1")
	w, err := NewWorker(k.client, k.queue, Prefetch(1))
	require.NoError(t, err)
	s, err := NewWorkerPool(10)
	require.NoError(t, err)
	require.ErrorContains(t, s.Add(w, 1), "has Prefetch")
}
