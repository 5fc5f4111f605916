package bullmq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/hookqueue"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Worker takes the jobs of one queue and runs their handlers. It is made with
// NewWorker, gets its handlers through generated functions, and then runs once.
type Worker struct {
	client *Client
	store  storage.Storage
	queue  *QueueSpec
	cfg    workerConfig
	log    *slog.Logger // of the library's own lines
	own    *slog.Logger // as the program gave it
	now    func() time.Time
	random func() float64

	mu       sync.Mutex
	handlers map[string]handler
	groups   map[string]func(*ActiveJob) string // of jobs, by their names
	errs     []error                            // what was wrong with handlers
	started  bool

	engine   *engine.Engine
	observer observer
	options  optionCache
	zoneless sync.Map // ids of schedules without a zone that were warned of
}

// handler runs one job and returns its result as JSON text.
type handler func(context.Context, *ActiveJob) ([]byte, error)

// NewWorker returns a worker of a queue. All that is wrong with the options is
// in one error.
func NewWorker(c *Client, q *QueueSpec, opts ...WorkerOption) (*Worker, error) {
	if c == nil {
		return nil, errNoClient
	}
	if err := q.validate(); err != nil {
		return nil, storage.Invalid("bullmq: worker: %w", err)
	}
	w := &Worker{
		client: c, store: c.store, queue: q, cfg: defaultWorkerConfig(q), log: c.log, own: c.userLog, now: c.now,
		random: rand.Float64, handlers: map[string]handler{}, groups: map[string]func(*ActiveJob) string{},
	}
	for _, o := range opts {
		o.applyWorker(&w.cfg)
	}
	if w.cfg.log != nil {
		w.own, w.log = w.cfg.log, guard.Logger(w.cfg.log)
	}
	if err := w.cfg.validate(q.Name); err != nil {
		return nil, err
	}
	w.observer = observer{w.cfg.hooks, hookqueue.New(w.log)}
	w.engine = engine.New(w.engineConfig())
	return w, nil
}

// NewHandlingWorker returns a worker of a queue whose handlers register adds. It is
// what generated functions such as NewEmailsWorker call: H is the interface of the
// queue's handlers, and register the generated HandleEmails.
func NewHandlingWorker[H any](c *Client, q *QueueSpec, register func(*Worker, H), h H, opts ...WorkerOption) (*Worker, error) {
	w, err := NewWorker(c, q, opts...)
	if err != nil {
		return nil, err
	}
	if any(h) == nil {
		return nil, storage.Invalid("bullmq: worker of queue %q: the handler is nil", q.Name)
	}
	register(w, h)
	return w, nil
}

// engineConfig returns what the worker's engine must know.
func (w *Worker) engineConfig() engine.Config {
	c := &w.cfg
	e := engine.Config{
		Queue: w.queue.Name, Store: w.store, Program: program{w}, Observer: w.observer, Hooks: w.observer.queue, Log: w.log, Now: w.now,
		ID: uuid.NewString(), Worker: c.name, Capacity: c.concurrency, MaxBatch: c.maxBatch, Prefetch: c.prefetch,
		HandlerTime: c.handlerTime, CallTime: c.callTime,
		Lock: c.lock, RenewEvery: c.renewEvery, DrainDelay: c.drainDelay, MaxStalled: c.maxStalled, MaxStarts: c.maxStarted,
		GroupLimit: storage.RateLimit(c.groupLimit), MaxLimitDelay: c.maxLimitDelay, Grace: c.grace, MetricPoints: c.metricPoints,
		SetBack: c.setBack, NoCancel: c.noCancel,
	}
	if !c.noStalledCheck {
		e.StalledInterval = c.stalledInterval
	}
	if c.limit.Max > 0 {
		e.Limit = &storage.RateLimit{Max: c.limit.Max, Per: c.limit.Per}
	}
	return e
}

// register adds a handler under names. It is called by Task.Handle, whose
// errors are kept until the worker starts.
func (w *Worker) register(err error, h handler, group func(*ActiveJob) string, names ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		err = errors.Join(err, fmt.Errorf("task %q: the worker has started: add handlers before", names[0]))
	}
	h, wrong := w.wrap(h)
	if err = errors.Join(err, wrong); err != nil {
		w.errs = append(w.errs, err)
		return
	}
	for _, n := range names {
		if w.handlers[n] != nil {
			w.errs = append(w.errs, fmt.Errorf("two handlers for task %q", n))
			continue
		}
		w.handlers[n], w.groups[n] = h, group
	}
}

// ready marks the worker as started, or reports what keeps it from starting.
func (w *Worker) ready() error {
	if err := errors.Join(w.problems(), w.store.Usable(w.queue.Name)); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		return w.twice()
	}
	w.started = true
	return nil
}

func (w *Worker) twice() error {
	return storage.Invalid("bullmq: worker of queue %q was started before: make a new one", w.queue.Name)
}

// problems reports what keeps the worker from starting.
func (w *Worker) problems() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		return w.twice()
	}
	p := problems{list: slices.Clone(w.errs)}
	if len(w.handlers) == 0 && len(w.errs) == 0 {
		p.add("no handlers: pass the worker to a generated Handle function first")
	}
	var missing []string
	for _, n := range w.queue.Tasks {
		if w.handlers[n] == nil {
			missing = append(missing, n)
		}
	}
	if len(missing) > 0 && !w.cfg.partial && len(w.handlers) > 0 {
		p.add("no handler for %s, whose jobs this worker would fail: handle all tasks of the queue, or say AllowPartial", strings.Join(missing, ", "))
	}
	return p.wrap("worker of queue %q", w.queue.Name)
}

// Queue is the name of the worker's queue.
func (w *Worker) Queue() string { return w.queue.Name }

// Running returns how many handlers run now.
func (w *Worker) Running() int { return w.engine.State().Running }

// SetConcurrency changes how many jobs run at once, at least 1. Jobs that run
// go on when it is lowered.
func (w *Worker) SetConcurrency(n int) error {
	if n < 1 {
		return storage.Invalid("bullmq: concurrency must be at least 1, not %d", n)
	}
	w.engine.SetCapacity(n)
	return nil
}

// Pause makes this worker take no jobs until Resume. Running ones go on; other
// workers do not notice. To pause a queue for all workers, see Queue.Pause.
func (w *Worker) Pause() { w.engine.SetPaused(true) }

// Resume undoes Pause. It is an error when the worker stops or has stopped.
func (w *Worker) Resume() error {
	if !w.engine.SetPaused(false) {
		return fmt.Errorf("bullmq: resume of a worker of queue %q: %w", w.queue.Name, ErrClosed)
	}
	return nil
}

// Cancel ends the context of a job that runs on this worker, with ErrCancelled as
// its cause, and reports whether there is one. If its handler then returns an
// error, the job fails permanently. For a job that runs on any worker, see
// Queue.Cancel.
func (w *Worker) Cancel(id string) bool { return w.engine.Cancel(id) }
