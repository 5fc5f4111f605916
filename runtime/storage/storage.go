// Package storage is the contract between the runtime and the place where
// jobs live. The runtime knows jobs, states, locks and events; a storage knows
// how they are kept. Every call takes and returns lists: one job at a time is
// the case of a list with one element.
//
// Programs that use queues do not need this package: they open a storage (see
// package redisq) and hand it to bullmq.NewClient.
package storage

import (
	"context"
	"time"
)

// Storage is everything the runtime asks of a place where jobs live. All
// methods are safe for concurrent use, and each call is atomic: it happens as
// a whole or not at all, unless its comment says that it works in steps.
type Storage interface {
	Producer
	FlowProducer
	Consumer
	Operator
	Inspector
	FlowReader
	EventLog
	Canceller
	Scheduler

	// Usable reports why queues of this name cannot be kept here, or nil. It
	// asks no server.
	Usable(queue string) error

	// Ping reports whether the storage answers, and what is wrong when it does not.
	Ping(ctx context.Context) error

	// Close releases the connections that the storage opened itself.
	Close() error
}

// Producer adds jobs.
type Producer interface {
	// Announce records, on behalf of a producer, which library uses the queue
	// and how many events it keeps. It writes version only where none stands,
	// and maxEvents only when it is zero or more: a limit that a peer chose stays.
	Announce(ctx context.Context, queue, version string, maxEvents int) error

	// Qualify is the name by which jobs of other queues refer to a queue.
	Qualify(queue string) string

	// Add stores jobs in the order given and answers with one result for each.
	// A job that is refused has Err set; the others are stored all the same.
	// A storage may take many jobs in steps, each of them atomic. When a step
	// fails its error is returned, and so are the answers, if a step before it
	// was done: every job that is not certain to be stored then has Err set. A
	// request that may have reached the storage is never repeated; its error is
	// ErrUncertain.
	Add(ctx context.Context, queue string, jobs []NewJob) ([]Added, error)
}

// Consumer works jobs.
type Consumer interface {
	// Settle records what became of jobs, and in the same step takes up to
	// req.Take others. See SettleRequest. The request is not kept: the caller
	// uses it again.
	Settle(ctx context.Context, queue string, req *SettleRequest) (*SettleReply, error)

	// NewWaiter returns something that waits for work on the queue, over a
	// connection of its own. Name is the worker's name, or empty.
	NewWaiter(queue, name string) Waiter

	// Admit gives taken jobs their places within the rate limits of their
	// groups, and returns how long each is to wait; 0: it may run now. A job
	// that waits keeps its place: it is admitted when its time has come.
	Admit(ctx context.Context, queue string, now time.Time, limit RateLimit, jobs []Grouped) ([]time.Duration, error)

	// Wake lets some waiter of the queue look for work. A worker that was woken
	// but has no free slot passes the word on with it.
	Wake(ctx context.Context, queue string) error

	// Renew makes the locks last d from now, and returns the ids of those that
	// are lost: gone, or held with another token.
	Renew(ctx context.Context, queue string, locks []Lock, d time.Duration) (lost []string, err error)

	// KeepStep keeps the result of a named step, JSON text, with a job that is
	// locked with the token ("0": no lock is checked): until the job completes,
	// or is removed. See Record.Steps.
	KeepStep(ctx context.Context, queue string, lock Lock, name string, value []byte) error

	// RecoverStalled puts jobs whose lock expired back to the waiting ones, and
	// marks the active ones to be looked at next time. At most one call in
	// req.Interval does anything, whichever process makes it.
	RecoverStalled(ctx context.Context, queue string, req StalledRequest) (recovered []string, err error)
}

// Waiter waits for work. It belongs to one goroutine.
type Waiter interface {
	// Wait returns as soon as there may be a job to take, or after d. Due is
	// the time of the earliest delayed job when that is what there is to wait
	// for next, and zero otherwise. An error means that the connection was lost;
	// the next call makes a new one.
	Wait(ctx context.Context, d time.Duration) (due time.Time, err error)

	// Close ends the connection, and a Wait under way.
	Close() error
}

