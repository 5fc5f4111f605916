package bullmq

import (
	"context"
	"errors"
	"sync"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/ledger"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// WorkerPool runs workers of several queues in one program. They share one
// capacity: how many jobs run at once. When all have work, each worker gets
// capacity by its weight. What some do not need, others use.
//
//	s, err := bullmq.NewWorkerPool(100)
//	err = s.Add(emails, 3)
//	err = s.Add(reports, 1)
//	err = s.Run(ctx)
type WorkerPool struct {
	pool    *ledger.Pool
	mu      sync.Mutex
	workers []*Worker
	running bool
}

// NewWorkerPool returns a pool that runs at most capacity jobs at once, at least 1.
func NewWorkerPool(capacity int) (*WorkerPool, error) {
	if capacity < 1 {
		return nil, storage.Invalid("bullmq: a worker pool needs a capacity of at least 1, not %d", capacity)
	}
	return &WorkerPool{pool: ledger.NewPool(capacity)}, nil
}

// Add adds a worker that was not started, with a weight of at least 1. The
// worker's own concurrency is a bound for it within the pool: without
// Concurrency in its options or its queue's declaration, the pool is the bound.
func (s *WorkerPool) Add(w *Worker, weight int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var p problems
	if w == nil {
		p.add("no worker given")
	}
	if weight < 1 {
		p.add("the weight must be at least 1, not %d", weight)
	}
	if s.running {
		p.add("the pool runs already: add workers before")
	}
	if len(s.workers) >= s.pool.Capacity() {
		p.add("a capacity of %d is too small for another worker", s.pool.Capacity())
	}
	if err := p.wrap("worker pool"); err != nil {
		return err
	}
	if err := w.join(s.pool, weight); err != nil {
		return err
	}
	s.workers = append(s.workers, w)
	return nil
}

// join makes a worker use the capacity of a pool.
func (w *Worker) join(p *ledger.Pool, weight int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cfg.prefetch > 0 {
		return storage.Invalid("bullmq: the worker of queue %q has Prefetch, and cannot share capacity with others: the jobs that it prefetches would keep them from it", w.queue.Name)
	}
	if w.started || !w.engine.Join(p, weight) {
		return storage.Invalid("bullmq: the worker of queue %q was started, or is part of a pool already", w.queue.Name)
	}
	if !w.cfg.ownConcurrency && w.queue.Concurrency == 0 {
		w.engine.SetCapacity(p.Capacity())
	}
	return nil
}

// Run starts all workers and runs until ctx ends, as Worker.Run does for one.
// If one cannot be started, none is.
func (s *WorkerPool) Run(ctx context.Context) error {
	s.mu.Lock()
	workers, again := s.workers, s.running
	s.running = true
	s.mu.Unlock()
	if again || len(workers) == 0 {
		return storage.Invalid("bullmq: a worker pool runs once, and needs workers")
	}
	var p problems
	for _, w := range workers {
		if err := w.problems(); err != nil {
			p.add("%w", err)
		}
	}
	if err := p.err(); err != nil {
		return err
	}
	errs := make([]error, len(workers))
	var all sync.WaitGroup
	for i, w := range workers {
		all.Go(func() { errs[i] = w.Run(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}
