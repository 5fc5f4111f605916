package runner

import (
	"errors"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Why the context of a handler ended.
var (
	ErrShutdown  = errors.New("bullmq: the worker is shutting down")
	ErrTimeout   = errors.New("bullmq: the job's timeout is over")
	ErrCancelled = errors.New("bullmq: the job was cancelled")
)

// ErrExpired: the job waited longer than its TTL.
var ErrExpired = errors.New("job expired before it was started")

// unrecoverable marks an error after which a job is not tried again.
type unrecoverable struct{ err error }

func (e *unrecoverable) Error() string { return e.err.Error() }
func (e *unrecoverable) Unwrap() error { return e.err }

// Unrecoverable makes a handler's error final. It returns nil for nil.
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

// Deferral is the error of a handler that did not finish its job and wants it to
// wait. It counts no attempt.
type Deferral struct {
	Text string
	Kind storage.SettleKind
	// Delay is how long the job waits, Until until when. One of them is set, or
	// neither.
	Delay time.Duration
	Until time.Time
	// RateLimit above zero keeps all workers with a rate limit from starting jobs.
	RateLimit time.Duration
	// Child is the pending child that the job waits for; empty: any.
	Child string
}

func (e *Deferral) Error() string { return e.Text }

// SetBack is the error of a call of our own around a handler that the storage
// did not answer in time. The handler did nothing wrong: its job runs again
// later, and no attempt is counted.
type SetBack struct {
	Err       error
	Unstarted bool // the handler was not called
}

func (e *SetBack) Error() string { return e.Err.Error() }
func (e *SetBack) Unwrap() error { return e.Err }

// SetBackFor is how long a job waits after a SetBack. Other jobs use the capacity
// meanwhile, and the storage may answer their calls.
const SetBackFor = 3 * time.Second

// childFailed is why a job fails whose child failed, as it is stored.
type childFailed string

func (e childFailed) Error() string { return string(e) }

// Is reports it as ErrFailedChildren.
func (e childFailed) Is(target error) bool { return target == storage.ErrFailedChildren }
