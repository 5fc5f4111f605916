// Package engine processes the jobs of one queue, on the types of package storage.
// Package bullmq puts names, types, options and errors around it.
//
// Its parts, each a package that knows only those before it:
//
//   - outage reports that the storage is away, and waits before the next attempt
//   - ledger keeps the books of a worker under one mutex, and calls nothing
//   - runner runs handlers and decides what becomes of their jobs
//   - lanes makes the calls that settle and take jobs, and starts the jobs
//   - engine starts and stops them, renews locks, looks for stalled jobs, and
//     listens for jobs that are cancelled
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/hookqueue"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/lanes"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/ledger"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/runner"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// DefaultMaxBatch is the most jobs that one call settles or takes. More gain
// nothing and keep the server busy for longer.
const DefaultMaxBatch = 50

// Observer is informed of what happens to jobs and on the queue.
type Observer interface {
	runner.Observer
	// Stalled: a job of a vanished worker was put back.
	Stalled(id string)
	// Error: something failed beside the handlers.
	Error(err error)
	// Recovered: the storage answers again.
	Recovered(away time.Duration)
}

// Config sets up an engine.
type Config struct {
	Queue    string
	Store    storage.Storage
	Program  runner.Program
	Observer Observer
	// Hooks makes the calls that the observer pushes.
	Hooks *hookqueue.Queue
	Log   *slog.Logger
	// Now is the clock by which times are stored.
	Now func() time.Time
	// ID is the first part of the tokens with which jobs are locked.
	ID string
	// Worker is the worker's name, or empty.
	Worker string
	// Capacity is how many handlers may run at once.
	Capacity int
	// MaxBatch is the most jobs that one call settles or takes.
	MaxBatch int
	// Prefetch is how many jobs may be taken before there is capacity for them.
	Prefetch int
	// HandlerTime and CallTime are how long handlers and calls take, until some
	// have been measured. It matters with Prefetch.
	HandlerTime, CallTime time.Duration
	// Lock is how long the lock of a job lasts, RenewEvery how often locks are
	// renewed; 0: a quarter of Lock, so that two rounds may fail before a lock is
	// lost.
	Lock, RenewEvery time.Duration
	// DrainDelay is how long to wait for work before looking anyway.
	DrainDelay time.Duration
	// StalledInterval is the time between two looks for jobs of vanished workers;
	// 0: none. MaxStalled is how often a job may be found before it is failed.
	StalledInterval time.Duration
	MaxStalled      int
	// MaxStarts is how often a job may be started; 0: any number of times.
	MaxStarts int
	// Limit is the worker's rate limit, or nil; GroupLimit that of each group of
	// jobs, with Max 0: none.
	Limit      *storage.RateLimit
	GroupLimit storage.RateLimit
	// MaxLimitDelay is the longest time without a look because of a rate limit.
	MaxLimitDelay time.Duration
	// Grace is how long handlers may go on after the stop has begun.
	Grace time.Duration
	// MetricPoints is how many minutes of metrics are kept.
	MetricPoints int
	// SetBack is how long a job waits that the storage did not serve.
	SetBack time.Duration
	// NoCancel: do not listen for jobs that are cancelled.
	NoCancel bool
}

// Engine processes jobs from Start until it has stopped.
type Engine struct {
	Config
	ledger *ledger.Ledger
	outage *outage.Reporter
	runner *runner.Runner
	lanes  *lanes.Lanes

	mu   sync.Mutex
	stop context.CancelFunc // begins the stop; set by Start

	hurry      chan struct{} // closed when the grace period ends early
	hurryOnce  sync.Once
	forceStop  chan struct{} // closed when nothing is waited for any more
	forceOnce  sync.Once
	decided    chan struct{} // closed when verdict is set
	verdict    Left          // what the stop left undone, without the hooks
	ended      chan struct{} // closed when the worker has stopped
	endVerdict Left
}

