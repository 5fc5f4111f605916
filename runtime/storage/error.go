package storage

import (
	"errors"
	"fmt"
)

// The kinds of failure. Whatever a storage returns as an error is a refusal, see
// below, or one of these kinds, or the cause of a context that ended before
// anything was sent. They are matched with errors.Is.
var (
	// ErrInvalid: an argument or the set-up is wrong. Nothing was written, and the
	// same call fails again.
	ErrInvalid = errors.New("invalid input")
	// ErrUnavailable: the storage cannot be reached, is starting, is full, or takes
	// no writes now. Nothing was written, and the same call may succeed later.
	ErrUnavailable = errors.New("the storage is not available")
	// ErrUncertain: the connection broke after a request was sent. Whether the
	// storage carried it out is not known.
	ErrUncertain = errors.New("the connection broke before the answer came: it is not known whether this was done")
	// ErrNotPermitted: the storage does not accept this user, or denies it what the
	// call needs.
	ErrNotPermitted = errors.New("not permitted")
	// ErrUnsupported: the storage or its server lacks what the call needs.
	ErrUnsupported = errors.New("not supported")
	// ErrMalformed: what is stored, or what the server answered, cannot be read: a
	// key of another type, a payload of another shape. The same call fails again.
	ErrMalformed = errors.New("malformed data")
	// ErrClosed: the program closed the storage, the client or the worker; no call
	// on it succeeds any more.
	ErrClosed = errors.New("closed")
)

// The refusals: the storage answered, and the state of a job or a queue does not
// allow the call. Nothing was written. They usually come in an *Error that names
// the job.
var (
	ErrJobNotFound     = errors.New("job does not exist")
	ErrLockLost        = errors.New("lock is lost")
	ErrLockMismatch    = errors.New("lock is held by another worker")
	ErrNotInState      = errors.New("job is not in the expected state")
	ErrPendingChildren = errors.New("job has pending children")
	ErrNoParent        = errors.New("parent job does not exist")
	ErrOtherParent     = errors.New("job belongs to another parent")
	ErrOtherTask       = errors.New("the job belongs to another task")
	ErrScheduled       = errors.New("job is the next one of a schedule")
	ErrFailedChildren  = errors.New("job has failed children")
	ErrLocked          = errors.New("job is locked by a worker")
	ErrNotPaused       = errors.New("queue is not paused")
	ErrActiveJobs      = errors.New("queue has active jobs")
	ErrNoChildren      = errors.New("job has no such pending children")
)

// kinds are the kinds of failure. Of an error that joins several the first counts:
// what may have been written comes before what was certainly not.
var kinds = []error{
	ErrUncertain, ErrClosed, ErrNotPermitted, ErrUnavailable, ErrUnsupported, ErrMalformed, ErrInvalid,
}

// Kind is the kind of failure that an error belongs to: one of ErrInvalid,
// ErrUnavailable, ErrUncertain, ErrNotPermitted, ErrUnsupported, ErrMalformed and
// ErrClosed. It is nil for a refusal, the error of a context, and any other.
func Kind(err error) error {
	for _, k := range kinds {
		if errors.Is(err, k) {
			return k
		}
	}
	return nil
}

// Transient reports whether the same call may succeed later although nothing is
// changed: the connection is lost, the server is full, restarts or changes its
// role. What the call was for may have been done already, see ErrUncertain.
func Transient(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUncertain)
}

// Outside reports whether an error says nothing about the call or its job: the
// error is transient, the user's rights are missing for now, or the storage was
// closed. A job must not fail because of one.
func Outside(err error) bool {
	return Transient(err) || errors.Is(err, ErrNotPermitted) || errors.Is(err, ErrClosed)
}

// OfKind makes an error match a kind with errors.Is and keeps its text. An error
// that has a kind already, and nil, stay as they are.
func OfKind(kind, err error) error {
	if err == nil || Kind(err) != nil {
		return err
	}
	return &kinded{kind, err}
}

// Invalid is an error of the kind ErrInvalid with a text of its own.
func Invalid(format string, args ...any) error {
	return OfKind(ErrInvalid, fmt.Errorf(format, args...))
}

// kinded is an error with a kind that its text does not mention.
type kinded struct{ kind, err error }

func (e *kinded) Error() string   { return e.err.Error() }
func (e *kinded) Unwrap() []error { return []error{e.err, e.kind} }

// Error is what a storage refused, and for which job.
type Error struct {
	Op    string // what was asked: "settle", "retry", ...
	Queue string
	Job   string // its id, or empty
	Err   error  // one of the Err values
}

func (e *Error) Error() string {
	if e.Job == "" {
		return fmt.Sprintf("bullmq: %s on queue %q: %v", e.Op, e.Queue, e.Err)
	}
	return fmt.Sprintf("bullmq: %s of job %q on queue %q: %v", e.Op, e.Job, e.Queue, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }
