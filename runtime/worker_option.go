package bullmq

import (
	"log/slog"
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/runner"
)

// WorkerOption changes a worker.
type WorkerOption interface{ applyWorker(*workerConfig) }

type workerOption func(*workerConfig)

func (f workerOption) applyWorker(c *workerConfig) { f(c) }

type workerConfig struct {
	name                      string
	log                       *slog.Logger
	concurrency               int
	ownConcurrency            bool // said by an option
	lock                      time.Duration
	renewEvery                time.Duration // 0: a quarter of lock
	drainDelay                time.Duration
	stalledInterval           time.Duration
	maxStalled                int
	noStalledCheck            bool
	maxStarted                int
	limit                     RateLimit
	maxLimitDelay             time.Duration
	grace                     time.Duration
	metricPoints              int
	keepCompleted, keepFailed *Retention
	strategies                map[string]BackoffStrategy
	hooks                     Hooks
	middleware                []HandleMiddleware
	taskMiddleware            []taskMiddleware
	partial                   bool
	noCancel                  bool
	groupLimit                RateLimit
	groupKey                  func(*ActiveJob) string
	maxBatch                  int
	setBack                   time.Duration
	prefetch                  int
	handlerTime, callTime     time.Duration
}

func defaultWorkerConfig(q *QueueSpec) workerConfig {
	return workerConfig{
		concurrency: max(1, q.Concurrency), lock: 30 * time.Second, drainDelay: 5 * time.Second,
		stalledInterval: 30 * time.Second, maxStalled: 1, limit: q.Limit, maxLimitDelay: 30 * time.Second,
		grace: 25 * time.Second, strategies: map[string]BackoffStrategy{}, maxBatch: engine.DefaultMaxBatch, setBack: runner.SetBackFor,
		groupLimit: q.GroupLimit,
	}
}

// Concurrency is how many jobs the worker runs at once; default: what the
// queue's declaration says, or 1.
func Concurrency(n int) WorkerOption {
	return workerOption(func(c *workerConfig) { c.concurrency, c.ownConcurrency = n, true })
}

// WorkerName is a name for this worker: it is kept with each job that it
// takes, and shown by Queue.Workers on either side. No spaces.
func WorkerName(name string) WorkerOption {
	return workerOption(func(c *workerConfig) { c.name = name })
}

// WorkerLogger makes the worker log to l instead of the client's logger.
func WorkerLogger(l *slog.Logger) WorkerOption {
	return workerOption(func(c *workerConfig) { c.log = l })
}

// LockDuration is how long a job stays this worker's when the worker vanishes;
// default 30 seconds, at least 100 milliseconds. Locks of running jobs are
// renewed well before.
func LockDuration(d time.Duration) WorkerOption {
	return workerOption(func(c *workerConfig) { c.lock = d })
}

// StalledCheck is how often jobs of vanished workers are looked for, in all
// processes of the queue together (default: every 30 seconds), and how often
// one job may be found before it is failed (default: 1).
func StalledCheck(every time.Duration, maxStalls int) WorkerOption {
	return workerOption(func(c *workerConfig) { c.stalledInterval, c.maxStalled = every, maxStalls })
}

// NoStalledCheck leaves looking for jobs of vanished workers to other workers.
func NoStalledCheck() WorkerOption {
	return workerOption(func(c *workerConfig) { c.noStalledCheck = true })
}

// MaxStartedAttempts fails a job that was started more often than n, whatever became of
// the earlier runs; 0: no limit.
func MaxStartedAttempts(n int) WorkerOption {
	return workerOption(func(c *workerConfig) { c.maxStarted = n })
}

// Limit is a rate limit for starting jobs: at most n in each window of per,
// counted over all workers of the queue that have one. A limit set on the
// queue itself comes before it. The zero RateLimit: none.
func Limit(n int, per time.Duration) WorkerOption {
	return workerOption(func(c *workerConfig) { c.limit = RateLimit{Max: n, Per: per} })
}

// MaxLimitDelay is the longest time for which a worker that is held back by a
// rate limit does not look at the queue; default 30 seconds. When it looks,
// delayed jobs that are due are made to wait, and the end of a limit is noticed.
func MaxLimitDelay(d time.Duration) WorkerOption {
	return workerOption(func(c *workerConfig) { c.maxLimitDelay = d })
}

// GracePeriod is how long running handlers may go on after a stop before their
// contexts are cancelled; default 25 seconds. Stop's context may cut it short.
// With the 3 seconds that handlers then have to return, the default fits into the
// 30 seconds between SIGTERM and the end of a Kubernetes pod.
func GracePeriod(d time.Duration) WorkerOption {
	return workerOption(func(c *workerConfig) { c.grace = d })
}

// Metrics makes the worker count finished jobs by the minute and keep the last
// n minutes; default 0: nothing is counted.
func Metrics(n int) WorkerOption { return workerOption(func(c *workerConfig) { c.metricPoints = n }) }

// KeepFinished says what is kept of completed and failed jobs that do not say
// so themselves; nil: everything.
func KeepFinished(completed, failed *Retention) WorkerOption {
	return workerOption(func(c *workerConfig) { c.keepCompleted, c.keepFailed = completed, failed })
}

