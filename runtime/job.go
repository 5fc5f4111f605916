package bullmq

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/runner"
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
	if err := j.insist(ctx, outage.StoreData, false, store); err != nil {
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
	// ScheduleID is the id of the schedule that made the job, or empty.
	ScheduleID string
	// Options are those that the job was added with. They are not to be changed.
	Options *Options

	slots    []SlotSpec // of its task
	code     *coder     // likewise, once its payload is decoded
	upgraded bool       // its payload is stored in the shape of an earlier task
	result   []byte     // what its handler returned, below middleware
	handled  bool       // its handler returned without an error, below middleware
	worker   *Worker
	run      runner.Job // what the engine knows of it

	stepsMu sync.Mutex
	steps   map[string][]byte // kept by this run
}

// typed returns a job of the engine as the program sees it.
func typed(j *runner.Job) *ActiveJob { return j.Typed.(*ActiveJob) } //nolint:forcetypeassert // NewJob makes all of them

// JobFrom returns the job that a handler's context belongs to, or nil.
func JobFrom(ctx context.Context) *ActiveJob {
	j := runner.JobFrom(ctx)
	if j == nil {
		return nil
	}
	return typed(j)
}

func (j *ActiveJob) active() *ActiveJob { return j }

// AsParent names the job as the parent of a new job, see ChildOf.
func (j *ActiveJob) AsParent(onFail OnFail) Parent {
	return Parent{Queue: j.Queue, ID: j.ID, OnFail: onFail}
}

// Record is the job as it was stored when this worker took it. It is not to be changed.
func (j *ActiveJob) Record() *storage.Record { return j.run.Record }

// Token is what the job is locked with.
func (j *ActiveJob) Token() string { return j.run.Token }

// Logger is the worker's logger with the job's queue, name, id and attempt.
func (j *ActiveJob) Logger() *slog.Logger {
	return j.worker.own.With("queue", j.Queue, "job", j.Name, "id", j.ID, "attempt", j.Attempt)
}

// UpdateProgress publishes how far the job is: any value with a JSON form, such as
// a number of percent or a struct.
func (j *ActiveJob) UpdateProgress(ctx context.Context, value any) error {
	text, err := encodeJSON(value)
	if err != nil {
		return storage.Invalid("bullmq: progress of job %q: %w", j.ID, err)
	}
	store := func(ctx context.Context) error { return j.worker.store.UpdateProgress(ctx, j.Queue, j.ID, text) }
	if err := j.insist(ctx, outage.StoreProgress, false, store); err != nil {
		return err
	}
	j.worker.observer.progress(j, text)
	return nil
}

// Log adds a line to the job's log, of which as many lines are kept as the
// job's options say.
func (j *ActiveJob) Log(ctx context.Context, line string) error {
	return j.insist(ctx, outage.AddLog, true, func(ctx context.Context) error {
		_, err := j.worker.store.AddLog(ctx, j.Queue, j.ID, line, max(0, j.Options.KeepLogs))
		return err
	})
}

// encoding calls f, which encodes what a part of the handler has made.
func (j *ActiveJob) encoding(f func() ([]byte, error)) ([]byte, error) {
	j.run.Encoding.Store(true)
	text, err := f()
	j.run.Encoding.Store(false)
	return text, err
}

// insist makes a call about the job, and repeats it while the storage is away and
// the job's lock lasts. See [runner.Runner.Insist].
func (j *ActiveJob) insist(ctx context.Context, what outage.Call, once bool, call func(context.Context) error) error {
	if err := j.usable(); err != nil {
		return err
	}
	return j.worker.engine.Insist(ctx, &j.run, what, once, call)
}

func (j *ActiveJob) usable() error {
	if j.worker == nil {
		return &storage.Error{Op: "use", Queue: j.Queue, Job: j.ID, Err: ErrLockLost}
	}
	return j.run.Usable(j.Queue)
}
