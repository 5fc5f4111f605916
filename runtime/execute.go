package bullmq

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// newActiveJob makes a job of what the storage returned.
func (w *Worker) newActiveJob(r *storage.Record, token string, taken time.Time) *ActiveJob {
	j := &ActiveJob{
		ID: r.ID, Name: r.Name, Queue: w.queue.Name, Attempt: r.AttemptsMade + 1, Starts: r.AttemptsStarted,
		Stalls: r.StalledCount, Timestamp: r.Timestamp, Priority: r.Priority, ScheduleID: r.ScheduleID,
		record: r, worker: w, token: token, taken: taken,
	}
	j.Options, j.err = w.options.parse(r.Opts)
	j.Attempts = max(1, j.Options.Attempts)
	j.own.job, j.own.parent, j.ctx = j, w.handlerCtx, &j.own
	return j
}

// execute runs a job, decides what becomes of it and hands that to the pump.
// Whatever the handler does, or a method of the error that it returns, a panic or
// runtime.Goexit included, its slot is free afterwards.
func (w *Worker) execute(j *ActiveJob) {
	decided := false
	defer func() {
		if !decided {
			r := recover()
			if j.err = left(r, j.err); r == nil && j.undone.Load() {
				j.err = Unrecoverable(fmt.Errorf("%w, in a method or codec that encodes a result", j.err))
			}
			j.end = w.decide(j, nil, j.err)
		}
		j.own.end(nil)
		w.pump.finish(j)
	}()
	var value []byte
	value, j.err = w.call(j)
	j.end = w.decide(j, value, j.err)
	decided = true
}

// left makes an error of how a handler left without returning, or a method of the
// error that it returned.
func left(r any, returned error) error {
	what := ""
	switch {
	case returned != nil:
		what = fmt.Sprintf("a method of the error that the handler returned, a %T,", returned)
	case r == nil:
		what = "the handler"
	}
	return &guard.Panic{What: what, Value: r, Stack: string(debug.Stack())}
}

// call runs the job's handler, if it is to be run at all.
func (w *Worker) call(j *ActiveJob) ([]byte, error) {
	if j.ScheduleID != "" {
		if err := w.keepSchedule(w.handlerCtx, j); err != nil {
			return nil, err
		}
	}
	if err := w.refuse(j); err != nil {
		return nil, Unrecoverable(err)
	}
	if t := j.Options.Timeout; t > 0 {
		limited, cancel := context.WithTimeoutCause(j.ctx, t, ErrTimeout)
		j.timed = cancel // when it is decided: the cause counts
		j.ctx = limited
	}
	w.hooks.active(j)
	value, err := w.handlers[j.Name](j.ctx, j)
	if err == nil {
		return value, nil
	}
	if herr := w.hold(context.WithoutCancel(j.ctx), j, err); herr != nil {
		w.report(fmt.Errorf("bullmq: rate limit of queue %q: %w", j.Queue, herr))
	}
	return nil, err
}

// hold sets the rate limit that a handler asked for with RateLimited. It does
// so before the job is put back: no worker must take it at once.
func (w *Worker) hold(ctx context.Context, j *ActiveJob, err error) error {
	var m *moved
	if !errors.As(err, &m) || m.limit <= 0 {
		return nil
	}
	return j.insist(ctx, setALimit, false, func(ctx context.Context) error { return w.store.RateLimit(ctx, j.Queue, m.limit) })
}

// refuse tells why a job is failed without being run, or nil.
func (w *Worker) refuse(j *ActiveJob) error {
	switch {
	case errors.Is(j.own.cause(), ErrCancelled): // before there was a slot for it
		return ErrCancelled
	case j.record.Deferred != "":
		return errors.New(j.record.Deferred)
	case w.cfg.maxStarted > 0 && j.Starts > w.cfg.maxStarted:
		return errors.New("job started more than allowable limit")
	case j.record.Missing || j.Name == "" && w.handlers[""] == nil:
		return fmt.Errorf("job %q on queue %q has no name and data: it was removed while it was listed", j.ID, j.Queue)
	case j.err != nil:
		return j.err
	case w.handlers[j.Name] == nil:
		return fmt.Errorf("no handler for task %q on queue %q (job %q)", j.Name, j.Queue, j.ID)
	case j.Options.TTL > 0 && j.Starts <= 1 && w.now().Sub(j.Timestamp.Add(j.Options.Delay)) > j.Options.TTL:
		return fmt.Errorf("%w: it waited longer than %v", ErrExpired, j.Options.TTL)
	}
	return nil
}

