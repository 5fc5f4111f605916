package bullmq

import (
	"context"
	"strconv"
	"sync/atomic"
	"syscall"
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
	reply.Jobs = make([]storage.Record, n)
	for i := range reply.Jobs {
		reply.Jobs[i] = storage.Record{
			ID: strconv.FormatInt(left+int64(i), 10), Name: "greet", Data: []byte(`{"name":"somebody"}`), Opts: []byte(`{"attempts":3}`),
			Timestamp: req.Now, AttemptsStarted: 1, ProcessedOn: req.Now,
		}
	}
	return reply, nil
}

func (s *endless) NewWaiter(string, string) storage.Waiter { return asleep{} }

func (s *endless) RecoverStalled(context.Context, string, storage.StalledRequest) ([]string, error) {
	return nil, nil
}

func (s *endless) Cancelled(ctx context.Context, _, _ string, d time.Duration) ([]string, string, error) {
	sleep(ctx, d)
	return nil, "", nil
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
	task := NewTask[greet, None](Spec{Queue: q, Name: "greet", Required: []string{"name"}}, nil)
	w, err := NewWorker(c, q, Concurrency(concurrency))
	require.NoError(tb, err)
	task.Handle(w, NoResult(func(context.Context, *Job[greet]) error { return nil }))
	require.NoError(tb, w.Start(context.Background()))
	<-s.done
	require.NoError(tb, w.Stop(context.Background()))
	return s
}

// processorTime is what this process has used so far. On machines that are
// shared it says more than the time that passed.
func processorTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkWorker(b *testing.B) {
	for _, concurrency := range []int{1, 50, 200} {
		b.Run(strconv.Itoa(concurrency), func(b *testing.B) {
			b.ReportAllocs()
			before := processorTime(b)
			s := workEndless(b, b.N, concurrency)
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(s.total)/float64(s.calls.Load()), "jobs/call")
		})
	}
}
