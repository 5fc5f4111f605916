package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

// ours is this project's runtime, used as generated code uses it.
type ours struct{ addr string }

func newOurs(addr string) (contender, error) { return &ours{addr}, nil }

var (
	oursQueue = &bullmq.QueueSpec{Name: "bench", Tasks: []string{"job"}}
	oursTask  = bullmq.NewTask[payload, bullmq.None](bullmq.Spec{Queue: oursQueue, Name: "job"}, nil)
)

// with opens a client for one order.
func (p *ours) with(f func(*bullmq.Client) error) error {
	store, err := redisq.Open("redis://" + p.addr)
	if err != nil {
		return err
	}
	defer store.Close()
	client, err := bullmq.NewClient(store, bullmq.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	defer client.Close()
	return f(client)
}

// addMany adds jobs from..to in calls of a size.
func addMany(ctx context.Context, c *bullmq.Client, from, to, size int, opts ...bullmq.Option) error {
	batch := make([]payload, 0, size)
	for i := from; i < to; i++ {
		if batch = append(batch, newPayload(i)); len(batch) == size || i == to-1 {
			if _, err := oursTask.AddMany(ctx, c, batch, opts...); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return nil
}

func (p *ours) load(ctx context.Context, o *order) error {
	return p.with(func(c *bullmq.Client) error {
		if err := p.backlog(ctx, c, o); err != nil {
			return err
		}
		return addMany(ctx, c, 0, o.Jobs+o.Warm, 1000)
	})
}

// backlog adds what the queue holds beside the jobs that are worked.
func (p *ours) backlog(ctx context.Context, c *bullmq.Client, o *order) error {
	switch o.State {
	case "waiting":
		return addMany(ctx, c, 0, o.Backlog, 1000)
	case "delayed":
		return addMany(ctx, c, 0, o.Backlog, 1000, bullmq.Delay(24*time.Hour))
	case "prioritized":
		return addMany(ctx, c, 0, o.Backlog, 1000, bullmq.Priority(7))
	case "completed":
		return p.complete(ctx, c, o.Backlog)
	}
	return nil
}

// complete adds jobs and works them.
func (p *ours) complete(ctx context.Context, c *bullmq.Client, n int) error {
	if err := addMany(ctx, c, 0, n, 1000); err != nil {
		return err
	}
	var count atomic.Int64
	done := make(chan struct{})
	w, err := p.worker(c, &order{Concurrency: 200}, func(context.Context, *bullmq.Job[payload]) error {
		if count.Add(1) == int64(n) {
			close(done)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.Start(ctx); err != nil {
		return err
	}
	<-done
	return w.Stop(ctx)
}

func (p *ours) worker(c *bullmq.Client, o *order, h func(context.Context, *bullmq.Job[payload]) error) (*bullmq.Worker, error) {
	w, err := bullmq.NewWorker(c, oursQueue, bullmq.Concurrency(o.Concurrency), bullmq.Prefetch(o.Ahead))
	if err != nil {
		return nil, err
	}
	oursTask.Handle(w, bullmq.NoResult(h))
	return w, nil
}

func (p *ours) work(ctx context.Context, o *order, m *meter) error {
	return p.with(func(c *bullmq.Client) error {
		w, err := p.worker(c, o, func(context.Context, *bullmq.Job[payload]) error {
			m.handle(o)
			return nil
		})
		if err != nil {
			return err
		}
		if err := w.Start(ctx); err != nil {
			return err
		}
		<-m.finished
		if err := w.Stop(ctx); err != nil {
			return err
		}
		n, err := c.Queue(oursQueue.Name).Counts(ctx)
		if want := o.Jobs + o.Warm; err == nil && n[bullmq.StateCompleted] < want {
			err = fmt.Errorf("%d jobs are completed, not %d", n[bullmq.StateCompleted], want)
		}
		return err
	})
}

func (p *ours) bulk(ctx context.Context, o *order, m *meter) error {
	return p.with(func(c *bullmq.Client) error {
		if err := addMany(ctx, c, 0, o.Warm, o.Size); err != nil {
			return err
		}
		m.begin()
		err := addMany(ctx, c, o.Warm, o.Warm+o.Jobs, o.Size)
		m.stop()
		return err
	})
}

func (p *ours) single(ctx context.Context, o *order, m *meter) error {
	return p.with(func(c *bullmq.Client) error {
		return spread(o.Warm+o.Jobs, o.Concurrency, func(i int) error {
			_, err := oursTask.Add(ctx, c, newPayload(i))
			m.tick()
			return err
		})
	})
}

func (p *ours) latency(ctx context.Context, o *order, m *meter) error {
	return p.with(func(c *bullmq.Client) error {
		received := make(chan time.Time, 1)
		w, err := p.worker(c, o, func(context.Context, *bullmq.Job[payload]) error {
			received <- time.Now()
			return nil
		})
		if err != nil {
			return err
		}
		if err := w.Start(ctx); err != nil {
			return err
		}
		err = pickUps(o, m, received, func(i int) error {
			_, err := oursTask.Add(ctx, c, newPayload(i))
			return err
		})
		if err != nil {
			return err
		}
		return w.Stop(ctx)
	})
}
