package bullmq

import (
	"context"
	"errors"
	"time"

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
	w.handlerCtx = context.Background()
	return &Manual{worker: w, waiter: w.store.NewWaiter(queue, w.cfg.name), found: true}, nil
}

// Take takes the next job, and waits for one until ctx ends. The job is locked
// for the lock duration: extend it in time, or another worker gets the job.
// A job whose Record().Deferred is not empty is to be finished with that as
// its error, and not to be worked.
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
	c := call{asked: n}
	w.pump.request(&c)
	at := time.Now()
	// An answer that is thrown away may hold jobs: the call is not cut off.
	reply, err := w.store.Settle(context.WithoutCancel(ctx), w.queue.Name, &c.req)
	if err != nil {
		return nil, err
	}
	var jobs []*ActiveJob
	for _, r := range reply.Jobs {
		j := w.newActiveJob(r, c.req.Token, at)
		if err := m.begin(ctx, j); err != nil {
			if len(jobs) == 0 && len(reply.Jobs) == 1 {
				return nil, err
			}
			w.report(err)
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

// begin does for a job that was taken what comes before its work. A job of a
// schedule that cannot go on now is put back, as whoever takes it next tries again.
func (m *Manual) begin(ctx context.Context, j *ActiveJob) error {
	if j.ScheduleID == "" {
		return nil
	}
	err := m.worker.keepSchedule(ctx, j)
	if err == nil {
		return nil
	}
	back := storage.Settlement{ID: j.ID, Token: j.token, Kind: storage.BackToWait, Unstarted: true}
	if _, problem := m.settle(context.WithoutCancel(ctx), j, back); problem != nil {
		return errors.Join(err, problem)
	}
	return err
}

// settle stores the outcome of a job. While the storage is away it tries again, as
// long as the job's lock lasts.
func (m *Manual) settle(ctx context.Context, j *ActiveJob, end storage.Settlement) (refused, err error) {
	w := m.worker
	var c call
	w.pump.request(&c)
	c.req.Settle = []storage.Settlement{end}
	var reply *storage.SettleReply
	err = j.insist(ctx, settleAndTake, false, func(ctx context.Context) (err error) {
		reply, err = w.store.Settle(ctx, w.queue.Name, &c.req)
		c.req.Again = true
		return err
	})
	if err != nil {
		return nil, err
	}
	if reply.Errs[0] == nil {
		j.state.Store(jobGone)
	}
	return reply.Errs[0], nil
}

// wait waits until there may be a job.
func (m *Manual) wait(ctx context.Context) error {
	d := m.worker.cfg.drainDelay
	if !m.due.IsZero() {
		d = min(m.due.Sub(m.worker.now()), maxWait)
	}
	if d > 0 {
		due, err := m.waiter.Wait(ctx, d)
		if err != nil {
			m.found = true // what was told meanwhile is not told twice
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
	w := m.worker
	at := time.Now()
	lost, err := w.store.Renew(ctx, w.queue.Name, []storage.Lock{{ID: j.ID, Token: j.token}}, w.cfg.lock)
	switch {
	case err != nil:
		return err
	case len(lost) > 0:
		return &storage.Error{Op: "extend lock", Queue: w.queue.Name, Job: j.ID, Err: ErrLockLost}
	}
	w.pump.renewed([]*ActiveJob{j}, at)
	return nil
}

// Finish does for a job what a worker does when a handler returns: with a nil
// error the job is completed with the result, which the codec of the task that
// decoded it encodes, else it is retried, delayed, put
// back or failed, as the error and the job's options say.
func (m *Manual) Finish(ctx context.Context, j *ActiveJob, result any, err error) error {
	if uerr := j.usable(); uerr != nil {
		return uerr
	}
	w := m.worker
	var value []byte
	if err == nil {
		var problem error
		if value, problem = j.code.encodeResult(j.Queue, result); problem != nil {
			return storage.Invalid("bullmq: result of job %q: %w", j.ID, problem)
		}
	}
	end := decide(&ending{
		job: j, value: value, err: err, now: w.now(), starts: w.cfg.maxStarted, setBack: w.cfg.setBack,
		keepCompleted: w.cfg.keepCompleted, keepFailed: w.cfg.keepFailed,
		delay: w.backoff,
	})
	if herr := w.hold(ctx, j, err); herr != nil {
		return herr
	}
	refused, err := m.settle(ctx, j, end)
	if err != nil {
		return err
	}
	return refused
}

// Close ends a Take under way, and the connection that it waits on. Jobs that
// are not finished are recovered by workers when their locks run out.
func (m *Manual) Close() error { return m.waiter.Close() }