// WithBackoffStrategy registers a backoff strategy under the name that jobs have as
// their Backoff.Type.
func WithBackoffStrategy(name string, s BackoffStrategy) WorkerOption {
	return workerOption(func(c *workerConfig) { c.strategies[name] = s })
}

// AllowPartial lets the worker start without handlers for some tasks of its
// queue. Jobs without handler fail as unrecoverable: a queue's job goes to any
// of its workers.
func AllowPartial() WorkerOption { return workerOption(func(c *workerConfig) { c.partial = true }) }

// NoRemoteCancel makes the worker not listen for Queue.Cancel, and saves the
// connection that it does that on.
func NoRemoteCancel() WorkerOption { return workerOption(func(c *workerConfig) { c.noCancel = true }) }

// Prefetch lets the worker take up to n jobs before it has capacity for them, so
// that a handler that returns need not wait for an answer of the storage before
// the next one runs. Default 0: none. It is for handlers of a few milliseconds, or
// for a storage that is far away: the worker prefetches no more jobs than its
// handlers finish in the time of two calls, so none while handlers take long.
//
// Prefetched jobs are active and locked, for peers and counts as much as those
// that run, and a job of higher priority that is added later runs after them.
// They go back, to the head of the queue and without a start being counted, when
// the worker stops or is paused, or when no handler returned for a quarter of the
// lock duration. A worker of a WorkerPool cannot have Prefetch.
func Prefetch(n int) WorkerOption { return workerOption(func(c *workerConfig) { c.prefetch = n }) }

// GroupLimit is a rate limit for each group of jobs by itself, such as each
// tenant: at most n of a group start in each window of per. A job over its
// group's limit is delayed to a window that has room, without counting an
// attempt, and uses no capacity meanwhile, so that one group cannot keep others
// from running. Windows go to the jobs of a group in the order in which workers
// ask for them: jobs that are taken at the same moment may change places. Key
// returns the group of a job; empty: none, and no limit. A nil key: the value of
// the payload's field that is declared as the group. The limit holds for jobs that
// Go workers with this option take; Node workers know no groups and run such jobs
// as they come.
func GroupLimit(n int, per time.Duration, key func(*ActiveJob) string) WorkerOption {
	return workerOption(func(c *workerConfig) { c.groupLimit, c.groupKey = RateLimit{Max: n, Per: per}, key })
}

// WithHooks calls functions when something happens on this worker.
func WithHooks(h Hooks) WorkerOption { return workerOption(func(c *workerConfig) { c.hooks = h }) }

// renewEvery is how often locks are renewed, whatever they last; for tests, which
// then see renewals soon of locks that no slow machine loses.
func renewEvery(d time.Duration) WorkerOption {
	return workerOption(func(c *workerConfig) { c.renewEvery = d })
}

// drainDelay is how long an idle worker waits for the marker before it looks anyway; for tests.
func drainDelay(d time.Duration) WorkerOption {
	return workerOption(func(c *workerConfig) { c.drainDelay = d })
}

// setBackTime is how long a job waits that the storage did not serve; for tests.
func setBackTime(d time.Duration) WorkerOption {
	return workerOption(func(c *workerConfig) { c.setBack = d })
}

// measured is how long handlers and calls take until some have been measured; for
// tests of Prefetch.
func measured(handler, call time.Duration) WorkerOption {
	return workerOption(func(c *workerConfig) { c.handlerTime, c.callTime = handler, call })
}

// batchLimit is the most jobs that one call settles or takes; for tests.
func batchLimit(n int) WorkerOption { return workerOption(func(c *workerConfig) { c.maxBatch = n }) }

func (c *workerConfig) validate(queue string) error {
	var p problems
	if c.concurrency < 1 {
		p.add("concurrency must be at least 1, not %d", c.concurrency)
	}
	if strings.ContainsAny(c.name, " \t\r\n") {
		p.add("worker name %q must not contain spaces: it names a connection", c.name)
	}
	if c.lock < 100*time.Millisecond {
		p.add("lock duration must be at least 100ms, not %v", c.lock)
	}
	if c.stalledInterval < time.Millisecond || c.maxStalled < 0 {
		p.add("stalled check needs an interval of at least 1ms and 0 or more stalls, not %v and %d", c.stalledInterval, c.maxStalled)
	}
	if c.maxLimitDelay < time.Millisecond {
		p.add("max limit delay must be at least 1ms, not %v", c.maxLimitDelay)
	}
	if c.prefetch < 0 {
		p.add("prefetch must be 0 or more, not %d", c.prefetch)
	}
	if c.maxStarted < 0 || c.metricPoints < 0 || c.grace < 0 {
		p.add("max starts, metrics and grace period must not be negative")
	}
	for name, s := range c.strategies {
		if name == "" || name == "fixed" || name == "exponential" || s == nil {
			p.add("backoff strategy %q: needs a function, and a name other than fixed and exponential", name)
		}
	}
	c.checkMiddleware(queue, &p)
	p.rateLimit(c.limit)
	p.rateLimit(c.groupLimit)
	p.retention("keep completed", c.keepCompleted)
	p.retention("keep failed", c.keepFailed)
	return p.wrap("worker of queue %q", queue)
}
