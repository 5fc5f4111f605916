package ledger

import (
	"sync"
	"time"
)

// Config sets up a ledger.
type Config struct {
	// Capacity is how many handlers may run at once.
	Capacity int
	// MaxBatch is the most jobs that one call settles or takes.
	MaxBatch int
	// Lanes is how many calls may be under way at once.
	Lanes int
	// Prefetch is how many jobs may be taken before there is capacity for them.
	Prefetch int
	// HandlerTime and CallTime are how long handlers and calls take, until some
	// have been measured. HandlerTime 0: nothing is prefetched before that.
	HandlerTime, CallTime time.Duration
}

// Ledger is the state of one worker. It is safe for concurrent use.
type Ledger struct {
	maxBatch int
	lanes    int
	member   *Member    // of a pool whose capacity other workers share, or nil
	toSend   *sync.Cond // signaled when there may be something to send
	toWait   *sync.Cond // signaled when the queue may have nothing to take

	mu       sync.Mutex
	finished []*Job   // have an outcome to be sent
	held     jobList  // taken and not settled
	prefetch prefetch // taken before there was capacity
	capacity int
	running  int // handlers
	asked    int // capacity that calls under way may fill
	takes    int // calls under way that only take
	inFlight int // lanes in use
	paused   bool
	stopping bool      // takes nothing more
	closed   bool      // lanes end
	drained  bool      // the last take found less than it asked for
	due      time.Time // when the next delayed job is due, if drained
	limited  time.Time // until when a rate limit holds
}

// New returns a ledger of a worker that holds no jobs.
func New(c Config) *Ledger {
	l := &Ledger{
		maxBatch: c.MaxBatch, lanes: c.Lanes, capacity: c.Capacity,
		prefetch: prefetch{most: c.Prefetch, epoch: time.Now(), pace: c.HandlerTime, trip: c.CallTime},
	}
	l.toSend, l.toWait = sync.NewCond(&l.mu), sync.NewCond(&l.mu)
	return l
}

// Snapshot is the state of a ledger at one moment.
type Snapshot struct {
	// Running is how many handlers run.
	Running int
	// Held is how many jobs are taken and not settled.
	Held int
	// InFlight is how many lanes are in use.
	InFlight int
	// Prefetched are the jobs that wait for capacity, the next one first.
	Prefetched []*Job
	// Paused and Stopping: no jobs are taken.
	Paused, Stopping bool
	// Hungry: the worker asked its pool for more capacity than it got.
	Hungry bool
	// LimitedUntil is when the rate limit ends that was met last; zero: none was.
	LimitedUntil time.Time
}

// Snapshot returns the state now.
func (l *Ledger) Snapshot() Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Snapshot{
		Running: l.running, Held: l.held.size, InFlight: l.inFlight, Paused: l.paused, Stopping: l.stopping,
		Prefetched: append([]*Job(nil), l.prefetch.ready...), LimitedUntil: l.limited, Hungry: l.member.isHungry(),
	}
}

// SetCapacity changes how many handlers may run at once, and returns prefetched
// jobs that the caller must start.
func (l *Ledger) SetCapacity(n int) (run []*Job) {
	l.mu.Lock()
	l.capacity = n
	run = l.startPrefetchedLocked()
	l.mu.Unlock()
	l.toSend.Broadcast()
	l.toWait.Signal()
	return run
}

// SetPaused makes the worker take no jobs, or take them again. It reports
// whether the worker still runs.
func (l *Ledger) SetPaused(on bool) bool {
	l.mu.Lock()
	l.paused = on
	if on {
		l.putBackLocked()
	}
	l.drained = l.drained && on // after a pause the queue is looked at again
	alive := !l.stopping && !l.closed
	l.mu.Unlock()
	l.toSend.Broadcast()
	l.toWait.Signal()
	return alive
}

// BeginStop makes the worker take nothing more. What it holds is still settled.
func (l *Ledger) BeginStop() {
	l.mu.Lock()
	l.stopping = true
	l.putBackLocked()
	l.mu.Unlock()
	l.toSend.Broadcast()
	l.toWait.Broadcast()
}

// Left is what a worker leaves undone.
type Left struct {
	// Running are the jobs whose handlers have not returned.
	Running []*Job
	// Unstored are the jobs whose outcomes the storage has not accepted.
	Unstored []*Job
	// Unknown: a call under way may have taken jobs.
	Unknown bool
}

// Abandon ends the lanes and gives up all jobs. It returns what is left undone.
func (l *Ledger) Abandon() Left {
	l.mu.Lock()
	l.closed = true
	left := Left{Unknown: l.asked > 0}
	for j := range l.held.all() {
		gone := j.state.Swap(stateGone) == stateGone // settled just now, or its lock is lost
		switch {
		case !j.ended:
			left.Running = append(left.Running, j)
		case !gone:
			left.Unstored = append(left.Unstored, j)
		}
	}
	l.mu.Unlock()
	l.toSend.Broadcast()
	l.toWait.Broadcast()
	return left
}

// Wake makes the lanes look whether there is something to send or to take.
func (l *Ledger) Wake() {
	l.mu.Lock()
	l.mu.Unlock() //lint:ignore SA2001 whoever looked before the change is waiting now
	l.toSend.Broadcast()
	l.toWait.Signal()
}
