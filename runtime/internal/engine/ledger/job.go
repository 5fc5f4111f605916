package ledger

import (
	"sync/atomic"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Job is a job that a worker holds: from the call that takes it until the
// storage has accepted its outcome, or its lock is lost.
type Job struct {
	// Record is the job as it was stored when it was taken.
	Record *storage.Record
	// Token is what the job is locked with.
	Token string
	// Outcome is what the storage will be asked to make of the job. Whoever runs
	// the job sets it before Finish.
	Outcome storage.Settlement
	// Owner is the caller's own view of the job.
	Owner any

	state      atomic.Int32
	ended      bool          // the handler has returned, or will not be called
	listed     bool          // it is in the list of held jobs
	prev, next *Job          // in that list
	renewed    time.Time     // when the lock was set or last renewed, by the monotonic clock
	since      time.Duration // when the handler began, or the job began to wait for capacity; with prefetch only
}

// States of a job.
const (
	stateHeld     int32 = iota // the worker has it, and renews its lock
	stateSettling              // a call that settles it is under way
	stateGone                  // settled, or lost
)

// Begin makes j a job that was taken at a time, and locked with a token.
func (j *Job) Begin(r *storage.Record, token string, taken time.Time, owner any) {
	j.Record, j.Token, j.renewed, j.Owner = r, token, taken, owner
}

// Gone reports whether the job is not this worker's any more.
func (j *Job) Gone() bool { return j.state.Load() == stateGone }

// SetGone records that the job is settled, or lost.
func (j *Job) SetGone() { j.state.Store(stateGone) }

// PutBack returns the outcome of a job that was taken and never started: it goes
// back to the head of the queue, and its start is not counted.
func (j *Job) PutBack() storage.Settlement {
	return storage.Settlement{ID: j.Record.ID, Token: j.Token, Kind: storage.BackToWait, Unstarted: true}
}
