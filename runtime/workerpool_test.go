package bullmq

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// pooled makes a worker of a queue whose handler tells it runs, and waits to be let on.
func pooled(k *kit, queue string, now *atomic.Int32, let <-chan struct{}) (*Worker, *Task[greet, greeting]) {
	q := &QueueSpec{Name: queue}
	task := NewTask[greet, greeting](Spec{Queue: q, Name: "greet"}, nil)
	w, err := NewWorker(k.client, q)
	require.NoError(k, err)
	task.Handle(w, func(ctx context.Context, job *Job[greet]) (greeting, error) {
		now.Add(1)
		defer now.Add(-1)
		<-let
		return hello(ctx, job)
	})
	return w, task
}

func TestWorkerPoolSharesItsCapacityByWeight(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	var a, b atomic.Int32
	let := make(chan struct{})
	wa, ta := pooled(k, "a", &a, let)
	wb, tb := pooled(k, "b", &b, let)
	s, err := NewWorkerPool(8)
	require.NoError(t, err)
	require.NoError(t, s.Add(wa, 3))
	require.NoError(t, s.Add(wb, 1))
	require.Error(t, s.Add(wb, 1), "a worker is part of one pool, once")
	require.Error(t, s.Add(nil, 0))
	payloads := make([]greet, 100)
	for i := range payloads {
		payloads[i].Name = fmt.Sprint(i)
	}
	_, err = ta.AddMany(k.ctx, k.client, payloads)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(k.ctx)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	k.until("the only queue with jobs has all capacity", func() bool { return a.Load() == 8 })
	_, err = tb.AddMany(k.ctx, k.client, payloads)
	require.NoError(t, err)
	k.until("one worker waits for its share", func() bool { return wb.engine.State().Hungry })
	k.until("capacity that becomes free goes to who lacks its share", func() bool {
		if a.Load() == 6 && b.Load() == 2 {
			return true
		}
		select {
		case let <- struct{}{}:
		default:
		}
		return false
	})
	close(let)
	for _, q := range []string{"a", "b"} {
		k.until("all jobs run", func() bool {
			counts, err := k.client.Queue(q).Counts(k.ctx)
			return err == nil && counts[StateCompleted] == 100
		})
	}
	stop()
	require.NoError(t, <-done)
	require.Zero(t, wa.engine.State().Held+wb.engine.State().Held)
	require.Error(t, s.Run(k.ctx), "a pool runs once")
}

func TestWorkerPoolStartsAllOrNone(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Mini(t))
	var n atomic.Int32
	good, _ := pooled(k, "a", &n, nil)
	bad, err := NewWorker(k.client, &QueueSpec{Name: "b"})
	require.NoError(t, err)
	s, err := NewWorkerPool(2)
	require.NoError(t, err)
	require.NoError(t, s.Add(good, 1))
	require.NoError(t, s.Add(bad, 1))
	require.ErrorContains(t, s.Run(k.ctx), `worker of queue "b": no handlers`)
	_, err = NewWorkerPool(0)
	require.Error(t, err)
}
