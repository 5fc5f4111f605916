package bullmq

import (
	"context"
	"errors"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/lanes"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Manual takes the jobs of a queue and finishes them by hand, for programs
// that cannot use a Worker: nothing is run, renewed or recovered in the
// background. It belongs to one goroutine.
type Manual struct {
	worker *Worker
	waiter storage.Waiter
	found  bool // the last look found a job, or there was none yet
	due    time.Time
}

// NewManual returns a Manual of a queue. Of the options those count that are
// about taking and finishing: WorkerName, LockDuration, Limit, Metrics,
// KeepFinished, MaxStartedAttempts and WithBackoffStrategy.
func NewManual(c *Client, queue string, opts ...WorkerOption) (*Manual, error) {
	w, err := NewWorker(c, &QueueSpec{Name: queue}, opts...)
	if err != nil {
		return nil, err
	}
	w.engine.BeginManual()
	return &Manual{worker: w, waiter: w.store.NewWaiter(queue, w.cfg.name), found: true}, nil
}

// Take takes the next job, and waits for one until ctx ends. The job is locked
// for the lock duration: extend it in time, or another worker gets the job.
// Finish a job whose Record().Deferred is not empty with that as its error, and do
// not process it.
func (m *Manual) Take(ctx context.Context) (*ActiveJob, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if m.found {
			jobs, err := m.TakeNow(ctx, 1)
			if err != nil || len(jobs) > 0 {
				return first(jobs), err
			}
			continue
		}
		if err := m.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// TakeNow takes up to n jobs, at least 1, without waiting.
func (m *Manual) TakeNow(ctx context.Context, n int) ([]*ActiveJob, error) {
	if n < 1 {
		return nil, storage.Invalid("bullmq: take at least 1 job, not %d", n)
	}
	w := m.worker
	taken, reply, err := w.engine.Take(ctx, n)
	if err != nil {
		return nil, err
	}
	var jobs []*ActiveJob
	for _, r := range taken {
		j := typed(r)
		if err := m.begin(ctx, j); err != nil {
			if len(jobs) == 0 && len(taken) == 1 {
				return nil, err
			}
			w.engine.Report(err)
			continue
		}
		jobs = append(jobs, j)
	}
	m.found, m.due = len(jobs) > 0, reply.Due
	if reply.Limited > 0 {
		m.due = w.now().Add(min(reply.Limited, w.cfg.maxLimitDelay))
	}
	return jobs, nil
}

// begin does for a job that was taken what comes before it is processed. A job of a
// schedule that cannot go on now is put back, as whoever takes it next tries again.
func (m *Manual) begin(ctx context.Context, j *ActiveJob) error {
	if j.ScheduleID == "" {
		return nil
	}
	err := m.worker.keepSchedule(ctx, j)
	if err == nil {
		return nil
	}
	if _, problem := m.worker.engine.Settle(context.WithoutCancel(ctx), &j.run, j.run.PutBack()); problem != nil {
		return errors.Join(err, problem)
	}
	return err
}

// wait waits until there may be a job.
func (m *Manual) wait(ctx context.Context) error {
	d := m.worker.cfg.drainDelay
	if !m.due.IsZero() {
		d = min(m.due.Sub(m.worker.now()), lanes.MaxWait)
	}
	if d > 0 {
		due, err := m.waiter.Wait(ctx, d)
		if err != nil {
			m.found = true // a wake-up that was lost is not repeated
			return err
		}
		if due.After(m.worker.now()) {
			m.due = due
			return nil
		}
	}
	m.found = true
	return nil
}

func first(jobs []*ActiveJob) *ActiveJob {
	if len(jobs) == 0 {
		return nil
	}
	return jobs[0]
}

// Extend makes a job's lock last for the lock duration from now. ErrLockLost:
// the job is another worker's by now, or nobody's.
func (m *Manual) Extend(ctx context.Context, j *ActiveJob) error {
	if err := j.usable(); err != nil {
		return err
	}
	return m.worker.engine.Extend(ctx, &j.run)
}

// Finish does for a job what a worker does when a handler returns: with a nil
// error the job is completed with the result, which the codec of the task that
// decoded it encodes, else it is retried, delayed, put
// back or failed, as the error and the job's options say.
func (m *Manual) Finish(ctx context.Context, j *ActiveJob, result any, err error) error {
	if uerr := j.usable(); uerr != nil {
		return uerr
	}
	var value []byte
	if err == nil {
		var problem error
		if value, problem = j.code.encodeResult(j.Queue, result); problem != nil {
			return storage.Invalid("bullmq: result of job %q: %w", j.ID, problem)
		}
	}
	refused, problem := m.worker.engine.Finish(ctx, &j.run, value, err)
	if problem != nil {
		return problem
	}
	return refused
}

// Close ends a Take under way, and the connection that it waits on. Jobs that
// are not finished are recovered by workers when their locks run out.
func (m *Manual) Close() error { return m.waiter.Close() }
