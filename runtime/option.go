package bullmq

import (
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// AddOption changes one job that is added. Options are applied in the order:
// the task's declaration, the payload's fields, the call.
type AddOption interface{ applyAdd(*Options) }

// NodeOption changes one job of a flow.
type NodeOption interface{ applyNode(*Options) }

// Option changes a job wherever it is added.
type Option interface {
	AddOption
	NodeOption
}

type option func(*Options)

func (f option) applyAdd(o *Options)  { f(o) }
func (f option) applyNode(o *Options) { f(o) }

type addOption func(*Options)

func (f addOption) applyAdd(o *Options) { f(o) }

type nodeOption func(*Options)

func (f nodeOption) applyNode(o *Options) { f(o) }

// Delay lets the job wait d before it may run, to the millisecond; 0: it may run at once.
func Delay(d time.Duration) Option { return option(func(o *Options) { o.Delay = d }) }

// RunAt lets the job wait until t, by this machine's clock; a time that has
// passed: it may run at once.
func RunAt(t time.Time) Option { return option(func(o *Options) { o.runAt = t }) }

// Priority is 1 (most urgent) to 2097151. 0 means none; such jobs run before all that have one.
func Priority(n int) Option { return option(func(o *Options) { o.Priority = n }) }

// Attempts is how often the job is tried in all; 0 and 1: once.
func Attempts(n int) Option { return option(func(o *Options) { o.Attempts = n }) }

// WithBackoff is the wait between a failed attempt and the next.
func WithBackoff(b Backoff) Option { return option(func(o *Options) { o.Backoff = b }) }

// LIFO makes the job the next to run. It has no effect on jobs with a delay or a priority.
func LIFO(on bool) Option { return option(func(o *Options) { o.LIFO = on }) }

// KeepCompleted says what is kept of completed jobs when this one completes; nil: what the worker says.
func KeepCompleted(r *Retention) Option { return option(func(o *Options) { o.KeepCompleted = r }) }

// KeepFailed says what is kept of failed jobs when this one fails permanently; nil: what the worker says.
func KeepFailed(r *Retention) Option { return option(func(o *Options) { o.KeepFailed = r }) }

// KeepLogs keeps the last n lines of the job's log; 0: all.
func KeepLogs(n int) Option { return option(func(o *Options) { o.KeepLogs = n }) }

// SizeLimit is the largest payload in bytes of JSON; 0: no limit.
func SizeLimit(bytes int) Option { return option(func(o *Options) { o.SizeLimit = bytes }) }

// StackTraceLimit keeps the stacks of the last n failed attempts; 0: none. Without this option all are kept.
func StackTraceLimit(n int) Option { return option(func(o *Options) { o.StackTraceLimit = &n }) }

// Timestamp is when the job was made; the zero time: now. A delay counts from it.
func Timestamp(t time.Time) Option { return option(func(o *Options) { o.Timestamp = t }) }

// Timeout ends the handler's context after d; 0: never. It is kept with the job; Node workers do not know it.
func Timeout(d time.Duration) Option { return option(func(o *Options) { o.Timeout = d }) }

// TTL fails the job, without running it, if it waited longer than d when a
// worker takes it; 0: never. Waiting begins when the job is made, or when its
// delay is over. Node workers do not know it and run such a job.
func TTL(d time.Duration) Option { return option(func(o *Options) { o.TTL = d }) }

// Telemetry passes a trace context to the worker that processes the job, as peers do.
// The metadata is the JSON text of an object whose values are strings, as a
// propagator writes it: {"traceparent":"00-..."}. Other text is refused when the
// job is added, since it would stop a Node worker that has telemetry.
func Telemetry(metadata string) Option { return option(func(o *Options) { o.Telemetry = metadata }) }

// OmitContext keeps workers from continuing the trace of the producer.
func OmitContext() Option { return option(func(o *Options) { o.OmitContext = true }) }

// JobID gives the job an id of your own: no integer, no colon. When a job with
// this id is there already, in any state, nothing is added and the handle
// refers to the job that is there.
func JobID(id string) AddOption { return addOption(func(o *Options) { o.JobID = id }) }

// Deduplicate makes the add yield to a job that holds the same deduplication id.
func Deduplicate(d Dedup) AddOption { return addOption(func(o *Options) { o.Dedup = &d }) }

// ChildOf makes a job, that exists already, wait for this one. The parent must
// not be finished; usually it is the one whose handler makes this call, and
// which then returns WaitForChildren.
func ChildOf(p Parent) AddOption { return addOption(func(o *Options) { o.Parent = &p }) }

// WhenFails says what the parent does when this child fails permanently.
func WhenFails(p OnFail) NodeOption { return nodeOption(func(o *Options) { o.onFail = p }) }

// UnderPrefix puts a job of a flow on a queue below another key prefix than the
// storage's. Its descendants say so themselves.
func UnderPrefix(prefix string) NodeOption {
	return nodeOption(func(o *Options) { o.prefix = prefix })
}

// Parent names a job that waits for others.
type Parent struct {
	// Queue is the name of its queue, in the same storage.
	Queue string
	// Prefix is that of a queue below another key prefix than the storage's;
	// empty: the storage's.
	Prefix string
	ID     string
	// OnFail is what the parent does when the child fails permanently.
	OnFail OnFail
}

// OnFail says what a parent does when a child fails permanently.
type OnFail = storage.OnFail

// The policies of a parent for a child that fails permanently.
const (
	OnFailWait     = storage.OnFailWait     // it goes on waiting, until the child is retried or removed
	OnFailFail     = storage.OnFailFail     // it fails too
	OnFailContinue = storage.OnFailContinue // it runs at once
	OnFailIgnore   = storage.OnFailIgnore   // the child counts as done, and its reason is kept
	OnFailRemove   = storage.OnFailRemove   // the child counts as done, and no trace of it is kept
)
