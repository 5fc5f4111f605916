package storage

import (
	"context"
	"time"
)

// State is where a job is in its life.
type State string

// The states.
const (
	StateWaiting         State = "waiting"
	StateActive          State = "active"
	StateDelayed         State = "delayed"
	StatePrioritized     State = "prioritized"
	StateWaitingChildren State = "waiting-children"
	StateCompleted       State = "completed"
	StateFailed          State = "failed"
	StateUnknown         State = "unknown"
	// StatePaused lists only jobs that a 5.x peer set aside when it paused the
	// queue; everything else counts and reports them as waiting.
	StatePaused State = "paused"
)

// States are the states a job can be counted in, in the order in which peers list them.
var States = []State{
	StateActive, StateCompleted, StateDelayed, StateFailed,
	StatePrioritized, StateWaiting, StateWaitingChildren,
}

// Inspector reads queues. It changes nothing.
type Inspector interface {
	// Jobs reads jobs by id. One that does not exist is a nil element.
	Jobs(ctx context.Context, queue string, ids ...string) ([]*Record, error)
	// State finds the state of a job; StateUnknown when it is in none.
	State(ctx context.Context, queue, id string) (State, error)
	// Finish tells whether a job is finished, and how.
	Finish(ctx context.Context, queue, id string) (Finish, error)

	// Counts counts the jobs of each state asked for, in that order.
	Counts(ctx context.Context, queue string, states ...State) ([]int, error)
	// CountsByPriority counts waiting jobs of each priority asked for, in that order.
	CountsByPriority(ctx context.Context, queue string, priorities ...int) ([]int, error)
	// DelayedBefore counts the jobs that become due strictly before t.
	DelayedBefore(ctx context.Context, queue string, t time.Time) (int, error)
	// List pages through the ids of one state: elements start to end, both
	// included, end -1 for all. Ascending is oldest first (delayed: due first;
	// finished: finished first).
	List(ctx context.Context, queue string, state State, start, end int, asc bool) ([]string, error)
	// ListJobs pages like List over several states, one after the other, and
	// reads the jobs, each at most once. Ids without a job are passed over and
	// the page is filled from what follows.
	ListJobs(ctx context.Context, queue string, states []State, start, end int, asc bool) ([]Record, error)

	// DependencyCounts counts a parent's children by what became of them.
	DependencyCounts(ctx context.Context, queue, id string) (DependencyCounts, error)
	// Dependencies pages through a parent's children of one kind. Cursor 0
	// begins; the next cursor returned is 0 at the end. A page may have more or
	// fewer elements than count.
	Dependencies(ctx context.Context, queue, id string, kind DependencyKind, cursor uint64, count int) (page []Dependency, next uint64, err error)

	// Logs reads log lines start to end, both included, end -1 for all, and
	// the number of lines in all.
	Logs(ctx context.Context, queue, id string, start, end int, asc bool) (lines []string, total int, err error)
	// Metrics reads the counters of completed or failed jobs, and the points
	// start to end of the last minutes, newest first.
	Metrics(ctx context.Context, queue string, state State, start, end int) (Metrics, error)
	// Workers lists the workers connected to the queue.
	Workers(ctx context.Context, queue string) ([]Worker, error)
	// Meta reads the queue's settings.
	Meta(ctx context.Context, queue string) (Meta, error)
	// RateLimitTTL is how long no job may start because of a rate limit of max
	// jobs (0: the queue's own limit); zero: none is in force.
	RateLimitTTL(ctx context.Context, queue string, max int) (time.Duration, error)
	// DedupJobID is the id of the job that holds a deduplication id, or empty.
	DedupJobID(ctx context.Context, queue, dedupID string) (string, error)
}

// Finish is how a job ended.
type Finish struct {
	// State is StateCompleted, StateFailed, StateUnknown when the job does not
	// exist, or empty when it has not finished.
	State  State
	Value  []byte // the result of a completed job, JSON text
	Reason string // of a failed one
}

// DependencyKind is what became of a child.
type DependencyKind string

// The kinds of dependency.
const (
	DependencyPending   DependencyKind = "unprocessed"
	DependencyProcessed DependencyKind = "processed"
	DependencyIgnored   DependencyKind = "ignored"
	DependencyFailed    DependencyKind = "failed"
)

// Dependency is a child as its parent knows it.
type Dependency struct {
	// Key is "<prefix>:<queue>:<id>" of the child.
	Key string
	// Value is the result of a processed child, JSON text.
	Value []byte
	// Reason is why an ignored child failed.
	Reason string
}

// DependencyCounts counts children by what became of them.
type DependencyCounts struct{ Pending, Processed, Ignored, Failed int }

// Metrics counts finished jobs, in all and by the minute.
type Metrics struct {
	Count    int
	PrevTime time.Time
	Prev     int
	Points   []int // newest minute first
	Total    int   // points that are kept
}

// Worker is a connected worker.
type Worker struct {
	Name   string            // as the worker was named; empty: it has none
	Addr   string            // of its connection
	Idle   time.Duration     // since its last command
	Age    time.Duration     // of the connection
	Client string            // the name of its connection
	Fields map[string]string // everything that the server says of it
}

// Meta are the settings of a queue.
type Meta struct {
	Version     string
	Paused      bool
	MaxEvents   int        // 0: not set
	Concurrency int        // of all workers together; 0: not limited
	Limit       *RateLimit // of all workers together; nil: not limited
	Extra       map[string]string
}
