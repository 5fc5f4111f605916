package bullmq

import (
	"fmt"
	"time"
)

// QueueSpec declares a queue: its name, its tasks, and what holds for all of
// its workers and jobs. Generated code has one for each queue; it is not
// changed once it is in use.
type QueueSpec struct {
	// Name of the queue: not empty, without a colon.
	Name string
	// Tasks are the names of all declared tasks of the queue. A worker that
	// does not handle each of them does not start, see AllowPartial.
	Tasks []string
	// Concurrency is how many jobs each worker runs at once, unless the worker
	// says so itself; 0: 1.
	Concurrency int
	// Limit is the rate limit that each worker of the queue brings, unless it
	// has its own. Peers with a limit share one count. Zero: none.
	Limit RateLimit
	// GroupLimit is a rate limit for each group of jobs by itself, see the
	// worker's option of that name. The group is Keys.Group. Zero: none.
	GroupLimit RateLimit
	// KeepCompleted and KeepFailed say what is kept of finished jobs that do
	// not say so themselves. Nil: everything, unless the worker says otherwise.
	KeepCompleted, KeepFailed *Retention
}

func (q *QueueSpec) validate() error {
	if q == nil {
		return fmt.Errorf("no queue given")
	}
	var p problems
	p.queueName(q.Name)
	if q.Concurrency < 0 {
		p.add("queue %q: concurrency must be 0 or more, not %d", q.Name, q.Concurrency)
	}
	p.rateLimit(q.Limit)
	p.rateLimit(q.GroupLimit)
	p.retention("keep-completed", q.KeepCompleted)
	p.retention("keep-failed", q.KeepFailed)
	return p.err()
}

// Spec declares a task: a kind of job, by its name on a queue, and the options
// that its jobs have unless a call says otherwise.
type Spec struct {
	Queue *QueueSpec
	// Name of the job on the queue; peers see it.
	Name string
	// Aliases are earlier names whose jobs, still in the queue, this task handles too.
	Aliases []string
	// Upgrades are earlier names whose payloads had another shape, with what
	// converts them, see UpgradeFrom.
	Upgrades []Upgrade
	// Codec returns what encodes payloads and results before they are stored. It
	// is asked when the task is used first. Nil: JSON is stored as it is.
	Codec func() Codec

	// Attempts is how often a job is tried in all; 0 and 1: once.
	Attempts int
	// Backoff is the wait between two attempts; the zero value: none.
	Backoff Backoff
	// LIFO makes a new job the next to run.
	LIFO bool
	// SizeLimit is the largest payload in bytes of JSON, as it is stored; 0: no limit.
	SizeLimit int
	// Timeout is the longest time a handler may take; 0: no limit. Node workers do not know it.
	Timeout time.Duration
	// TTL fails a job, without running it, that waited longer; 0: never. Node workers do not know it.
	TTL time.Duration
	// KeepCompleted and KeepFailed say what is kept of finished jobs. Nil: what the queue says.
	KeepCompleted, KeepFailed *Retention
	// Dedup is how jobs with equal Keys.Dedup yield to each other; its ID is not used here.
	Dedup Dedup

	// Slots are the places for children that the task's jobs wait for. Without
	// any, jobs of the task may have children all the same.
	Slots []SlotSpec
}

// validate finds what is wrong with the declaration of a task whose payloads
// are of the type that payload points to.
func (s *Spec) validate(payload any) error {
	var p problems
	if err := s.Queue.validate(); err != nil {
		p.add("%w", err)
	}
	p.jobName("name", s.Name)
	for _, a := range s.Aliases {
		p.jobName("alias", a)
		if a == s.Name {
			p.add("alias %q is the name itself", a)
		}
	}
	s.checkUpgrades(payload, &p)
	if s.Timeout < 0 || s.TTL < 0 {
		p.add("timeout and ttl must not be negative")
	}
	checkSlots(s.Slots, &p)
	o := s.options()
	o.check(&p)
	return p.wrap("task %q", s.Name)
}

