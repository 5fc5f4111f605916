package bullmq

import (
	"context"
	"errors"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// setBack is the error of a call of our own around a handler that the storage
// did not answer in time. The handler did nothing wrong: a job that ends with it
// runs again later, and no attempt is counted.
type setBack struct {
	err       error
	unstarted bool // the handler was not called
}

func (e *setBack) Error() string { return e.err.Error() }
func (e *setBack) Unwrap() error { return e.err }

// setBackFor is how long a job waits that ended with a setBack: others get its
// slot meanwhile, whose calls may be answered.
const setBackFor = 3 * time.Second

// quietTries is how often a call fails before that is reported: most hitches are
// over by then.
const quietTries = 2

// insist makes a call about a job that this worker holds. While the storage is
// away it makes it again: as long as a lock lasts, and no longer than this job's
// lock does. An error that the storage gives about the job itself is returned as
// it is; any other is a *setBack. Once says that the call must not be repeated
// when it may have been carried out.
func (j *ActiveJob) insist(ctx context.Context, what string, once bool, call func(context.Context) error) error {
	w, began, back := j.worker, time.Now(), newBackoff()
	for {
		if err := j.usable(); err != nil {
			return err
		}
		err := call(ctx)
		if err == nil {
			w.outage.over(w, what)
			return nil
		}
		switch {
		case !storage.Outside(err):
			return err
		case errors.Is(err, ErrClosed), once && errors.Is(err, ErrUncertain), ctx.Err() != nil,
			time.Since(began) >= w.cfg.lock, !time.Now().Before(w.pump.lockEnd(j)):
			return &setBack{err: err}
		}
		if back.tries >= quietTries {
			w.outage.report(w, what, err)
		}
		back.wait(ctx)
	}
}

// lockEnd is when the lock of a job ends unless it is renewed.
func (p *pump) lockEnd(j *ActiveJob) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return j.taken.Add(p.w.cfg.lock)
}
