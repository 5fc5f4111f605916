package bullmq

import (
	"context"
	"sync"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/runner"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// program is a worker as its engine sees it: the handlers and functions of the
// program, and what options of jobs mean.
type program struct{ w *Worker }

// NewJob makes a job of what the storage returned.
func (p program) NewJob(r *storage.Record) *runner.Job {
	j := &ActiveJob{
		ID: r.ID, Name: r.Name, Queue: p.w.queue.Name, Attempt: r.AttemptsMade + 1, Starts: r.AttemptsStarted,
		Stalls: r.StalledCount, Timestamp: r.Timestamp, Priority: r.Priority, ScheduleID: r.ScheduleID,
		worker: p.w,
	}
	o, err := p.w.options.parse(r.Opts, &p.w.cfg)
	j.Options, j.Attempts = &o.options, max(1, o.options.Attempts)
	j.run.Policy, j.run.Err, j.run.Typed = &o.policy, err, j
	return &j.run
}

// Handles reports whether the program has a handler for jobs of a name.
func (p program) Handles(name string) bool { return p.w.handlers[name] != nil }

// Handle runs the handler of a job.
func (p program) Handle(ctx context.Context, j *runner.Job) ([]byte, error) {
	a := typed(j)
	return p.w.handlers[a.Name](ctx, a)
}

// AdvanceSchedule adds the job that follows one of a schedule.
func (p program) AdvanceSchedule(ctx context.Context, j *runner.Job) error {
	return p.w.keepSchedule(ctx, typed(j))
}

// Group returns the group whose rate limit a job counts for, as it is stored.
func (p program) Group(j *runner.Job) string {
	key := p.w.cfg.groupKey
	if key == nil {
		key = p.w.groups[j.Record.Name]
	}
	if key == nil {
		return ""
	}
	if group := key(typed(j)); group != "" {
		return DedupKey(group)
	}
	return ""
}

// RetryDelay returns how long a failed job waits for its next attempt.
func (p program) RetryDelay(j *runner.Job, err error) (time.Duration, error) {
	return p.w.backoffOf(typed(j), err)
}

// jobOptions are the options of jobs, and what they mean on one worker.
type jobOptions struct {
	options Options
	policy  runner.Policy
}

// newJobOptions adds what the worker says for jobs whose options do not.
func newJobOptions(o Options, c *workerConfig) *jobOptions {
	return &jobOptions{o, runner.Policy{
		Attempts: o.Attempts, LIFO: o.LIFO, StackTraceLimit: o.StackTraceLimit, Timeout: o.Timeout, TTL: o.TTL, Delay: o.Delay,
		KeepCompleted: retention(o.KeepCompleted, c.keepCompleted), KeepFailed: retention(o.KeepFailed, c.keepFailed),
	}}
}

// retention returns what the job's options say, else what the worker's say, else
// that everything is kept.
func retention(job, worker *Retention) storage.Keep {
	if job == nil {
		return worker.stored()
	}
	return job.stored()
}

// optionCache reads each text of options once: most jobs of a queue have the same.
type optionCache struct {
	mu    sync.RWMutex
	known map[string]*jobOptions
}

// maxCachedOptions bounds the cache; options with ids in them never repeat.
const maxCachedOptions = 1000

// parse reads the options of a job. When they cannot be read, those that it returns
// with the error are the defaults.
func (c *optionCache) parse(text []byte, cfg *workerConfig) (*jobOptions, error) {
	c.mu.RLock()
	o := c.known[string(text)]
	c.mu.RUnlock()
	if o != nil {
		return o, nil
	}
	read, err := ParseOptions(text)
	if err != nil {
		return newJobOptions(Options{}, cfg), err
	}
	o = newJobOptions(read, cfg)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCachedOptions {
		c.known = make(map[string]*jobOptions)
	}
	c.known[string(text)] = o
	return o, nil
}