// options are those of a job of the task that says nothing itself.
func (s *Spec) options() Options {
	o := Options{
		Attempts: s.Attempts, Backoff: s.Backoff, LIFO: s.LIFO, SizeLimit: s.SizeLimit,
		Timeout: s.Timeout, TTL: s.TTL, KeepCompleted: s.KeepCompleted, KeepFailed: s.KeepFailed,
	}
	if s.Queue != nil {
		if o.KeepCompleted == nil {
			o.KeepCompleted = s.Queue.KeepCompleted
		}
		if o.KeepFailed == nil {
			o.KeepFailed = s.Queue.KeepFailed
		}
	}
	return o
}

// PayloadOptions are the options of one job that come from its payload.
type PayloadOptions struct {
	// JobID is the custom id; empty: the queue numbers the job.
	JobID string
	// Dedup is the deduplication id, see DedupKey; empty: none.
	Dedup string
	// Priority is 1 (most urgent) to 2097151, or 0 for none.
	Priority int
	// Delay is how long the job waits before it may run.
	Delay time.Duration
	// Group is the group whose rate limit the job counts for; empty: none.
	Group string
}

// Backoff is the wait between a failed attempt and the next.
type Backoff struct {
	// Type is "fixed", "exponential", or the name of a strategy that the
	// workers register (see BackoffStrategy). Empty: no wait.
	Type string
	// Delay is the wait (fixed), or the first one, doubled each time (exponential).
	Delay time.Duration
	// Jitter is which part of the wait is random, from 0 (none) to 1 (all).
	Jitter float64
	// Max is the longest wait of an exponential backoff; 0: no cap. Node workers do not know it.
	Max time.Duration
}

// Fixed waits d after each failed attempt.
func Fixed(d time.Duration) Backoff { return Backoff{Type: "fixed", Delay: d} }

// Exponential waits d after the first failed attempt and twice as long after each further one.
func Exponential(d time.Duration) Backoff { return Backoff{Type: "exponential", Delay: d} }

// RateLimit is at most Max jobs started in each window of Per. The window
// begins with its first job.
type RateLimit struct {
	Max int
	Per time.Duration
}

// Retention says what is kept of finished jobs. The zero value keeps everything.
type Retention struct {
	// Remove deletes each job as soon as it is finished.
	Remove bool
	// Count above zero keeps that many of the newest.
	Count int
	// Age above zero removes jobs that finished longer ago, when another one finishes.
	Age time.Duration
	// Limit is how many jobs Age removes at a time; 0: 1000.
	Limit int
}

// KeepAll keeps every finished job.
func KeepAll() *Retention { return &Retention{} }

// KeepNone removes each job as soon as it is finished. Handle.Result then
// works only while somebody waits for it.
func KeepNone() *Retention { return &Retention{Remove: true} }

// KeepLast keeps the n newest finished jobs; n = 0 is KeepNone.
func KeepLast(n int) *Retention { return &Retention{Count: n, Remove: n == 0} }

// KeepFor keeps finished jobs for d.
func KeepFor(d time.Duration) *Retention { return &Retention{Age: d} }

// Dedup makes an add yield to a job that holds the same id. With an ID alone
// the id is held until its job finishes.
type Dedup struct {
	// ID is what two jobs have in common; not empty.
	ID string
	// TTL holds the id for this long instead, whatever becomes of the job ("throttle").
	TTL time.Duration
	// Extend restarts the TTL at each add that yields.
	Extend bool
	// Replace lets an add take the place of a job that is still delayed; with
	// TTL, Extend and a delay: "debounce".
	Replace bool
	// KeepLastIfActive remembers the last add made while the holder runs, and runs it afterwards.
	KeepLastIfActive bool
	// Reschedule moves a delayed holder to the delay of the add that yields. 5.x peers do not know it.
	Reschedule bool
}

// Millis is a duration in a payload: a JSON number of milliseconds, which is
// what Node programs expect. time.Duration would be written in nanoseconds.
type Millis int64

// Duration is the same time as a time.Duration.
func (m Millis) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// MillisOf is d in whole milliseconds, rounded down.
func MillisOf(d time.Duration) Millis { return Millis(d.Milliseconds()) }

// None is the result of tasks that have none. It is stored as null.
type None struct{}

// MarshalJSON returns null.
func (None) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// UnmarshalJSON takes any value: what a peer returned does not matter here.
func (*None) UnmarshalJSON([]byte) error { return nil }
