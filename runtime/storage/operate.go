package storage

import (
	"context"
	"time"
)

// Operator changes queues and jobs from outside. Calls about one job answer
// ErrJobNotFound when it does not exist.
type Operator interface {
	// Pause stops all workers of the queue from taking jobs.
	Pause(ctx context.Context, queue string) error
	// Resume undoes Pause and takes back what a 5.x peer set aside. It works in steps.
	Resume(ctx context.Context, queue string) error

	// Drain removes the waiting and prioritized jobs, and the delayed ones if
	// asked; a job that a schedule waits for stays. It works in steps.
	Drain(ctx context.Context, queue string, delayed bool) error
	// Clean removes up to limit jobs (0: all) of one state that are older than
	// before, and returns their ids. It works in steps of at most 1000.
	Clean(ctx context.Context, queue string, state State, before time.Time, limit int) ([]string, error)
	// Obliterate removes a paused queue with all it has, in steps of count
	// jobs (0: 1000). Active jobs are an error (ErrActiveJobs) unless force is set.
	Obliterate(ctx context.Context, queue string, force bool, count int) error
	// RetryAll makes finished jobs (StateFailed or StateCompleted) wait again
	// if they finished by the time given. It works in steps of count (0: 1000).
	RetryAll(ctx context.Context, queue string, state State, by time.Time, count int) error
	// PromoteAll makes all delayed jobs wait. It works in steps of count (0: 1000).
	PromoteAll(ctx context.Context, queue string, count int) error

	// Retry makes a finished job wait again. ErrNotInState when it is not in
	// the state given.
	Retry(ctx context.Context, queue, id string, req RetryRequest) error
	// Promote makes a delayed job wait. ErrNotInState when it is not delayed.
	Promote(ctx context.Context, queue, id string) error
	// ChangeDelay makes a delayed job due d from now. ErrNotInState when it is not delayed.
	ChangeDelay(ctx context.Context, queue, id string, now time.Time, d time.Duration) error
	// ChangePriority gives a job another priority, and with lifo the first place in it.
	ChangePriority(ctx context.Context, queue, id string, priority int, lifo bool) error
	// UpdateData replaces the payload, JSON text.
	UpdateData(ctx context.Context, queue, id string, data []byte) error
	// UpdateProgress sets the progress, JSON text, and emits an event.
	UpdateProgress(ctx context.Context, queue, id string, progress []byte) error
	// AddLog adds a line to the job's log, keeps the last keep lines (0: all),
	// and returns how many there are.
	AddLog(ctx context.Context, queue, id, line string, keep int) (int, error)
	// ClearLogs removes all log lines but the last keep.
	ClearLogs(ctx context.Context, queue, id string, keep int) error

	// Remove deletes a job in any state, and with children its descendants.
	// ErrLocked when it or one of them is active, ErrScheduled when a
	// schedule waits for it. Removing a job that does not exist is no error.
	Remove(ctx context.Context, queue, id string, children bool) error
	// RemovePendingChildren deletes the children of a job that did not start.
	RemovePendingChildren(ctx context.Context, queue, id string) error
	// RemoveChildDependency makes a parent no longer wait for a child; false: it did not.
	// The queue is the child's.
	RemoveChildDependency(ctx context.Context, queue, id string) (bool, error)
	// RemoveOrphans deletes jobs that are in no state, and takes ids of finished
	// jobs whose data are gone out of their state, up to limit (0: all). It returns how many. It works in steps that look at about count keys (0: 1000).
	RemoveOrphans(ctx context.Context, queue string, count, limit int) (int, error)
	// RemoveDedupKey frees a deduplication id; with an owner only if that job
	// holds it. False: it was not held (by it).
	RemoveDedupKey(ctx context.Context, queue, dedupID, owner string) (bool, error)

	// SetConcurrency limits how many jobs are active on the queue; 0: no limit.
	SetGlobalConcurrency(ctx context.Context, queue string, n int) error
	// SetLimit limits how many jobs start; nil: no limit.
	SetGlobalRateLimit(ctx context.Context, queue string, limit *RateLimit) error
	// RateLimit lets no limited worker start a job for d; 0 ends it.
	RateLimit(ctx context.Context, queue string, d time.Duration) error
}

// RetryRequest is the input of Retry.
type RetryRequest struct {
	// State is the one that the job is in: StateFailed or StateCompleted.
	State State
	// ResetMade and ResetStarted set the two attempt counters back to zero.
	ResetMade, ResetStarted bool
}

// EventLog is what happened on a queue, in order.
type EventLog interface {
	// LastEvent is the place after the newest event, to read on from.
	LastEvent(ctx context.Context, queue string) (cursor string, err error)
	// ReadEvents returns the events after a cursor, waiting up to d for the
	// first; none is an empty list and no error. Cursor "" begins at the oldest
	// that is kept.
	ReadEvents(ctx context.Context, queue, cursor string, d time.Duration) ([]Event, error)
	// EventKept reports whether the event at a cursor is still kept. Once it is
	// not, later ones may be gone too.
	EventKept(ctx context.Context, queue, cursor string) (bool, error)
	// TrimEvents removes all but about the last keep events, and returns how many.
	TrimEvents(ctx context.Context, queue string, keep int) (int, error)
	// Publish appends an event with fields in the order given, and keeps about
	// the last keep events (0: 1000).
	Publish(ctx context.Context, queue, name string, keep int, fields ...string) error
}

// Canceller passes word to the worker that runs a job. Peers do not know it.
type Canceller interface {
	// Cancel asks whichever worker runs the job to end it.
	Cancel(ctx context.Context, queue, id string) error
	// Cancelled returns the ids asked for after a cursor, waiting up to d for
	// the first, and the cursor to read on from. Cursor "" returns at once, with
	// the place from which to read what is asked from now on.
	Cancelled(ctx context.Context, queue, cursor string, d time.Duration) (ids []string, next string, err error)
}

// Event is one thing that happened on a queue.
type Event struct {
	// Cursor is its place, to read on from; opaque, and growing.
	Cursor string
	Name   string
	// Fields are all its other fields.
	Fields map[string]string
}
