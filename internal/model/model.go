// Package model holds what the generator knows about annotated packages:
// plain values, each with the position of the text that it comes from.
package model

import (
	"go/token"
	"time"
)

// RuntimePath and RuntimeName are the import path and the name of the package
// that generated code calls. The name differs from the path's last element.
const (
	RuntimePath = "github.com/bullmq-gen/bullmq-gen/runtime"
	RuntimeName = "bullmq"
)

// Package is one Go package with annotated declarations.
type Package struct {
	Path string // import path
	Name string
	Dir  string // absolute
	// Constraint is the build constraint that all files with annotations have, or "".
	Constraint string
	// Imports are the import declarations of its files.
	Imports []Import
	Queues  []*Queue
	Tasks   []*Task
	// Output is the package that the API goes to, or nil when there is none.
	Output *Output
	// Upgrades are all that the package declares, and Task.Upgrades those of a task.
	Upgrades []*Upgrade
}

// Import is one import declaration.
type Import struct {
	Path string
	Pos  token.Position
}

// Queue is a queue of tasks: a string constant with a queue directive, or a
// name that only tasks mention.
type Queue struct {
	Name   string // the constant's value
	GoName string // the constant's name; "" when there is none
	Doc    string
	Pos    token.Position // of the constant's name, or of the first task

	// Ident is what generated names have in common, such as Emails.
	Ident string
	// Handle is the name of the function that handles the queue's tasks.
	Handle string
	Tasks  []*Task // sorted by GoName

	Places      // of the directive's arguments
	Concurrency int
	// Limit holds for the queue, or with Group for each group of its jobs by itself.
	Limit RateLimit
	// Group is the Go field of payloads that says which group a job is of, or "".
	Group                     string
	KeepCompleted, KeepFailed *Retention
}

// NewWorker is the name of the function that returns a worker of the queue with
// all its handlers.
func (q *Queue) NewWorker() string { return "New" + q.Ident + "Worker" }

// Task is a type with a task directive.
type Task struct {
	Queue, Name string
	Pos         token.Position // of QUEUE/NAME
	GoName      string         // the type's name
	TypePos     token.Position // of the type's name
	Doc         string

	Payload *Type
	// Broken is true when the type checker refused the declaration, which is
	// reported already.
	Broken bool
	// Result is nil when the task has none.
	Result    *Type
	ResultPos token.Position

	// Children is the struct whose fields are the slots for the children that
	// the task's jobs wait for, or nil.
	Children    *Type
	ChildrenPos token.Position
	Slots       []*Slot // in the order of the source

	Aliases  []Alias
	Upgrades []*Upgrade // sorted by From, once they are put to their tasks
	Codec    *Codec     // nil: none

	LIFO                      bool
	SizeLimit                 int
	Timeout, TTL              time.Duration
	KeepCompleted, KeepFailed *Retention
	Retry                     *Retry
	Dedup                     *Dedup
	Schedules                 []*Schedule // in the order of the source
}

// AliasNames are the task's aliases.
func (t *Task) AliasNames() []string {
	names := make([]string, len(t.Aliases))
	for i, a := range t.Aliases {
		names[i] = a.Name
	}
	return names
}

// Alias is an earlier name of a task.
type Alias struct {
	Name string
	Pos  token.Position
}

// Places are the positions of a directive's arguments by key; the key "" is
// the directive itself.
type Places map[string]token.Position

// At is the position of the first key that was written, or of the directive.
func (p Places) At(keys ...string) token.Position {
	for _, k := range keys {
		if pos, ok := p[k]; ok {
			return pos
		}
	}
	return p[""]
}

// Has is true when the key was written.
func (p Places) Has(key string) bool {
	_, ok := p[key]
	return ok
}

// Retry is a retry directive.
type Retry struct {
	Places
	Broken   bool // it has an error, which is reported already
	Attempts int
	Backoff  Backoff
}

// Backoff is the wait between attempts. Type is "fixed", "exponential", or
// with Custom the name of a strategy.
type Backoff struct {
	Type   string
	Custom bool
	Delay  time.Duration
	Jitter float64
	Max    time.Duration
}

// Dedup is a dedup directive.
type Dedup struct {
	Places
	Broken                                bool // it has an error, which is reported already
	TTL                                   time.Duration
	Extend, Replace, KeepLast, Reschedule bool
}

// Schedule is a schedule directive: by Cron, or Every so often, it adds a job.
type Schedule struct {
	Places        // of the arguments; that of the pattern has the key "cron"
	Broken bool   // it has an error, which is reported already
	ID     string // as it is written, or the name of the task

	Cron, TZ      string
	Every, Offset time.Duration
	Limit         int
	Start, End    time.Time // in UTC; zero: none
	// Payload is where the payload of its jobs comes from; nil: it is the type's
	// zero value.
	Payload *Given
}

// Given is a declaration of the annotated package that gives a payload.
type Given struct {
	Name string
	Call bool // it is a function
	Err  bool // which returns an error too
}

// RateLimit is at most Max jobs in each Per.
type RateLimit struct {
	Max int
	Per time.Duration
}

// Retention says what is kept of finished jobs: nothing, the newest Count,
// those younger than Age, or all.
type Retention struct {
	None  bool
	Count int
	Age   time.Duration
}
