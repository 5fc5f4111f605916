package runner

import (
	"context"
	"log/slog"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/ledger"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Program is what the program that uses the library tells the runner about its
// jobs, and the handlers that it has for them.
type Program interface {
	// NewJob returns a job for a record that was taken. The runner sets the rest.
	NewJob(r *storage.Record) *Job
	// Handles reports whether there is a handler for jobs of a name.
	Handles(name string) bool
	// Handle runs the handler of a job and returns the result as JSON text.
	Handle(ctx context.Context, j *Job) (result []byte, err error)
	// AdvanceSchedule adds the job that follows one of a schedule. An error keeps
	// the job from running.
	AdvanceSchedule(ctx context.Context, j *Job) error
	// Group returns the group whose rate limit a job counts for; empty: none.
	Group(j *Job) string
	// RetryDelay returns how long a failed job waits for its next attempt. A
	// negative delay: there is none.
	RetryDelay(j *Job, err error) (time.Duration, error)
}

// Observer is informed of what happens to jobs. Its methods do not wait for the
// program, except Active.
type Observer interface {
	// Active: the handler of a job is about to run.
	Active(j *Job)
	// Completed: a job is completed.
	Completed(j *Job, result []byte)
	// Failed: an attempt failed; final: there is no other.
	Failed(j *Job, err error, final bool)
	// LockLost: a job is not this worker's any more.
	LockLost(j *Job)
}

// Config sets up a runner.
type Config struct {
	Queue    string
	Store    storage.Storage
	Ledger   *ledger.Ledger
	Outage   *outage.Reporter
	Program  Program
	Observer Observer
	// Report reports what failed beside the handlers.
	Report func(error)
	Log    *slog.Logger
	// Now is the clock by which times are stored.
	Now func() time.Time
	// Lock is how long the lock of a job lasts.
	Lock time.Duration
	// MaxStarts is how often a job may be started; 0: any number of times.
	MaxStarts int
	// SetBack is how long a job waits that the storage did not serve; see SetBack.
	SetBack time.Duration
	// GroupLimit is the rate limit of each group of jobs. Max 0: none.
	GroupLimit storage.RateLimit
}

// Runner runs the jobs of one worker.
type Runner struct {
	Config
	ctx       context.Context                          // of all handlers; set by Begin
	delay     func(*Job, error) (time.Duration, error) // Program.RetryDelay, made once
	childless childless
}

// New returns a runner. Its handlers have no context until Begin.
func New(c Config) *Runner { return &Runner{Config: c, delay: c.Program.RetryDelay} }

// Begin sets the context of all handlers. It is called before the first job is
// taken.
func (r *Runner) Begin(ctx context.Context) { r.ctx = ctx }

// Adopt makes jobs of the records that a call took.
func (r *Runner) Adopt(records []*storage.Record, token string, taken time.Time, to []*ledger.Job) []*ledger.Job {
	for _, record := range records {
		to = append(to, &r.AdoptOne(record, token, taken).Job)
	}
	return to
}

// AdoptOne makes a job of a record.
func (r *Runner) AdoptOne(record *storage.Record, token string, taken time.Time) *Job {
	j := r.Program.NewJob(record)
	j.Begin(record, token, taken, j)
	j.own.job, j.own.parent = j, r.ctx
	return j
}
