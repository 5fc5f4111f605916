package bullmq

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Job is a job that a handler works on: its payload, and what ActiveJob tells of it.
type Job[P any] struct {
	*ActiveJob
	// Data is the payload.
	Data P
}

// UpdateData replaces the payload, in the storage and in Data. A retried job
// then gets the new one. It is an error for a job of an earlier name that was
// upgraded: under that name a payload has the old shape.
func (j *Job[P]) UpdateData(ctx context.Context, p P) error {
	if j.upgraded {
		return Unrecoverable(storage.Invalid("bullmq: data of job %q: it was upgraded from %q, and its payload stays as it was stored: keep what is new with Step, or add another job", j.ID, j.Name))
	}
	text, err := encodeJSON(p)
	if err == nil {
		text, err = j.code.encode(text, CodecInfo{j.Queue, j.Name, PartData})
	}
	if err != nil {
		return storage.Invalid("bullmq: data of job %q: %w", j.ID, err)
	}
	store := func(ctx context.Context) error { return j.worker.store.UpdateData(ctx, j.Queue, j.ID, text) }
	if err := j.insist(ctx, storeData, false, store); err != nil {
		return err
	}
	j.Data = p
	return nil
}

// ActiveJob is what a worker knows of a job that it took, whatever its payload.
// Its methods return ErrLockLost once the job is not this worker's any more.
//
// While the storage is away, methods that call it try again for as long as the
// lock duration. When that is over, or their context is, they return an error with
// which the handler should end: its job then runs again later, and no attempt is
// counted.
type ActiveJob struct {
	ID, Name, Queue string
	// Attempt is the number of this attempt, from 1. Runs that ended with an
	// error such as DelayUntil, and stalled ones, are not counted.
	Attempt int
	// Attempts is how many attempts the job has in all, at least 1.
	Attempts int
	// Starts is how often the job was started, this time included.
	Starts int
	// Stalls is how often a worker that had the job vanished.
	Stalls int
	// Timestamp is when the job was made.
	Timestamp time.Time
	Priority  int
	// Scheduler is the id of the schedule that made the job, or empty.
	ScheduleID string
	// Options are those that the job was added with. They are not to be changed.
	Options *Options

	record   *storage.Record
	slots    []SlotSpec // of its task
	code     *coder     // likewise, once its payload is decoded
	upgraded bool       // its payload is stored in the shape of an earlier task
	worker   *Worker
	token    string
	taken    time.Time       // when the lock was set or renewed last, by the monotonic clock
	ctx      context.Context // what the handler gets: own, or one made from it
	own      jobContext
	state    atomic.Int32 // a jobState
	end      storage.Settlement
	err      error              // what the handler returned, nil when it completed
	timed    context.CancelFunc // ends the job's timeout; nil: it has none
	ended    bool               // the handler has, or it was never called; of the pump

	// undone is set when a method or codec of the user's ended the goroutine while
	// it encoded a result or the result of a step: that work is done.
	undone atomic.Bool

	stepsMu sync.Mutex
	steps   map[string][]byte // kept by this run

	since      time.Duration // when the handler began, or the job began to wait for a slot; with Prefetch only
	prev, next *ActiveJob    // in the pump's list of held jobs
	listed     bool
}

// jobState is how far this worker is with a job.
type jobState = int32

const (
	jobHeld     jobState = iota // taken, and its lock is renewed
	jobSettling                 // a call that settles it is under way
	jobGone                     // settled, or lost
)

func (j *ActiveJob) active() *ActiveJob { return j }

// AsParent names the job as the parent of one that is to be added, see ChildOf.
func (j *ActiveJob) AsParent(onFail OnFail) Parent {
	return Parent{Queue: j.Queue, ID: j.ID, OnFail: onFail}
}

// Record is the job as it was stored when this worker took it. It is not to be changed.
func (j *ActiveJob) Record() *storage.Record { return j.record }

// Token is what the job is locked with.
func (j *ActiveJob) Token() string { return j.token }

// Logger is the worker's logger with the job's queue, name, id and attempt.
func (j *ActiveJob) Logger() *slog.Logger {
	return j.worker.own.With("queue", j.Queue, "job", j.Name, "id", j.ID, "attempt", j.Attempt)
}

// Progress tells peers how far the job is: any value with a JSON form, such as
// a number of percent or a struct.
func (j *ActiveJob) UpdateProgress(ctx context.Context, value any) error {
	text, err := encodeJSON(value)
	if err != nil {
		return storage.Invalid("bullmq: progress of job %q: %w", j.ID, err)
	}
	store := func(ctx context.Context) error { return j.worker.store.UpdateProgress(ctx, j.Queue, j.ID, text) }
	if err := j.insist(ctx, storeProgress, false, store); err != nil {
		return err
	}
	j.worker.hooks.progress(j, text)
	return nil
}

// Log adds a line to the job's log, of which as many lines are kept as the
// job's options say.
func (j *ActiveJob) Log(ctx context.Context, line string) error {
	return j.insist(ctx, addALogLine, true, func(ctx context.Context) error {
		_, err := j.worker.store.AddLog(ctx, j.Queue, j.ID, line, max(0, j.Options.KeepLogs))
		return err
	})
}

// encoding calls f, which encodes what a part of the handler has made.
func (j *ActiveJob) encoding(f func() ([]byte, error)) ([]byte, error) {
	j.undone.Store(true)
	text, err := f()
	j.undone.Store(false)
	return text, err
}

func (j *ActiveJob) usable() error {
	if j.worker == nil || j.state.Load() == jobGone {
		return &storage.Error{Op: "use", Queue: j.Queue, Job: j.ID, Err: ErrLockLost}
	}
	return nil
}