// NewJob is a job to be added.
type NewJob struct {
	// ID is the id that the producer chose; empty: the storage gives the next number.
	ID   string
	Name string
	// Names are all names of jobs of its task, if there is one and an id was chosen.
	// A job of a flow or with a parent is refused with ErrOtherTask if a job of that
	// id is there under none of them.
	Names []string
	// Data is the payload, JSON text.
	Data []byte
	// Opts is the options' JSON text, stored as it is.
	Opts []byte
	// Timestamp is when the job was made, to the millisecond.
	Timestamp time.Time
	// Delay is how long after Timestamp the job becomes due; zero or less: at once.
	Delay time.Duration
	// Priority is 1 (most urgent) to 2097151; 0: before all prioritized ones.
	Priority int
	// LIFO puts the job before the other waiting ones. It means nothing for delayed and prioritized jobs.
	LIFO bool
	// Parent is the job that waits for this one, or nil.
	Parent *Parent
	// Dedup is the deduplication, or nil.
	Dedup *Dedup
}

// Parent names a job that waits for another, and what it does when that one fails.
type Parent struct {
	ID string
	// Queue is the qualified name of the parent's queue, see Producer.Qualify.
	Queue string
	// OnFail is the policy: "" (go on waiting), or one of the OnFail constants.
	OnFail OnFail
}

// OnFail says what a parent does when a child fails permanently.
type OnFail string

// The policies, under the names that are stored with the child.
const (
	OnFailWait     OnFail = ""     // the parent goes on waiting, until the child is retried or removed
	OnFailFail     OnFail = "fpof" // the parent fails too
	OnFailContinue OnFail = "cpof" // the parent runs at once
	OnFailIgnore   OnFail = "idof" // the child counts as done, its reason is kept
	OnFailRemove   OnFail = "rdof" // the child counts as done, no trace is kept
)

// Dedup makes an add yield to a job that holds the same id.
type Dedup struct {
	ID string
	// TTL is how long the id is held; zero: until its job finishes.
	TTL time.Duration
	// Extend restarts the TTL at each add that yields.
	Extend bool
	// Replace lets an add take the place of a job that is still delayed.
	Replace bool
	// KeepLastIfActive keeps the last add made while the holder is active, and runs it afterwards.
	KeepLastIfActive bool
	// Reschedule moves a delayed holder to the new add's delay.
	Reschedule bool
}

// Added is the answer to one job of an Add.
type Added struct {
	// ID is the job's id: for an add that yielded, that of the job already there.
	ID string
	// Existing is true when a job with this custom id, or one holding the same
	// deduplication id, was there already and no job was stored.
	Existing bool
	// Name is the name of the job that was there already. It is empty when one
	// was added, and when the job that held a deduplication id is gone.
	Name string
	// Err is why the job was refused, or nil.
	Err error
}

// Lock names a taken job and the token it was taken with.
type Lock struct{ ID, Token string }

// Grouped names a taken job and the group whose rate limit it counts for.
type Grouped struct{ ID, Group string }

// StalledRequest is the input of RecoverStalled.
type StalledRequest struct {
	Now time.Time
	// Interval is the time between two checks of the whole queue.
	Interval time.Duration
	// MaxStalled is how often a job may stall before it fails.
	MaxStalled int
}

// RateLimit is at most Max jobs started in each window of Per.
type RateLimit struct {
	Max int
	Per time.Duration
}

// SettleRequest says what became of jobs, and how many others to take.
type SettleRequest struct {
	// Now is the caller's clock: finish times, delays and due jobs are counted by it.
	Now time.Time

	// Settle is what became of taken jobs, each at most once.
	Settle []Settlement

	// Take is how many jobs are wanted. Due delayed jobs become waiting ones
	// whenever it is above zero, even if then none may be taken.
	Take int
	// Token is what taken jobs are locked with: of this call alone, so that a
	// call sent again can find what the first sending took. "0": no locks.
	Token string
	// Worker is the worker's name, kept with each job that it takes, or empty.
	// The jobs to be settled were taken under the same name.
	Worker string
	// Lock is how long the locks of taken jobs last.
	Lock time.Duration
	// Limit is the worker's own rate limit, or nil. A limit of the queue's comes before it.
	Limit *RateLimit
	// MetricPoints is how many minutes of metrics are kept; 0: none are collected.
	MetricPoints int

	// Again says that this same request was sent before and its answer was
	// lost. What the first sending settled is answered as done, and jobs that
	// it took are returned again.
	Again bool
}

