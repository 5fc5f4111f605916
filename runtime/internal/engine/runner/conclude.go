package runner

import (
	"context"
	"errors"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/ledger"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Conclude handles the storage's answer to a job's outcome. Refused is why the
// outcome was refused, or nil. Afterwards the job is gone, or has another outcome
// that must be sent.
func (r *Runner) Conclude(ctx context.Context, held *ledger.Job, refused error) {
	j := of(held)
	switch {
	case refused == nil:
		j.SetGone()
		r.childless.settled(j)
		r.announce(j)
	case errors.Is(refused, storage.ErrPendingChildren) || errors.Is(refused, storage.ErrFailedChildren):
		r.failInstead(ctx, j, refused)
	case errors.Is(refused, storage.ErrNoChildren):
		j.Outcome = r.childless.again(j, time.Now())
	case errors.Is(refused, storage.ErrLockLost) || errors.Is(refused, storage.ErrLockMismatch) || errors.Is(refused, storage.ErrJobNotFound):
		j.SetGone()
		r.LoseLock(ctx, held, refused)
	default:
		j.SetGone()
		r.Report(refused)
	}
}

// failInstead makes a refused completion a failed attempt, as peers do.
func (r *Runner) failInstead(ctx context.Context, j *Job, refused error) {
	if j.Outcome.Kind != storage.Completed && !errors.Is(refused, storage.ErrFailedChildren) || j.Outcome.Kind == storage.Failed {
		j.SetGone()
		r.Report(refused)
		return
	}
	err := refused
	if errors.Is(refused, storage.ErrFailedChildren) {
		err = Unrecoverable(r.failedChild(ctx, j, refused))
	}
	j.Err = err
	j.Outcome = r.Decide(j, nil, err)
}

// failedChild names the child because of which a job fails, as the error of a job
// does that fails before it is run.
func (r *Runner) failedChild(ctx context.Context, j *Job, refused error) error {
	jobs, err := r.Store.Jobs(ctx, r.Queue, j.Record.ID)
	if err != nil || jobs[0] == nil || jobs[0].Deferred == "" {
		return refused
	}
	return childFailed(jobs[0].Deferred)
}

// announce informs hooks and log about a settled job.
func (r *Runner) announce(j *Job) {
	switch j.Outcome.Kind {
	case storage.Completed:
		r.Observer.Completed(j, j.Outcome.Value)
	case storage.Failed:
		r.Log.Warn("bullmq: job failed", "queue", r.Queue, "job", j.Record.Name, "id", j.Record.ID,
			"attempt", j.Record.AttemptsMade+1, "error", j.Outcome.Reason)
		r.Observer.Failed(j, j.Err, true)
	case storage.RetryNow, storage.RetryLater:
		r.Observer.Failed(j, j.Err, false)
	}
}

// LoseLock ends the run of a job that is not this worker's any more.
func (r *Runner) LoseLock(ctx context.Context, held *ledger.Job, why error) {
	j := of(held)
	j.own.end(storage.ErrLockLost)
	r.Log.WarnContext(ctx, "bullmq: lock lost, the job's outcome is dropped", "queue", r.Queue, "job", j.Record.Name, "id", j.Record.ID, "error", why)
	r.Observer.LockLost(j)
}

// Cancel ends the context of the handlers of jobs with a cause.
func (r *Runner) Cancel(jobs []*ledger.Job, cause error) {
	for _, j := range jobs {
		of(j).own.end(cause)
	}
}
