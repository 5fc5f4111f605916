package runner

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/ledger"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Job is a job that a worker holds, with what belongs to this run of it.
type Job struct {
	ledger.Job
	// Policy is what the job's options say about running it. Many jobs share one.
	Policy *Policy
	// Err is why the job must not run, and later what its handler returned; nil
	// when it completed.
	Err error
	// Typed is the job as the program sees it.
	Typed any
	// Encoding is set while a method or codec of the program encodes a result. If
	// it ends the goroutine, the work of the handler is done and is not repeated.
	Encoding atomic.Bool

	own     jobContext
	timeout *deadline // of this run; nil: it has none
}

// deadline is the context of a handler that must return in time.
type deadline struct {
	context.Context
	cancel context.CancelFunc
}

// handlerContext returns what the handler gets.
func (j *Job) handlerContext() context.Context {
	if j.timeout != nil {
		return j.timeout
	}
	return &j.own
}

// ended returns why the handler's context ended, or nil. A deadline is given up.
func (j *Job) ended() error {
	if j.timeout == nil {
		return j.own.cause()
	}
	cause := context.Cause(j.timeout)
	j.timeout.cancel()
	return cause
}

// Policy is what the options of a job say about running it.
type Policy struct {
	Attempts        int // how many attempts the job has in all
	LIFO            bool
	StackTraceLimit *int // nil: all stacks are kept
	Timeout         time.Duration
	TTL             time.Duration
	Delay           time.Duration // the job was added with
	// KeepCompleted and KeepFailed say what is kept of the finished job.
	KeepCompleted, KeepFailed storage.Keep
}

// of returns the runner's view of a job of the ledger.
func of(j *ledger.Job) *Job { return j.Owner.(*Job) } //nolint:forcetypeassert // AdoptOne makes all of them

// Usable returns ErrLockLost for a job that is not this worker's any more.
func (j *Job) Usable(queue string) error {
	if j.Gone() {
		return &storage.Error{Op: "use", Queue: queue, Job: j.Record.ID, Err: storage.ErrLockLost}
	}
	return nil
}
