// Package lanes makes a worker's calls to the storage. A call sends the outcomes
// of all jobs that finished since the one before, and takes as many jobs as there
// is capacity for. While calls are under way finished jobs collect, so batches grow
// with the load by themselves.
//
// A lane is one call at a time. While the process reads one answer, the storage
// works on the call of another lane. A lane belongs to the goroutine that makes
// calls on it. Usually, that is one whose handler has just returned: it sends what
// finished, starts the jobs that the call took, and runs one of them itself, so
// that running one job after another costs no switch between goroutines. All other
// calls, such as the first one of an idle worker, are made by the goroutine of Run.
package lanes

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/ledger"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/runner"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// most is how many calls may be under way at once.
const most = 2

// Count returns how many lanes a worker has. With prefetch it has one: of two
// calls that take jobs either may be answered first, and jobs that then wait for
// capacity would run out of order.
func Count(prefetch int) int {
	if prefetch > 0 {
		return 1
	}
	return most
}

// Config sets up lanes.
type Config struct {
	Queue  string
	Store  storage.Storage
	Ledger *ledger.Ledger
	Runner *runner.Runner
	Outage *outage.Reporter
	// Now is the clock by which times are stored.
	Now func() time.Time
	// ID is the first part of the tokens with which jobs are locked.
	ID string
	// Worker is the worker's name, or empty.
	Worker string
	// Lock is how long the lock of a job lasts.
	Lock time.Duration
	// Limit is the worker's rate limit, or nil.
	Limit *storage.RateLimit
	// MaxLimitDelay is the longest time without a call because of a rate limit.
	MaxLimitDelay time.Duration
	// MetricPoints is how many minutes of metrics are kept.
	MetricPoints int
	// DrainDelay is how long to wait for work before looking anyway.
	DrainDelay time.Duration
	// Prefetch: jobs are taken before there is capacity for them.
	Prefetch bool
}

// Lanes makes the calls of one worker that settle and take jobs.
type Lanes struct {
	Config
	ctx  context.Context // of all calls; set by Begin
	halt context.Context // ends when the worker begins to stop; set by Begin

	calls   atomic.Uint64 // for tokens
	failing atomic.Bool   // whether the last call failed
	answers atomic.Uint64 // how many calls were answered
	spare   sync.Pool     // of *call
	nudged  chan struct{} // makes Wait look in spite of a rate limit
	idle    chan *ledger.Job
}

// New returns lanes that make no calls yet.
func New(c Config) *Lanes {
	return &Lanes{
		Config: c, nudged: make(chan struct{}, 1), idle: make(chan *ledger.Job),
		spare: sync.Pool{New: func() any { return new(call) }},
	}
}

// Begin sets the context of all calls, and the one that ends when the worker
// begins to stop. It is called before Run and Wait.
func (l *Lanes) Begin(ctx, halt context.Context) { l.ctx, l.halt = ctx, halt }

// Run makes the calls that nobody else makes, until the worker stops and
// everything is settled. Nothing may be started after it.
func (l *Lanes) Run() {
	for c := l.newCall(); l.Ledger.Await(&c.batch); c = l.newCall() {
		l.runLane(c, false)
	}
	close(l.idle)
}

// call is a call to the storage. It is used again for later calls.
type call struct {
	batch ledger.Batch
	req   storage.SettleRequest
	began time.Time // with Prefetch only
	taken []*ledger.Job
}

func (l *Lanes) newCall() *call { return l.spare.Get().(*call) } //nolint:forcetypeassert // the pool has no others

// reuse keeps a call for later ones, and nothing of what it was about.
func (l *Lanes) reuse(c *call) {
	clear(c.batch.Settle)
	clear(c.taken)
	clear(c.req.Settle)
	l.spare.Put(c)
}

// nextCall returns the next call of a lane. If there is nothing to send, it gives
// the lane back and returns nil.
func (l *Lanes) nextCall() *call {
	c := l.newCall()
	if !l.Ledger.Next(&c.batch) {
		l.spare.Put(c)
		return nil
	}
	return c
}

