package storage

import (
	"errors"
	"fmt"
)

// The errors of a storage. They are matched with errors.Is; what a storage
// returns is usually an *Error with the job in its text.
var (
	ErrJobNotFound     = errors.New("job does not exist")
	ErrLockLost        = errors.New("lock is lost")
	ErrLockMismatch    = errors.New("lock is held by another worker")
	ErrNotInState      = errors.New("job is not in the expected state")
	ErrPendingChildren = errors.New("job has pending children")
	ErrNoParent        = errors.New("parent job does not exist")
	ErrOtherParent     = errors.New("job belongs to another parent")
	ErrScheduled       = errors.New("job is the next one of a scheduler")
	ErrFailedChildren  = errors.New("job has failed children")
	ErrLocked          = errors.New("job is locked by a worker")
	ErrNotPaused       = errors.New("queue is not paused")
	ErrActiveJobs      = errors.New("queue has active jobs")
	ErrNoChildren      = errors.New("job has no such pending children")
	// ErrUncertain: the connection broke after a request was sent, and whether
	// it was carried out is not known.
	ErrUncertain = errors.New("the connection broke before the answer came: it is not known whether this was done")
	// ErrClosed: the program closed the storage; no call on it succeeds any more.
	ErrClosed = errors.New("the storage is closed")
)

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

// Transient reports whether an error is of the storage's server or of the way
// to it, so that the same call may succeed later: the connection is lost, the
// server restarts or changes its role.
func Transient(err error) bool {
	var t interface{ Transient() bool }
	return errors.As(err, &t) && t.Transient()
}
