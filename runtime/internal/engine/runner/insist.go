package runner

import (
	"context"
	"errors"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// quietTries is how often a call fails before that is reported: most hitches are
// over by then.
const quietTries = 2

// Insist makes a call about a job that this worker holds. While the storage is
// away it repeats the call: as long as a lock lasts, and no longer than this job's
// lock does. An error that the storage gives about the job itself is returned as
// it is; any other is a *SetBack. Once says that the call must not be repeated
// when it may have been carried out.
func (r *Runner) Insist(ctx context.Context, j *Job, what outage.Call, once bool, call func(context.Context) error) error {
	began := time.Now()
	var back outage.Backoff
	for {
		if err := j.Usable(r.Queue); err != nil {
			return err
		}
		err := call(ctx)
		if err == nil {
			r.Outage.Succeeded(what)
			return nil
		}
		switch {
		case !storage.Outside(err):
			return err
		case errors.Is(err, storage.ErrClosed), once && errors.Is(err, storage.ErrUncertain), ctx.Err() != nil,
			time.Since(began) >= r.Lock, time.Since(r.Ledger.Renewed(&j.Job)) >= r.Lock:
			return &SetBack{Err: err}
		}
		if back.Tries() >= quietTries {
			r.Outage.Failed(what, err)
		}
		back.Wait(ctx)
	}
}