// runLane makes calls on a lane, beginning with c, until there is nothing to send,
// and gives the lane back. With keepOne it also ends when it has a job for its
// goroutine to run, which it returns.
func (l *Lanes) runLane(c *call, keepOne bool) *ledger.Job {
	for ; c != nil; c = l.nextCall() {
		reply := l.send(c)
		if reply == nil {
			l.Ledger.GiveUp(&c.batch, l.ctx.Err() != nil)
			return nil
		}
		l.conclude(c, reply)
		run := l.recordTaken(c, reply)
		var mine *ledger.Job
		if keepOne && len(run) > 0 {
			mine, run = run[len(run)-1], run[:len(run)-1] // the others start before it
		}
		l.Start(run)
		l.reuse(c)
		if mine != nil {
			if l.Ledger.ReleaseLane() {
				return mine
			}
			l.start(mine)
		}
	}
	return nil
}

// Request returns the request of a call that takes jobs. The caller adds what it
// settles.
func (l *Lanes) Request(take int) storage.SettleRequest {
	return storage.SettleRequest{
		Now: l.Now(), Take: take, Worker: l.Worker, Lock: l.Lock, MetricPoints: l.MetricPoints, Limit: l.Limit,
		Token: l.ID + ":" + strconv.FormatUint(l.calls.Add(1), 36),
	}
}

// prepare builds the request of a call from its batch.
func (l *Lanes) prepare(c *call) {
	if l.Prefetch {
		c.began = time.Now()
	}
	settle := c.req.Settle[:0]
	for _, j := range c.batch.Settle {
		settle = append(settle, j.Outcome)
	}
	c.req = l.Request(c.batch.Take)
	c.req.Settle = settle
}

// send makes a call until it is answered, however long the storage is away. The
// end of halt does not cut it off: an answer that is thrown away may hold jobs. It
// returns nil when the worker gives up, or when it stops and the call would only
// have taken jobs, and certainly took none.
func (l *Lanes) send(c *call) *storage.SettleReply {
	l.prepare(c)
	var back outage.Backoff
	wanted := l.ctx
	if c.batch.TakesOnly() {
		wanted = l.halt
	}
	for {
		reply, err := l.Store.Settle(l.ctx, l.Queue, &c.req)
		if err == nil {
			l.failing.Store(false)
			l.answers.Add(1)
			l.Outage.Succeeded(outage.SettleAndTake)
			return reply
		}
		l.failing.Store(true)
		if errors.Is(err, storage.ErrUncertain) {
			wanted = l.ctx
		}
		if wanted.Err() != nil {
			return nil
		}
		l.Outage.Failed(outage.SettleAndTake, err)
		c.req.Again = true
		back.Wait(wanted)
		if wanted.Err() != nil {
			return nil
		}
	}
}

// conclude handles the answers for the jobs that a call settled.
func (l *Lanes) conclude(c *call, reply *storage.SettleReply) {
	if len(c.batch.Settle) == 0 {
		return
	}
	for i, j := range c.batch.Settle {
		l.Runner.Conclude(l.ctx, j, reply.Errs[i])
	}
	l.Ledger.RecordSettled(c.batch.Settle)
}

// recordTaken makes jobs of what a call took, and records them and what the call
// said about the queue. It returns the jobs that must be started now.
func (l *Lanes) recordTaken(c *call, reply *storage.SettleReply) []*ledger.Job {
	now := time.Now()
	c.taken = l.Runner.Adopt(reply.Jobs, c.req.Token, now, c.taken[:0])
	t := ledger.Taken{Now: now}
	if l.Prefetch {
		t.Took = now.Sub(c.began)
	}
	t.Run, t.Decided = l.Runner.Admit(l.ctx, c.taken)
	if !reply.Due.IsZero() {
		t.Due = now.Add(reply.Due.Sub(l.Now())) // by the monotonic clock from here on
	}
	if reply.Limited > 0 {
		t.LimitedUntil = now.Add(min(reply.Limited, l.MaxLimitDelay))
	}
	return l.Ledger.RecordTaken(&c.batch, &t)
}

// Silence is how long no call was answered although one is under way. The zero
// value begins to count with the first look.
type Silence struct {
	answers uint64
	since   time.Time
}

// deadAir is how long a call may take before the storage counts as away, for a
// worker that stops.
const deadAir = 500 * time.Millisecond

// Away reports whether the storage does not answer.
func (l *Lanes) Away(quiet *Silence) bool {
	sending := l.Ledger.Snapshot().InFlight > 0
	now, answers := time.Now(), l.answers.Load()
	if quiet.since.IsZero() || answers != quiet.answers || !sending {
		*quiet = Silence{answers, now}
	}
	return l.failing.Load() && sending || now.Sub(quiet.since) > deadAir
}
