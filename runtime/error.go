package bullmq

import (
	"errors"
	"fmt"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// The kinds of failure. Every error of a function of this package that talks to
// a storage is one of these, or a refusal such as ErrJobNotFound, or the cause of
// a context that ended before anything was sent. Match with errors.Is.
var (
	// ErrInvalid: an argument, a declaration or the set-up is wrong. Nothing was
	// written, and the same call fails again.
	ErrInvalid = storage.ErrInvalid
	// ErrUnavailable: the storage cannot be reached, is starting, is full, or takes
	// no writes now. Nothing was written: repeat the call later.
	ErrUnavailable = storage.ErrUnavailable
	// ErrUncertain: the connection broke after a request was sent. Whether the
	// storage carried it out is not known, and it was not repeated. An add with a
	// custom id may be repeated: it adds the job once.
	ErrUncertain = storage.ErrUncertain
	// ErrNotPermitted: the storage does not accept this user, or denies it what the
	// call needs.
	ErrNotPermitted = storage.ErrNotPermitted
	// ErrUnsupported: the storage or its server lacks what the call needs.
	ErrUnsupported = storage.ErrUnsupported
	// ErrMalformed: what is stored, or what the server answered, cannot be read: a
	// key of another type, a payload or a result of another shape. The same call
	// fails again.
	ErrMalformed = storage.ErrMalformed
	// ErrClosed: the program closed the storage, the client or the worker.
	ErrClosed = storage.ErrClosed
)

// Refusals: the state of a job or a queue does not allow the call. Nothing was
// written. Match with errors.Is.
var (
	ErrJobNotFound     = storage.ErrJobNotFound
	ErrLockLost        = storage.ErrLockLost
	ErrLockMismatch    = storage.ErrLockMismatch
	ErrNotInState      = storage.ErrNotInState
	ErrPendingChildren = storage.ErrPendingChildren
	ErrNoParent        = storage.ErrNoParent
	ErrOtherParent     = storage.ErrOtherParent
	ErrScheduled       = storage.ErrScheduled
	ErrFailedChildren  = storage.ErrFailedChildren
	ErrLocked          = storage.ErrLocked
	ErrNotPaused       = storage.ErrNotPaused
	ErrActiveJobs      = storage.ErrActiveJobs
	ErrNoChildren      = storage.ErrNoChildren
	// ErrScheduleNotFound: there is no schedule of that id.
	ErrScheduleNotFound = storage.ErrScheduleNotFound
	// ErrScheduleEnded: a schedule has no time left before its end.
	ErrScheduleEnded = storage.ErrScheduleEnded
)

// Why the context of a handler ended; read with context.Cause.
var (
	// ErrShutdown: the worker stops and the grace period is over.
	ErrShutdown = errors.New("bullmq: the worker is shutting down")
	// ErrTimeout: the job's timeout is over.
	ErrTimeout = errors.New("bullmq: the job's timeout is over")
	// ErrCancelled: the job was cancelled by its id, see Worker.Cancel.
	ErrCancelled = errors.New("bullmq: the job was cancelled")
)

var (
	// ErrJobFailed is in the chain of what Handle.Result returns for a job that failed.
	ErrJobFailed = errors.New("job failed")
	// ErrExpired: the job waited longer than its TTL.
	ErrExpired = errors.New("job expired before it was started")
	// ErrAbandoned is what Worker.Run returns when after all grace handlers were
	// still running, or the storage had not said which jobs it gave; other workers
	// recover those jobs.
	ErrAbandoned = errors.New("bullmq: jobs were left running")
)

// JobError is why a job failed.
type JobError struct {
	Queue, ID string
	Reason    string // as it is stored with the job
}

func (e *JobError) Error() string {
	return fmt.Sprintf("bullmq: job %q on queue %q failed: %s", e.ID, e.Queue, e.Reason)
}

// Is reports a JobError as ErrJobFailed.
func (e *JobError) Is(target error) bool { return target == ErrJobFailed }

// unrecoverable marks an error after which a job is not tried again.
type unrecoverable struct{ err error }

func (e *unrecoverable) Error() string { return e.err.Error() }
func (e *unrecoverable) Unwrap() error { return e.err }

// Unrecoverable makes a handler's error final: the job fails, whatever
// attempts it has left. The text that is stored is that of err.
func Unrecoverable(err error) error {
	if err == nil {
		return nil
	}
	return &unrecoverable{err}
}

// IsUnrecoverable reports whether err, or what it wraps, was marked by Unrecoverable.
func IsUnrecoverable(err error) bool {
	var u *unrecoverable
	return errors.As(err, &u)
}

// ErrUnimplemented is returned by the handlers of a generated
// Unimplemented...Handler. It is unrecoverable.
func ErrUnimplemented(task string) error {
	return Unrecoverable(fmt.Errorf("task %s is not implemented by this worker", task))
}

// moved is returned by a handler that did not finish its job but wants it to
// wait. None of these counts as a failed attempt.
type moved struct {
	text  string
	kind  storage.SettleKind
	delay time.Duration
	until time.Time
	limit time.Duration
	child string
}

func (e *moved) Error() string { return e.text }

// DelayUntil returns an error that makes a job wait until t and then run
// again, without counting an attempt.
func DelayUntil(t time.Time) error {
	return &moved{text: "bullmq: job delayed until " + t.Format(time.RFC3339), kind: storage.DelayedUntil, until: t}
}

// DelayFor returns an error that makes a job wait for d and then run again,
// without counting an attempt.
func DelayFor(d time.Duration) error {
	return &moved{text: "bullmq: job delayed for " + d.String(), kind: storage.DelayedUntil, delay: d}
}

// BackToWait returns an error that makes a job the next to run, on any worker,
// without counting an attempt.
func BackToWait() error {
	return &moved{text: "bullmq: job put back", kind: storage.BackToWait}
}

// RateLimited returns an error that puts a job back, first in line, and keeps
// all workers that have a rate limit from starting jobs for d. It counts no attempt.
func RateLimited(d time.Duration) error {
	return &moved{text: "bullmq: rate limited for " + d.String(), kind: storage.BackToWait, limit: d}
}

// WaitForChildren returns an error that makes a job wait until its pending
// children are done and then run again, without counting an attempt. When
// none is pending the job runs again at once.
func WaitForChildren() error {
	return &moved{text: "bullmq: job waits for its children", kind: storage.WaitForChildren}
}
