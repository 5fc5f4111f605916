package bullmq

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// endless is a storage with any number of jobs, which keeps nothing. What a
// worker does with it is the worker's own cost.
type endless struct {
	storage.Storage
	left    atomic.Int64 // jobs to be had
	calls   atomic.Int64 // of Settle
	settled atomic.Int64
	done    chan struct{} // closed when as many are settled as there were
	total   int64
}

func newEndless(jobs int) *endless {
	s := &endless{done: make(chan struct{}), total: int64(jobs)}
	s.left.Store(int64(jobs))
	return s
}

func (s *endless) Settle(_ context.Context, _ string, req *storage.SettleRequest) (*storage.SettleReply, error) {
	s.calls.Add(1)
	if n := int64(len(req.Settle)); n > 0 && s.settled.Add(n) == s.total {
		close(s.done)
	}
	reply := &storage.SettleReply{Errs: make([]error, len(req.Settle))}
	left := s.left.Add(-int64(req.Take))
	n := max(0, min(int64(req.Take), left+int64(req.Take)))
	reply.Jobs = make([]*storage.Record, n)
	for i := range reply.Jobs {
		reply.Jobs[i] = &storage.Record{
			ID: strconv.FormatInt(left+int64(i), 10), Name: "greet", Data: []byte(`{"name":"somebody"}`), Opts: []byte(`{"attempts":3}`),
			Timestamp: req.Now, AttemptsStarted: 1, ProcessedOn: req.Now,
		}
	}
	return reply, nil
}

func (s *endless) Usable(string) error { return nil }

func (s *endless) NewWaiter(string, string) storage.Waiter { return asleep{} }

func (s *endless) RecoverStalled(context.Context, string, storage.StalledRequest) ([]string, error) {
	return nil, nil
}

func (s *endless) Cancelled(ctx context.Context, _, _ string, d time.Duration) ([]string, string, error) {
	sleep(ctx, d)
	return nil, "", nil
}

func (s *endless) Announce(context.Context, string, string, int) error { return nil }

func (s *endless) Add(_ context.Context, _ string, jobs []storage.NewJob) ([]storage.Added, error) {
	s.calls.Add(1)
	added := make([]storage.Added, len(jobs))
	for i := range added {
		added[i].ID = "1"
	}
	return added, nil
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// asleep waits for work that never comes.
type asleep struct{}

func (asleep) Wait(ctx context.Context, d time.Duration) (time.Time, error) {
	sleep(ctx, d)
	return time.Time{}, nil
}

func (asleep) Close() error { return nil }

// workEndless lets a worker do some jobs and returns the storage.
func workEndless(tb testing.TB, jobs, concurrency int) *endless {
	s := newEndless(jobs)
	c, err := NewClient(s, WithLogger(quiet()))
	require.NoError(tb, err)
	q := &QueueSpec{Name: "greetings"}
	task := NewTask[greet, None](Spec{Queue: q, Name: "greet"}, nil)
	w, err := NewWorker(c, q, Concurrency(concurrency))
	require.NoError(tb, err)
	task.Handle(w, NoResult(func(context.Context, *Job[greet]) error { return nil }))
	require.NoError(tb, w.Start(context.Background()))
	<-s.done
	require.NoError(tb, w.Stop(context.Background()))
	return s
}

// mallocs is how many objects were allocated so far.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// least is the smallest of up to ten measurements; one that is small enough is
// the last. Batches are smaller, and a job costs more, while other programs take
// the processor.
func least(enough float64, measure func() float64) float64 {
	got := measure()
	for range 9 {
		if got <= enough {
			break
		}
		got = min(got, measure())
	}
	return got
}

// What a worker itself allocates for a job, whatever the storage: the job, what
// the handler gets, and the result. The context is part of the job, and calls
// are used again. The storage of this test makes up 4 objects a job, and
// encoding/json some 5; a call has a token and a reply beside.
func TestCostAllocationsOfAWorkedJob(t *testing.T) { //nolint:paralleltest // counts what the whole process allocates
	const jobs = 20000
	for concurrency, most := range map[int]float64{1: 20, 50: 14, 200: 14} {
		workEndless(t, 1000, concurrency)
		got := least(most, func() float64 {
			before := mallocs()
			workEndless(t, jobs, concurrency)
			return float64(mallocs()-before) / jobs
		})
		require.LessOrEqual(t, got, most, "allocations of a job, concurrency %d", concurrency)
	}
}

// One job at a time costs one round trip a job; many share one.
func TestCostRoundTripsOfAWorkedJob(t *testing.T) { //nolint:paralleltest // batches grow with what the processor is free for
	const jobs = 3000
	calls := workEndless(t, jobs, 1).calls.Load()
	require.GreaterOrEqual(t, calls, int64(jobs))
	require.LessOrEqual(t, calls, int64(jobs+2)) // the first take, and the one that finds nothing
	got := least(jobs/3, func() float64 { return float64(workEndless(t, jobs, 100).calls.Load()) })
	require.LessOrEqual(t, got, float64(jobs/3))
}

// What adding a job allocates before the storage: the payload's text, the
// handle, and the answer.
func TestCostAllocationsOfAnAddedJob(t *testing.T) { //nolint:paralleltest // counts what the whole process allocates
	s := newEndless(0)
	c, err := NewClient(s, WithLogger(quiet()))
	require.NoError(t, err)
	task := NewTask[greet, None](Spec{Queue: &QueueSpec{Name: "greetings"}, Name: "greet"}, nil)
	got := testing.AllocsPerRun(1000, func() {
		if _, err := task.Add(context.Background(), c, greet{Name: "somebody"}); err != nil {
			t.Error(err)
		}
	})
	require.LessOrEqual(t, got, 7.0, "one job")
	many := make([]greet, 1000)
	got = testing.AllocsPerRun(20, func() {
		if _, err := task.AddMany(context.Background(), c, many); err != nil {
			t.Error(err)
		}
	})
	require.LessOrEqual(t, got/1000, 4.0, "a job of a thousand")
	s.calls.Store(0)
	_, err = task.AddMany(context.Background(), c, many)
	require.NoError(t, err)
	require.EqualValues(t, 1, s.calls.Load())
}
