package bullmq

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/runner"
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
	ErrShutdown = runner.ErrShutdown
	// ErrTimeout: the job's timeout is over.
	ErrTimeout = runner.ErrTimeout
	// ErrCancelled: the job was cancelled by its id, see Worker.Cancel.
	ErrCancelled = runner.ErrCancelled
)

var (
	// ErrOtherTask: nothing was added, because a job of another task has the
	// same custom or deduplication id. A handle of it would give its result the
	// wrong type.
	ErrOtherTask = storage.ErrOtherTask
	// ErrJobFailed is in the chain of what Handle.Result returns for a job that failed.
	ErrJobFailed = errors.New("job failed")
	// ErrExpired: the job waited longer than its TTL.
	ErrExpired = runner.ErrExpired
	// ErrAbandoned: a worker stopped and left something undone. The error is an
	// *AbandonedError, which says what.
	ErrAbandoned = errors.New("bullmq: the worker stopped before all was done")
)

// AbandonedError is what a worker left undone when it stopped (ErrAbandoned). Other
// workers recover the jobs when their locks expire.
type AbandonedError struct {
	Queue string
	// Running are the ids of jobs whose handlers had not returned.
	Running []string
	// Unstored are the ids of jobs whose handlers had returned, and whose outcomes
	// the storage did not take.
	Unstored []string
	// Unknown: the storage was asked for jobs and did not say which it gave.
	Unknown bool
	// Hooks is how many calls of hooks were not made.
	Hooks int
}

// abandoned returns the error of a stop that left something undone, or nil.
func abandoned(queue string, left engine.Left) error {
	if left.None() {
		return nil
	}
	return &AbandonedError{Queue: queue, Running: left.Running, Unstored: left.Unstored, Unknown: left.Unknown, Hooks: left.Hooks}
}

func (e *AbandonedError) Error() string {
	var left []string
	if n := len(e.Running); n > 0 {
		left = append(left, fmt.Sprintf("%d handlers did not return (jobs %s)", n, someOf(e.Running)))
	}
	if n := len(e.Unstored); n > 0 {
		left = append(left, fmt.Sprintf("the storage did not take the outcomes of %d jobs whose handlers had returned (%s)", n, someOf(e.Unstored)))
	}
	if e.Unknown {
		left = append(left, "the storage did not answer which jobs it gave")
	}
	if e.Hooks > 0 {
		left = append(left, fmt.Sprintf("%d calls of hooks were not made", e.Hooks))
	}
	text := fmt.Sprintf("%v: queue %q: %s", ErrAbandoned, e.Queue, strings.Join(left, "; "))
	if len(e.Running)+len(e.Unstored) > 0 || e.Unknown {
		text += "; other workers recover the jobs when their locks expire"
	}
	return text
}

// Is reports an AbandonedError as ErrAbandoned.
func (e *AbandonedError) Is(target error) bool { return target == ErrAbandoned }

// someOf is the first few of some ids, quoted.
func someOf(ids []string) string {
	const most = 5
	var b strings.Builder
	for i, id := range ids[:min(len(ids), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(id))
	}
	if len(ids) > most {
		b.WriteString(", ...")
	}
	return b.String()
}

// JobError is why a job failed. Of a job that failed because of a child it leads
// to the child's error, and so on: errors.As finds the outermost, Root the one with
// which it began.
type JobError struct {
	Queue, ID string
	// Reason is as it is stored with the job. It is empty for a child that is gone.
	Reason string
	// Child is the error of the child because of which the job failed; nil: it
	// failed by itself.
	Child *JobError
}

func (e *JobError) Error() string {
	text := fmt.Sprintf("bullmq: job %q on queue %q failed: %s", e.ID, e.Queue, e.Reason)
	if root := e.Root(); root != e && root.Reason != "" {
		text += fmt.Sprintf(": job %q on queue %q: %s", root.ID, root.Queue, root.Reason)
	}
	return text
}

// Root is the error of the job that failed first: of e itself, or of a descendant.
func (e *JobError) Root() *JobError {
	for e.Child != nil {
		e = e.Child
	}
	return e
}

// Unwrap returns the error of the child, if there is one.
func (e *JobError) Unwrap() error {
	if e.Child == nil {
		return nil // not a typed nil
	}
	return e.Child
}

// Is reports a JobError as ErrJobFailed.
func (e *JobError) Is(target error) bool { return target == ErrJobFailed }

// Unrecoverable makes a handler's error final: the job fails, whatever
// attempts it has left. The text that is stored is that of err.
func Unrecoverable(err error) error { return runner.Unrecoverable(err) }

// IsUnrecoverable reports whether err, or what it wraps, was marked by Unrecoverable.
func IsUnrecoverable(err error) bool { return runner.IsUnrecoverable(err) }

// Unimplemented is returned by the handlers of a generated
// Unimplemented...Handler. It is unrecoverable.
func Unimplemented(task string) error {
	return Unrecoverable(fmt.Errorf("task %s is not implemented by this worker", task))
}

// DelayUntil returns an error that makes a job wait until t and then run
// again, without counting an attempt.
func DelayUntil(t time.Time) error {
	return &runner.Deferral{Text: "bullmq: job delayed until " + t.Format(time.RFC3339), Kind: storage.DelayedUntil, Until: t}
}

// DelayFor returns an error that makes a job wait for d and then run again,
// without counting an attempt.
func DelayFor(d time.Duration) error {
	return &runner.Deferral{Text: "bullmq: job delayed for " + d.String(), Kind: storage.DelayedUntil, Delay: d}
}

// BackToWait returns an error that makes a job the next to run, on any worker,
// without counting an attempt.
func BackToWait() error {
	return &runner.Deferral{Text: "bullmq: job put back", Kind: storage.BackToWait}
}

// RateLimited returns an error that puts a job back, first in line, and keeps
// all workers that have a rate limit from starting jobs for d. It counts no attempt.
func RateLimited(d time.Duration) error {
	return &runner.Deferral{Text: "bullmq: rate limited for " + d.String(), Kind: storage.BackToWait, RateLimit: d}
}

// WaitForChildren returns an error that makes a job wait until its pending
// children are done and then run again, without counting an attempt. When
// none is pending the job runs again at once.
func WaitForChildren() error {
	return &runner.Deferral{Text: "bullmq: job waits for its children", Kind: storage.WaitForChildren}
}
