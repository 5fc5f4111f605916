package storage

import (
	"context"
	"errors"
	"time"
)

// The errors of schedules.
var (
	ErrScheduleNotFound = errors.New("schedule does not exist")
	// ErrRunTaken: a job with the id that the next job would have exists, and
	// is not one that can be replaced.
	ErrRunTaken = errors.New("the job of the next time exists already")
	// ErrScheduleEnded: there is no time left before the schedule's end.
	ErrScheduleEnded = errors.New("there is no time left before its end")
	// ErrOldScheduler: the job was made by a schedule in a form that only 5.x peers know.
	ErrOldSchedule = errors.New("the schedule was made by a 5.x peer in its older form")
)

// Scheduler keeps schedules: each makes jobs, one at a time, by a pattern or
// an interval. There is always one job of its next time, its slot, and the job
// after it is made when a worker takes that one.
type Scheduler interface {
	// UpsertSchedules stores schedules, each with the job of its slot, and
	// answers with one result for each. What is there under the same id is
	// replaced, together with the job of its slot if that has not been taken by
	// a worker; how many jobs it made is counted on. A schedule that is refused
	// (ErrRunTaken, ErrScheduleEnded) has Err set and is as it was before; the
	// others are stored all the same. One that has an owner is left as it is when
	// it is stored already just so, by the same owner, and its next job stands
	// where it should, or was its last one by its limit.
	UpsertSchedules(ctx context.Context, queue string, now time.Time, list []Schedule) ([]Scheduled, error)
	// AdvanceSchedules makes the next job of schedules whose job was taken, and
	// answers with one result for each. Nothing is done, with neither ID nor Err,
	// if the schedule is gone or the job is not that of its slot, as when this
	// was done before. ErrRunTaken means that a later slot is to be tried.
	AdvanceSchedules(ctx context.Context, queue string, now time.Time, list []Advance) ([]Scheduled, error)
	// RemoveSchedules removes schedules, and the job of the slot of each while
	// it is delayed; one that waits or runs is left. It tells of each whether
	// there was one.
	RemoveSchedules(ctx context.Context, queue string, ids ...string) ([]bool, error)
	// PruneSchedules removes, as RemoveSchedules does, the schedules of an owner
	// but those to be kept, and returns the ids of the ones that there were. It
	// looks at the owner of each in the very step that removes it.
	PruneSchedules(ctx context.Context, queue, owner string, keep []string) ([]string, error)
	// OwnedQueues are the queues, sorted, for which schedules of an owner were
	// stored, and which were not obliterated since.
	OwnedQueues(ctx context.Context, owner string) ([]string, error)

	// Schedules reads schedules by id. One that does not exist is a nil element.
	Schedules(ctx context.Context, queue string, ids ...string) ([]*ScheduleRecord, error)
	// ListSchedules pages through the schedules, ordered by their slots:
	// elements start to end, both included, end -1 for all.
	ListSchedules(ctx context.Context, queue string, start, end int, asc bool) ([]ScheduleRecord, error)
	// CountSchedules counts the schedules.
	CountSchedules(ctx context.Context, queue string) (int, error)
}

// Schedule is a schedule to be stored.
type Schedule struct {
	ID string
	ScheduleRule
	// Owner is who declares it, empty: nobody. It is that of whoever stored the
	// schedule last: one that a peer stores again has none.
	Owner string
	// Slot is the first time of a pattern; that of an interval follows from what
	// is stored.
	NextRun time.Time
	// KeepDue lets a job of the same pattern whose time has come, but that still
	// waits for a worker, keep its slot. Otherwise it gives way to the new one.
	KeepDue bool
	// Template is what its jobs are made of, as it is read back: Data and Opts
	// are JSON text, nil for none.
	Template Template
	// Job is what the next job is made of.
	Job Iteration
}

// ScheduleRule says when a schedule makes jobs.
type ScheduleRule struct {
	Pattern string // of cron; empty: by the interval
	TZ      string // the zone of the pattern; empty: the one of whoever computes a time
	Every   time.Duration
	// Offset is the phase of an interval, from the beginning of 1970; zero: it
	// begins with the first job.
	Offset     time.Duration
	Limit      int // how many jobs in all; 0: no limit
	Start, End time.Time
}

// Template is what the jobs of a schedule are made of.
type Template struct {
	Name string
	Data []byte
	Opts []byte
}

// Iteration is a job of a schedule that is to be made. Its id and delay follow
// from its slot.
type Iteration struct {
	Name string // not used by AdvanceSchedules, as is Data: they are the template's
	Data []byte
	// Opts is the options' JSON text: an object without what the slot
	// determines, which the storage adds.
	Opts     []byte
	Priority int
	LIFO     bool
	DedupID  string // kept with the job; schedules do not deduplicate
}

// Scheduled is the answer to one schedule of an upsert or advance.
type Scheduled struct {
	// ID is the job of the slot.
	ID string
	// Slot is when it becomes due.
	NextRun time.Time
	Err     error
}

// Advance names a schedule and its job that was taken.
type Advance struct {
	ID  string
	Job string
	// Slot is the next time of a pattern.
	NextRun time.Time
	// Every and Offset are those of a schedule of which no interval is stored.
	Every, Offset time.Duration
	End           time.Time
	Next          Iteration
}

// ScheduleRecord is a stored schedule.
type ScheduleRecord struct {
	ID string
	ScheduleRule
	Owner    string
	Template Template
	// Slot is the time of its next job: one that has passed when the job waits
	// for a worker, or when the schedule made its last one.
	NextRun time.Time
	// Iterations is how many jobs it made. 0: it was made by a 5.x peer in its older form.
	Iterations int
	// Extra are stored fields that this version does not know.
	Extra map[string]string
}
