package storage

import (
	"context"
	"fmt"
	"time"
)

// FlowProducer adds flows: jobs that wait for others.
type FlowProducer interface {
	// AddFlow adds a forest of jobs, on any number of queues, all or none:
	// when one is refused nothing is stored, and the error is a *FlowError. A
	// parent stands before its children; any other order is the caller's to
	// choose, and is the one in which the jobs wait. Now is what a parent's own
	// delay counts from when all of its children were done before.
	//
	// A job whose id is there already stays as it is, and becomes a child of
	// the parent given, if it has none that still exists. One that completed
	// before counts as done, with its value, and one that failed before as one
	// that fails now.
	AddFlow(ctx context.Context, now time.Time, nodes []FlowNode) ([]Added, error)
}

// FlowNode is a job of a flow.
type FlowNode struct {
	// Queue is the qualified name of its queue, see Producer.Qualify.
	Queue string
	// NewJob is the job itself. It has an id. Its parent is a job before it in
	// the same call, or one that is there already. Only a job that has neither
	// parent nor children may have a deduplication.
	NewJob
	// Once leaves out everything below this job when it is there already:
	// whoever adds a flow again, not knowing whether it was added, adds nothing.
	Once bool
}

// FlowError is why a flow was refused as a whole.
type FlowError struct {
	// Node is the place, in the call, of the job that was refused.
	Node int
	Err  error
}

func (e *FlowError) Error() string { return fmt.Sprintf("job %d of the flow: %v", e.Node+1, e.Err) }

func (e *FlowError) Unwrap() error { return e.Err }

// FlowReader reads jobs together with their children, by full keys:
// "<qualified queue>:<id>".
type FlowReader interface {
	// ReadFlow reads jobs, their states and the first children of each kind, up
	// to width of them (0: none, below 0: all). One that does not exist is a nil
	// element. Jobs are read one after the other: between two of them a job may
	// move on.
	ReadFlow(ctx context.Context, width int, keys ...string) ([]*FlowRecord, error)
	// Children reads what became of the children of a job, all at once.
	Children(ctx context.Context, key string) ([]Child, error)
	// Names reads the names of jobs; empty: it does not exist.
	Names(ctx context.Context, keys ...string) ([]string, error)
}

// FlowRecord is a job and what is known of its children.
type FlowRecord struct {
	Record
	State    State
	Counts   DependencyCounts
	Children []Child
}

// Child is a child as its parent knows it, and what became of it.
type Child struct {
	Dependency
	Kind DependencyKind
}
