package main

import (
	"context"
	"fmt"
	"time"
)

// sample is what one run of a work by one contender showed.
type sample struct {
	rate      float64   // jobs/s
	redis     float64   // Redis CPU, microseconds a job
	client    float64   // CPU of the contender's process, microseconds a job
	latencies []float64 // microseconds
	memory    float64   // bytes at the end
	peak      float64   // bytes
	slow      int       // calls that held the server for longer than slowCall
	longest   time.Duration
	commands  map[string]int // what the server executed, over all jobs
	jobs      int            // that commands are of
}

// runner has the servers and a process for each contender.
type runner struct {
	server   *server
	postgres *postgres // nil: no contender needs it
	children map[string]*child
}

func (r *runner) child(name string) (*child, error) {
	process := name
	if name == "bare" {
		process = "ours"
	}
	if c := r.children[process]; c != nil {
		return c, nil
	}
	addr := r.server.addr
	if process == "river" {
		addr = r.postgres.url
	}
	c, err := startChild(process, addr)
	if err == nil {
		r.children[process] = c
	}
	return c, err
}

func (r *runner) close() {
	for name, c := range r.children {
		c.stop()
		delete(r.children, name)
	}
}

// run lets a contender do a work once, on an empty server.
func (r *runner) run(ctx context.Context, w *work, name string) (*sample, error) {
	c, err := r.child(name)
	if err != nil {
		return nil, err
	}
	o := w.order
	o.Jobs = w.jobs[name]
	o.Warm = max(o.Concurrency, o.Jobs/10)
	if err := r.server.reset(ctx); err != nil {
		return nil, err
	}
	switch {
	case name == "bare":
		o.Op = "bare"
	case o.Op == "work":
		load := o
		load.Op = "load"
		if err := c.do(ctx, load, func(event) error { return nil }); err != nil {
			return nil, err
		}
	}
	if err := r.server.client.ConfigResetStat(ctx).Err(); err != nil {
		return nil, err
	}
	s, err := r.measure(ctx, c, &o)
	if err != nil {
		return nil, fmt.Errorf("%s by %s: %w", w.name, name, err)
	}
	return s, nil
}

// measure carries out an order and looks at both processes at its begin and end.
func (r *runner) measure(ctx context.Context, c *child, o *order) (*sample, error) {
	var redis0, redis1, client0, client1 time.Duration
	look := func(redis, client *time.Duration) (err error) {
		if *redis, err = r.server.cpu(ctx); err == nil {
			*client, err = c.cpu()
		}
		return err
	}
	s := &sample{jobs: o.Jobs + o.Warm}
	err := c.do(ctx, *o, func(e event) error {
		switch e.Event {
		case "begin":
			return look(&redis0, &client0)
		case "end":
			s.rate = float64(o.Jobs) / e.Seconds
			return look(&redis1, &client1)
		case "done":
			s.latencies = e.Latencies
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if c.name == "river" {
		redis1 = redis0 // what the Redis beside did is not its doing
	}
	perJob := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(o.Jobs) }
	s.redis, s.client = perJob(redis1-redis0), perJob(client1-client0)
	if s.memory, s.peak, err = c.resident(); err != nil {
		return nil, err
	}
	if s.commands, err = r.server.commands(ctx); err != nil {
		return nil, err
	}
	s.slow, s.longest, err = r.server.slow(ctx)
	return s, err
}
