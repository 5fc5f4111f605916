package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/ledger"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Execute runs a job, decides what becomes of it, and records that in the ledger.
// Whatever the handler does, or a method of the error that it returns, a panic or
// runtime.Goexit included, its capacity is free afterwards.
func (r *Runner) Execute(held *ledger.Job) {
	j, decided := of(held), false
	defer func() {
		if !decided {
			p := recover()
			if j.Err = left(p, j.Err); p == nil && j.Encoding.Load() {
				j.Err = Unrecoverable(fmt.Errorf("%w, in a method or codec that encodes a result", j.Err))
			}
			j.Outcome = r.Decide(j, nil, j.Err)
		}
		j.own.end(nil)
		r.Ledger.Finish(held)
	}()
	var value []byte
	value, j.Err = r.call(j)
	j.Outcome = r.Decide(j, value, j.Err)
	decided = true
}

// left makes an error of how a handler left without returning, or a method of the
// error that it returned.
func left(panicked any, returned error) error {
	what := ""
	switch {
	case returned != nil:
		what = fmt.Sprintf("a method of the error that the handler returned, a %T,", returned)
	case panicked == nil:
		what = "the handler"
	}
	return &guard.Panic{What: what, Value: panicked, Stack: string(debug.Stack())}
}

// call runs the job's handler, unless something keeps the job from running.
func (r *Runner) call(j *Job) ([]byte, error) {
	if j.Record.ScheduleID != "" {
		if err := r.Program.AdvanceSchedule(r.ctx, j); err != nil {
			return nil, err
		}
	}
	if err := r.refuse(j); err != nil {
		return nil, Unrecoverable(err)
	}
	if t := j.Policy.Timeout; t > 0 {
		limited, cancel := context.WithTimeoutCause(&j.own, t, ErrTimeout)
		j.timeout = &deadline{limited, cancel} // cancelled by Decide: the cause counts
	}
	r.Observer.Active(j)
	ctx := j.handlerContext()
	value, err := r.Program.Handle(ctx, j)
	if err == nil {
		return value, nil
	}
	if problem := r.Hold(context.WithoutCancel(ctx), j, err); problem != nil {
		r.Report(fmt.Errorf("bullmq: rate limit of queue %q: %w", r.Queue, problem))
	}
	return nil, err
}

// Hold sets the rate limit that a handler asked for with its error. It does so
// before the job is put back: no worker must take it immediately.
func (r *Runner) Hold(ctx context.Context, j *Job, err error) error {
	var d *Deferral
	if !errors.As(err, &d) || d.RateLimit <= 0 {
		return nil
	}
	return r.Insist(ctx, j, outage.SetRateLimit, false, func(ctx context.Context) error {
		return r.Store.RateLimit(ctx, r.Queue, d.RateLimit)
	})
}

// refuse returns why a job fails without being run, or nil.
func (r *Runner) refuse(j *Job) error {
	record, policy := j.Record, j.Policy
	switch {
	case errors.Is(j.own.cause(), ErrCancelled): // before there was capacity for it
		return ErrCancelled
	case record.Deferred != "":
		return errors.New(record.Deferred)
	case r.MaxStarts > 0 && record.AttemptsStarted > r.MaxStarts:
		return errors.New("job started more than allowable limit")
	case record.Missing || record.Name == "" && !r.Program.Handles(""):
		return fmt.Errorf("job %q on queue %q has no name and data: it was removed while it was listed", record.ID, r.Queue)
	case j.Err != nil:
		return j.Err
	case !r.Program.Handles(record.Name):
		return fmt.Errorf("no handler for task %q on queue %q (job %q)", record.Name, r.Queue, record.ID)
	case policy.TTL > 0 && record.AttemptsStarted <= 1 && r.Now().Sub(record.Timestamp.Add(policy.Delay)) > policy.TTL:
		return fmt.Errorf("%w: it waited longer than %v", ErrExpired, policy.TTL)
	}
	return nil
}

// Decide decides what becomes of a job whose handler has ended.
func (r *Runner) Decide(j *Job, value []byte, err error) storage.Settlement {
	return decide(&ending{
		job: j, value: value, err: err, cause: j.ended(), now: r.Now(), maxStarts: r.MaxStarts, setBack: r.SetBack,
		delay: r.delay,
	})
}