// New returns an engine that does nothing until Start.
func New(c Config) *Engine {
	c.RenewEvery = cmp.Or(c.RenewEvery, c.Lock/4)
	e := &Engine{
		Config: c, hurry: make(chan struct{}), forceStop: make(chan struct{}), decided: make(chan struct{}), ended: make(chan struct{}),
	}
	e.ledger = ledger.New(ledger.Config{
		Capacity: c.Capacity, MaxBatch: c.MaxBatch, Lanes: lanes.Count(c.Prefetch),
		Prefetch: c.Prefetch, HandlerTime: c.HandlerTime, CallTime: c.CallTime,
	})
	e.outage = &outage.Reporter{Queue: c.Queue, Log: c.Log, Report: e.Report, Recovered: e.Observer.Recovered}
	e.runner = runner.New(runner.Config{
		Queue: c.Queue, Store: c.Store, Ledger: e.ledger, Outage: e.outage, Program: c.Program, Observer: c.Observer, Report: e.Report,
		Log: c.Log, Now: c.Now, Lock: c.Lock, MaxStarts: c.MaxStarts, SetBack: c.SetBack, GroupLimit: c.GroupLimit,
	})
	e.lanes = lanes.New(lanes.Config{
		Queue: c.Queue, Store: c.Store, Ledger: e.ledger, Runner: e.runner, Outage: e.outage, Now: c.Now, ID: c.ID, Worker: c.Worker,
		Lock: c.Lock, Limit: c.Limit, MaxLimitDelay: c.MaxLimitDelay, MetricPoints: c.MetricPoints, DrainDelay: c.DrainDelay,
		Prefetch: c.Prefetch > 0,
	})
	return e
}

// Report reports what failed beside the handlers.
func (e *Engine) Report(err error) {
	e.Log.Error("bullmq: worker", "queue", e.Queue, "error", err)
	e.Observer.Error(err)
}

// State is the state of an engine at one moment.
type State struct {
	ledger.Snapshot
	// Failing is how many calls to the storage fail that are repeated.
	Failing int
}

// State returns the state now.
func (e *Engine) State() State { return State{e.ledger.Snapshot(), e.outage.Failing()} }

// Ready returns nil while the engine takes jobs and the storage serves it, and
// otherwise why not.
func (e *Engine) Ready() error {
	e.mu.Lock()
	started := e.stop != nil
	e.mu.Unlock()
	select {
	case <-e.ended:
		return errors.New("has stopped")
	default:
	}
	switch state := e.ledger.Snapshot(); {
	case !started:
		return errors.New("was not started")
	case state.Stopping:
		return errors.New("is stopping")
	}
	if since, err := e.outage.Trouble(); err != nil {
		return fmt.Errorf("has been in trouble for %v: %w", time.Since(since).Round(time.Second), err)
	}
	return nil
}

// Join makes the engine use the capacity of a pool, see [ledger.Pool.Join].
func (e *Engine) Join(p *ledger.Pool, weight int) bool { return p.Join(e.ledger, weight) }

// SetCapacity changes how many handlers may run at once.
func (e *Engine) SetCapacity(n int) { e.lanes.Start(e.ledger.SetCapacity(n)) }

// SetPaused makes the engine take no jobs, or take them again. It reports whether
// the engine still runs.
func (e *Engine) SetPaused(on bool) bool { return e.ledger.SetPaused(on) }

// Cancel ends the context of the handler of a job, and reports whether this
// engine holds the job.
func (e *Engine) Cancel(id string) bool {
	jobs := e.ledger.Find(id)
	e.runner.Cancel(jobs, runner.ErrCancelled)
	return len(jobs) > 0
}

// Insist makes a call about a job that this engine holds, see [runner.Runner.Insist].
func (e *Engine) Insist(ctx context.Context, j *runner.Job, what outage.Call, once bool, call func(context.Context) error) error {
	return e.runner.Insist(ctx, j, what, once, call)
}
