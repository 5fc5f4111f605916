package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

var workerOps = ops{
	"worker.start": act((*peer).startWorker),
	"worker.pause": act(func(p *peer, a workerArgs) error {
		return p.withWorker(a, func(w *worker) error { w.Pause(); return nil })
	}),
	"worker.resume": act(func(p *peer, a workerArgs) error {
		return p.withWorker(a, func(w *worker) error { return w.Resume() })
	}),
	"worker.close": act((*peer).closeWorker),
	"worker.setConcurrency": act(func(p *peer, a struct {
		workerArgs
		Concurrency int
	}) error {
		return p.withWorker(a.workerArgs, func(w *worker) error { return w.SetConcurrency(a.Concurrency) })
	}),
	"worker.rateLimit": act(func(p *peer, a struct {
		workerArgs
		MS float64
	}) error {
		return p.withWorker(a.workerArgs, func(w *worker) error {
			return p.client.Queue(w.Queue()).RateLimit(background, millis(a.MS))
		})
	}),
	"worker.cancelJob": ask(func(p *peer, a struct {
		workerArgs
		ID string
	}) (ok bool, err error) {
		err = p.withWorker(a.workerArgs, func(w *worker) error { ok = w.Cancel(a.ID); return nil })
		return ok, err
	}),
	"worker.release": act(func(p *peer, a struct{ Key string }) error { p.holds.release(a.Key); return nil }),
}

type workerArgs struct {
	Worker string
}

// worker is a worker under the name that requests have for it.
type worker struct {
	*bullmq.Worker
	key string
}

func (p *peer) withWorker(a workerArgs, f func(*worker) error) error {
	p.mu.Lock()
	w := p.workers[a.Worker]
	p.mu.Unlock()
	if w == nil {
		return fmt.Errorf("no worker %s was started", a.Worker)
	}
	return f(w)
}

// workerOptions are options of a worker as Node programs write them, and one
// that these do not know.
type workerOptions struct {
	Name               string
	Concurrency        int
	LockDuration       float64
	StalledInterval    float64
	MaxStalledCount    *int
	MaxStartedAttempts int
	SkipStalledCheck   bool
	Limiter            *struct {
		Max      int
		Duration float64
	}
	Metrics *struct{ MaxDataPoints int }

	Prefetch int

	RemoveOnComplete, RemoveOnFail json.RawMessage
}

// startArgs begin a worker: its options, waits of named strategies of backoff,
// and for each name of a job what its handler does.
type startArgs struct {
	queueArgs
	workerArgs
	Opts     json.RawMessage
	Backoff  map[string][]float64
	Handlers map[string]script
}

// options turns the request into options of this runtime.
func (a *startArgs) options() ([]bullmq.WorkerOption, error) {
	var o workerOptions
	dec := json.NewDecoder(strings.NewReader(string(orText(a.Opts, "{}"))))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		return nil, errNotOffered{"a worker with options " + string(a.Opts) + " (" + err.Error() + ")"}
	}
	out := []bullmq.WorkerOption{bullmq.AllowPartial(), bullmq.WorkerName(o.Name), bullmq.MaxStartedAttempts(o.MaxStartedAttempts), bullmq.Prefetch(o.Prefetch)}
	if o.Concurrency > 0 {
		out = append(out, bullmq.Concurrency(o.Concurrency))
	}
	if o.LockDuration > 0 {
		out = append(out, bullmq.LockDuration(millis(o.LockDuration)))
	}
	if o.SkipStalledCheck {
		out = append(out, bullmq.NoStalledCheck())
	}
	if every, most := o.stalled(); every > 0 {
		out = append(out, bullmq.StalledCheck(every, most))
	}
	if o.Limiter != nil {
		out = append(out, bullmq.Limit(o.Limiter.Max, millis(o.Limiter.Duration)))
	}
	if o.Metrics != nil {
		out = append(out, bullmq.Metrics(o.Metrics.MaxDataPoints))
	}
	for name, waits := range a.Backoff {
		out = append(out, bullmq.WithBackoffStrategy(name, func(attempt int, _ *bullmq.ActiveJob, _ error) time.Duration {
			return millis(waits[min(attempt, len(waits))-1])
		}))
	}
	completed, err := parseRetention(o.RemoveOnComplete)
	if err != nil {
		return nil, err
	}
	failed, err := parseRetention(o.RemoveOnFail)
	return append(out, bullmq.KeepFinished(completed, failed)), err
}