// decide decides what becomes of a job whose handler has ended.
func (w *Worker) decide(j *ActiveJob, value []byte, err error) storage.Settlement {
	cause := j.own.cause()
	if j.ctx != &j.own {
		cause = context.Cause(j.ctx)
	}
	if j.timed != nil {
		j.timed()
	}
	return decide(&ending{
		job: j, value: value, err: err, cause: cause, now: w.now(), starts: w.cfg.maxStarted, setBack: w.cfg.setBack,
		keepCompleted: w.cfg.keepCompleted, keepFailed: w.cfg.keepFailed, delay: w.backoff,
	})
}

// backoffOf asks the job's backoff, which may be a function of the program's.
func (w *Worker) backoffOf(j *ActiveJob, err error) (time.Duration, error) {
	b := &j.Options.Backoff
	strategy := w.cfg.strategies[b.Type]
	if strategy == nil {
		return w.retryDelay(b, j.Attempt)
	}
	var d time.Duration
	problem := guard.Apart(fmt.Sprintf("backoff strategy %q", b.Type), func() error { d = strategy(j.Attempt, j, err); return nil })
	return d, problem
}

// conclude books the storage's answer to a job's outcome. It is false when the
// outcome was refused and there is another one to be sent.
func (w *Worker) conclude(ctx context.Context, j *ActiveJob, refused error) bool {
	switch {
	case refused == nil:
		j.state.Store(jobGone)
		w.childless.settled(j)
		w.announce(j)
	case errors.Is(refused, ErrPendingChildren) || errors.Is(refused, ErrFailedChildren):
		return w.failInstead(ctx, j, refused)
	case errors.Is(refused, ErrNoChildren):
		j.end = w.childless.again(j, time.Now())
		return false
	case errors.Is(refused, ErrLockLost) || errors.Is(refused, ErrLockMismatch) || errors.Is(refused, ErrJobNotFound):
		j.state.Store(jobGone)
		w.lockLost(ctx, j, refused)
	default:
		j.state.Store(jobGone)
		w.report(refused)
	}
	return true
}

// failInstead makes a refused completion a failed attempt, as peers do.
func (w *Worker) failInstead(ctx context.Context, j *ActiveJob, refused error) bool {
	if j.end.Kind != storage.Completed && !errors.Is(refused, ErrFailedChildren) || j.end.Kind == storage.Failed {
		j.state.Store(jobGone)
		w.report(refused)
		return true
	}
	err := refused
	if errors.Is(refused, ErrFailedChildren) {
		err = Unrecoverable(w.failedChild(ctx, j, refused))
	}
	j.err = err
	j.end = w.decide(j, nil, err)
	return false
}

// failedChild names the child because of which a job fails, as one that fails
// before it is run does.
func (w *Worker) failedChild(ctx context.Context, j *ActiveJob, refused error) error {
	jobs, err := w.store.Jobs(ctx, j.Queue, j.ID)
	if err != nil || jobs[0] == nil || jobs[0].Deferred == "" {
		return refused
	}
	return childFailed(jobs[0].Deferred)
}

// childFailed is why a job fails whose child failed, as it is stored.
type childFailed string

func (e childFailed) Error() string { return string(e) }

// Is reports it as ErrFailedChildren.
func (e childFailed) Is(target error) bool { return target == ErrFailedChildren }

// announce tells hooks and log about a settled job.
func (w *Worker) announce(j *ActiveJob) {
	switch j.end.Kind {
	case storage.Completed:
		w.hooks.completed(j, j.end.Value)
	case storage.Failed:
		w.log.Warn("bullmq: job failed", "queue", j.Queue, "job", j.Name, "id", j.ID, "attempt", j.Attempt, "error", j.end.Reason)
		w.hooks.failed(j, j.err, true)
	case storage.RetryNow, storage.RetryLater:
		w.hooks.failed(j, j.err, false)
	}
}

// lockLost tells that a job is not this worker's any more.
func (w *Worker) lockLost(ctx context.Context, j *ActiveJob, why error) {
	j.own.end(ErrLockLost)
	w.log.WarnContext(ctx, "bullmq: lock lost, the job's outcome is dropped", "queue", j.Queue, "job", j.Name, "id", j.ID, "error", why)
	w.hooks.lockLost(j)
}

func (w *Worker) report(err error) {
	w.log.Error("bullmq: worker", "queue", w.queue.Name, "error", err)
	w.hooks.error(err)
}

// optionCache reads each text of options once: most jobs of a queue have the same.
type optionCache struct {
	mu    sync.RWMutex
	known map[string]*Options
}

// maxCachedOptions bounds the cache; options with ids in them never repeat.
const maxCachedOptions = 1000

func (c *optionCache) parse(text []byte) (*Options, error) {
	c.mu.RLock()
	o := c.known[string(text)]
	c.mu.RUnlock()
	if o != nil {
		return o, nil
	}
	read, err := ParseOptions(text)
	if err != nil {
		return &Options{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCachedOptions {
		c.known = make(map[string]*Options)
	}
	c.known[string(text)] = &read
	return &read, nil
}