// SettleReply answers a SettleRequest.
type SettleReply struct {
	// Errs has, for each settlement, nil or why it was refused.
	Errs []error
	// Jobs are the taken ones, in the order in which they are to start. The delay
	// of one that was never started before need not be told: it is over.
	Jobs []*Record
	// Limited is how long no job may be started because of a rate limit; 0: none
	// is in force, or none was met. One that was set by hand is met also by a job
	// that goes back to wait, and then no job is taken.
	Limited time.Duration
	// Due is when the earliest delayed job becomes due. It is zero when there is
	// none, when a job was taken, or when nothing may be taken now.
	Due time.Time
}

// SettleKind is what became of a job.
type SettleKind byte

// The kinds of settlement.
const (
	Completed       SettleKind = 'c' // Value is its result
	Failed          SettleKind = 'f' // permanently; Reason, Stack
	RetryNow        SettleKind = 'r' // waits again at once; counts as an attempt; Reason, Stack
	RetryLater      SettleKind = 'd' // delayed by Delay; counts as an attempt; Reason, Stack
	DelayedUntil    SettleKind = 'u' // delayed by Delay, without counting an attempt
	BackToWait      SettleKind = 'w' // first among the waiting ones, without counting an attempt
	WaitForChildren SettleKind = 'p' // until the pending children are done, without counting an attempt
)

// Settlement says what became of one job.
type Settlement struct {
	ID    string
	Token string // the one it was taken with; "0": no lock is checked
	Kind  SettleKind

	// Value is the result of a completed job, JSON text.
	Value []byte
	// Reason is the error's text of a failed or retried job, stored as it is.
	Reason string
	// Stack is the list of stacks so far, a JSON array of strings; nil: not written.
	Stack []byte
	// Telemetry is written to the job's telemetry field when it fails or is retried; empty: nothing is.
	Telemetry string

	// Delay counts from the request's Now (RetryLater, DelayedUntil).
	Delay time.Duration
	// LIFO puts a job that is retried at once before the other waiting ones.
	LIFO bool
	// Unstarted says of a job that goes back to wait that it was never run: the
	// start that was counted when it was taken is not.
	Unstarted bool
	// Attempts is the number of attempts that the job has in all; a failed one
	// that made as many is reported as exhausted.
	Attempts int
	// Keep says what is kept of a completed or failed job.
	Keep Keep
	// Child is the pending child that a WaitForChildren is about; empty: any.
	Child string
}

// Keep says what is kept of finished jobs. The zero value keeps everything.
type Keep struct {
	// Remove deletes the finished job at once.
	Remove bool
	// Count above zero keeps that many of the newest.
	Count int
	// Age above zero removes jobs that finished longer ago, whenever another one finishes.
	Age time.Duration
	// Limit is how many jobs Age removes at a time; 0: 1000.
	Limit int
}

// Record is a stored job. Fields that were never written are zero.
type Record struct {
	ID   string
	Name string
	Data []byte // JSON text; may be empty, when the producer had a value without one
	Opts []byte // JSON text

	Timestamp time.Time
	Delay     time.Duration
	Priority  int

	AttemptsMade    int
	AttemptsStarted int
	StalledCount    int

	ProcessedOn time.Time
	FinishedOn  time.Time
	ProcessedBy string

	Progress     []byte // JSON text
	ReturnValue  []byte // JSON text
	FailedReason string
	Stack        []byte // JSON array of strings
	// Deferred is the reason with which the next worker that takes the job fails it.
	Deferred string

	// ParentKey and Parent are as stored: "<prefix>:<queue>:<id>" and JSON text.
	ParentKey string
	Parent    []byte

	ScheduleID string
	DedupID    string

	// Steps are the results of the job's steps by their names, JSON text.
	Steps map[string][]byte

	// Missing is true when the job stood in a list but nothing else of it is stored.
	Missing bool
	// Extra are stored fields that this version does not know.
	Extra map[string]string
}