// stalled is the interval of the stalled check and how often a job may stall,
// if the options say one of them.
func (o *workerOptions) stalled() (time.Duration, int) {
	if o.StalledInterval == 0 && o.MaxStalledCount == nil {
		return 0, 0
	}
	every, most := defaultStalledInterval, defaultMaxStalled
	if o.StalledInterval > 0 {
		every = millis(o.StalledInterval)
	}
	if o.MaxStalledCount != nil {
		most = *o.MaxStalledCount
	}
	return every, most
}

const (
	defaultStalledInterval = 30 * time.Second
	defaultMaxStalled      = 1
)

func (p *peer) startWorker(a startArgs) error {
	opts, err := a.options()
	if err != nil {
		return err
	}
	opts = append(opts, bullmq.WithHooks(p.hooks(a.Worker, a.Queue)))
	made, err := bullmq.NewWorker(p.client, &bullmq.QueueSpec{Name: a.Queue}, opts...)
	if err != nil {
		return err
	}
	w := &worker{made, a.Worker}
	for name, s := range a.Handlers {
		raw(a.Queue, name).Handle(made, p.handler(w, s))
	}
	p.mu.Lock()
	taken := p.workers[a.Worker] != nil
	if !taken {
		p.workers[a.Worker] = w
	}
	p.mu.Unlock()
	if taken {
		return fmt.Errorf("worker %s was started already", a.Worker)
	}
	return made.Start(background)
}

func (p *peer) closeWorker(a struct {
	workerArgs
	Force bool
}) error {
	return p.withWorker(a.workerArgs, func(w *worker) error {
		p.mu.Lock()
		delete(p.workers, a.Worker)
		p.mu.Unlock()
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		if a.Force {
			cancel()
		}
		return w.Stop(ctx)
	})
}

// workerEvent is what a worker of this peer tells.
type workerEvent struct {
	Event    string          `json:"event"`
	Worker   string          `json:"worker"`
	Queue    string          `json:"queue"`
	Name     string          `json:"name"`
	ID       string          `json:"id,omitempty"`
	Job      *job            `json:"job,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Progress json.RawMessage `json:"progress,omitempty"`
	Error    *failure        `json:"error,omitempty"`
}

// hooks make event lines of what happens on a worker.
func (p *peer) hooks(key, queue string) bullmq.Hooks {
	tell := func(name string, j *bullmq.ActiveJob, more func(*workerEvent)) {
		e := workerEvent{Event: "worker", Worker: key, Queue: queue, Name: name}
		if j != nil {
			e.Job, _ = viewJob(j.Record())
		}
		if more != nil {
			more(&e)
		}
		p.out.write(e)
	}
	return bullmq.Hooks{
		Active: func(j *bullmq.ActiveJob) { tell("active", j, nil) },
		Completed: func(j *bullmq.ActiveJob, result []byte) {
			tell("completed", j, func(e *workerEvent) { e.Result = result })
		},
		Failed: func(j *bullmq.ActiveJob, err error, _ bool) {
			tell("failed", j, func(e *workerEvent) { e.Error = failureOf(err) })
		},
		Progress: func(j *bullmq.ActiveJob, progress []byte) {
			tell("progress", j, func(e *workerEvent) { e.Progress = progress })
		},
		Stalled:  func(id string) { tell("stalled", nil, func(e *workerEvent) { e.ID = id }) },
		LockLost: func(j *bullmq.ActiveJob) { tell("lockLost", j, nil) },
		Error: func(err error) {
			tell("error", nil, func(e *workerEvent) { e.Error = failureOf(err) })
		},
	}
}
