package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// A soak adds 2,000 jobs a second to a worker with 200 slots: far less than it
// can do, so that nothing piles up.
const (
	soakBatch = 200
	soakEvery = 100 * time.Millisecond
	soakKept  = 1000 // finished jobs, so that the server does not fill up
	soakLook  = 10 * time.Second
)

// soak adds and works jobs for some seconds.
func (p *ours) soak(ctx context.Context, o *order, m *meter) error {
	return p.with(func(c *bullmq.Client) error {
		var done atomic.Int64
		w, err := bullmq.NewWorker(c, oursQueue, bullmq.Concurrency(o.Concurrency), bullmq.KeepFinished(bullmq.KeepLast(soakKept), bullmq.KeepLast(soakKept)))
		if err != nil {
			return err
		}
		oursTask.Handle(w, bullmq.NoResult(func(context.Context, *bullmq.Job[payload]) error {
			done.Add(1)
			return nil
		}))
		if err := w.Start(ctx); err != nil {
			return err
		}
		m.begin()
		added := 0
		tick := time.NewTicker(soakEvery)
		defer tick.Stop()
		for end := time.Now().Add(time.Duration(o.Seconds) * time.Second); time.Now().Before(end); <-tick.C {
			if err := addMany(ctx, c, added, added+soakBatch, soakBatch); err != nil {
				return err
			}
			added += soakBatch
		}
		for int(done.Load()) < added {
			<-tick.C
		}
		m.stop()
		return w.Stop(ctx)
	})
}

// watchMemory lets a worker soak and prints its resident memory as it goes, and
// how it moved in the second half of the time, when all is warm.
func watchMemory(ctx context.Context, s *server, d time.Duration) error {
	c, err := startChild("ours", s.addr)
	if err != nil {
		return err
	}
	defer c.stop()
	if err := s.reset(ctx); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- c.do(ctx, order{Op: "soak", Concurrency: 200, Seconds: int(d.Seconds())}, func(event) error { return nil })
	}()
	began := time.Now()
	tick := time.NewTicker(soakLook)
	defer tick.Stop()
	var at, memory []float64
	for {
		select {
		case err := <-ended:
			if err == nil {
				half := len(at) / 2
				fmt.Printf("%d looks; slope of the second half: %+.2f MiB an hour\n", len(at), slope(at[half:], memory[half:]))
			}
			return err
		case <-tick.C:
			now, peak, err := c.resident()
			if err != nil {
				return err
			}
			at, memory = append(at, time.Since(began).Hours()), append(memory, now/(1<<20))
			fmt.Printf("%6.0f s: %.1f MiB, peak %.1f MiB\n", time.Since(began).Seconds(), now/(1<<20), peak/(1<<20))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// slope is that of the line that fits values best.
func slope(x, y []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	n, sx, sy, sxx, sxy := float64(len(x)), 0.0, 0.0, 0.0, 0.0
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}
