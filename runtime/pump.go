package bullmq

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// defaultMaxBatch is the most jobs that one call settles or takes. More gain
// nothing and hold the server for longer.
const defaultMaxBatch = 50

// minBatch is what a call takes at least, if there is as much.
const minBatch = 8

// pump is the worker's conversation with the storage: calls that say what
// finished since, and ask for as many jobs as there are free slots. While calls
// are under way finished jobs gather, so the batch grows with the load by
// itself. Who makes the calls is told in lanes.go.
type pump struct {
	w     *Worker
	ctx   context.Context // of all calls; set by the start
	halt  context.Context // ends when the worker is to stop; set by the start
	wake  *sync.Cond      // of the caller, when there may be something to send
	idler *sync.Cond      // of the idle loop, when there may be something to wait for
	calls atomic.Uint64

	failing atomic.Bool   // whether the last call failed
	answers atomic.Uint64 // how many calls were answered

	nudged chan struct{} // for the idle loop to look in spite of a rate limit

	slots  *slots
	ahead  ahead
	member *poolMember // in a pool shared with other workers, or nil

	mu       sync.Mutex
	finished []*ActiveJob // have an outcome to be sent
	held     jobList      // taken and not settled
	running  int          // handlers
	asked    int          // slots that a call under way may fill
	takes    int          // calls under way that only take
	sending  int          // lanes in use
	spare    []*call      // to be used again
	limit    int          // slots
	lanes    int
	paused   bool
	stopping bool      // takes nothing more
	over     bool      // lanes end
	drained  bool      // the last take found nothing
	due      time.Time // when the next delayed job is due, if drained
	limited  time.Time // until when a rate limit is in force
}

func newPump(w *Worker) *pump {
	p := &pump{
		w: w, nudged: make(chan struct{}, 1), slots: newSlots(w), limit: w.cfg.concurrency, lanes: lanesFor(&w.cfg),
		ahead: ahead{most: w.cfg.prefetch, epoch: time.Now()},
	}
	p.wake, p.idler = sync.NewCond(&p.mu), sync.NewCond(&p.mu)
	return p
}

// batch chooses what a call settles and how many jobs it takes: at most half of
// what waits. Jobs that are taken together would finish together and be taken
// together again, with all slots empty meanwhile. It is false when there is
// nothing to call for.
func (p *pump) batch(c *call) bool {
	room := p.room()
	most := min(max((len(p.finished)+room)/2, minBatch), p.w.cfg.maxBatch)
	n := min(len(p.finished), most)
	c.jobs = append(c.jobs[:0], p.finished[:n]...)
	left := copy(p.finished, p.finished[n:])
	clear(p.finished[left:])
	p.finished = p.finished[:left]
	c.asked = p.member.reserve(min(room, most))
	p.asked += c.asked
	if n == 0 && c.asked > 0 {
		p.takes++
	}
	return n > 0 || c.asked > 0
}

// room is how many jobs may be asked for now.
func (p *pump) room() int { return p.free(p.limit + p.ahead.room(p.limit)) }

// vacant is how many slots have no job, and none that is on its way.
func (p *pump) vacant() int { return p.free(p.limit) }

// free is how many jobs are missing to so many.
func (p *pump) free(wanted int) int {
	if p.stopping || p.paused {
		return 0
	}
	return max(0, wanted-p.running-p.asked-len(p.ahead.ready))
}

// mayTake tells whether a call that only takes is worth making.
func (p *pump) mayTake() bool {
	return !p.drained && p.takes == 0 && (p.limited.IsZero() || !p.limited.After(time.Now()))
}

// request makes up what a call sends.
func (p *pump) request(c *call) {
	w := p.w
	if p.ahead.most > 0 {
		c.began = time.Now()
	}
	c.req = storage.SettleRequest{
		Now: w.now(), Take: c.asked, Worker: w.cfg.name, Lock: w.cfg.lock, MetricPoints: w.cfg.metricPoints,
		Token: w.id + ":" + strconv.FormatUint(p.calls.Add(1), 36), Settle: c.req.Settle[:0],
	}
	if w.cfg.limit.Max > 0 {
		c.req.Limit = &storage.RateLimit{Max: w.cfg.limit.Max, Per: w.cfg.limit.Per}
	}
	for _, j := range c.jobs {
		j.state.CompareAndSwap(jobHeld, jobSettling)
		c.req.Settle = append(c.req.Settle, j.end)
	}
}

// send makes a call until it is answered, however long the storage is away.
// Ctx is not the one that stops the worker: an answer that is thrown away may
// hold jobs. Nil: the worker gave up, or it stops and the call would only have
// taken jobs, and certainly took none.
func (p *pump) send(ctx context.Context, c *call) *storage.SettleReply {
	back, wanted := newBackoff(), ctx
	if c.only() {
		wanted = p.halt
	}
	for {
		reply, err := p.w.store.Settle(ctx, p.w.queue.Name, &c.req)
		if err == nil {
			p.failing.Store(false)
			p.answers.Add(1)
			p.w.outage.over(p.w, settleAndTake)
			return reply
		}
		p.failing.Store(true)
		if errors.Is(err, storage.ErrUncertain) {
			wanted = ctx
		}
		if wanted.Err() != nil {
			return nil
		}
		p.w.outage.report(p.w, settleAndTake, err)
		c.req.Again = true
		back.wait(wanted)
		if wanted.Err() != nil {
			return nil
		}
	}
}

// settled books the answers for the jobs that a call settled.
func (p *pump) settled(ctx context.Context, jobs []*ActiveJob, errs []error) {
	if len(jobs) == 0 {
		return
	}
	for i, j := range jobs {
		if !p.w.conclude(ctx, j, errs[i]) {
			j.state.Store(jobHeld)
		}
	}
	p.mu.Lock()
	for _, j := range jobs {
		if j.state.Load() == jobGone {
			p.held.remove(j)
		} else {
			p.finished = append(p.finished, j)
		}
	}
	p.mu.Unlock()
}

// took books the jobs that a call took, notes what else it said, and returns
// the jobs that are to be run.
func (p *pump) took(ctx context.Context, c *call, reply *storage.SettleReply) []*ActiveJob {
	now := time.Now()
	c.taken = c.taken[:0]
	for _, r := range reply.Jobs {
		c.taken = append(c.taken, p.w.newActiveJob(r, c.req.Token, now))
	}
	run, over := p.w.overLimit(ctx, c.taken)
	p.mu.Lock()
	for _, j := range c.taken {
		p.held.add(j)
	}
	for _, j := range over {
		p.ends(j)
	}
	p.asked -= c.asked
	got := len(run)
	if p.ahead.most > 0 {
		p.ahead.called(now.Sub(c.began))
		p.ahead.add(run)
		if p.stopping || p.paused {
			p.putBack()
		}
		run = p.fill()
	} else {
		p.running += got
	}
	if c.only() {
		p.takes--
	}
	if c.asked > 0 {
		p.note(reply, c.asked, now)
	}
	idle := p.nothing()
	p.mu.Unlock()
	p.member.release(c.asked - got)
	if idle {
		p.idler.Signal()
	}
	return run
}

// note remembers what a take said about the queue.
func (p *pump) note(reply *storage.SettleReply, asked int, now time.Time) {
	p.drained = len(reply.Jobs) < asked
	if p.drained {
		p.member.sated()
	}
	p.due, p.limited = time.Time{}, time.Time{}
	if !reply.Due.IsZero() {
		p.due = now.Add(reply.Due.Sub(p.w.now())) // by the monotonic clock from here on
	}
	if reply.Limited > 0 {
		p.limited = now.Add(min(reply.Limited, p.w.cfg.maxLimitDelay))
	}
}

// returned takes back a call that was given up, and ends its lane.
func (p *pump) returned(c *call) {
	p.mu.Lock()
	p.finished = append(p.finished, c.jobs...)
	p.asked -= c.asked
	if c.only() {
		p.takes--
	}
	p.over = p.over || p.ctx.Err() != nil
	p.release()
	p.mu.Unlock()
	p.member.release(c.asked)
	p.idler.Broadcast()
}

// finish books that a handler ended; the job's outcome is in it, and whoever
// called the handler looks whether it is to be sent. A job whose lock is lost
// has none.
func (p *pump) finish(j *ActiveJob) {
	p.mu.Lock()
	p.running--
	p.ahead.ended(j)
	if j.state.Load() == jobGone {
		p.forget(j)
	} else {
		p.ends(j)
	}
	idle := p.nothing()
	p.mu.Unlock()
	p.member.release(1)
	if idle {
		p.idler.Signal()
	}
}

// ends makes a job's outcome wait to be sent. It is called with the lock held.
func (p *pump) ends(j *ActiveJob) {
	j.ended = true
	p.finished = append(p.finished, j)
}

// nothing tells whether the last take found nothing, or a limit keeps from
// taking: only then has the idle loop something to do.
func (p *pump) nothing() bool { return p.drained || !p.limited.IsZero() }

// poke makes the pump look whether there is room now.
func (p *pump) poke() {
	p.mu.Lock()
	p.mu.Unlock() //lint:ignore SA2001 whoever looked before the change is waiting now
	p.wake.Broadcast()
	p.idler.Signal()
}

// lose gives up a job whose lock is gone, unless it is settled or a call that
// settles it is under way: then that call's answer tells.
func (p *pump) lose(id, token string) *ActiveJob {
	p.mu.Lock()
	defer p.mu.Unlock()
	for j := range p.held.all() {
		if j.record.ID == id && j.token == token && j.state.CompareAndSwap(jobHeld, jobGone) {
			p.drop(j)
			return j
		}
	}
	return nil
}

// drop removes a lost job from what waits to be sent, if its handler is done,
// or from what waits for a slot.
func (p *pump) drop(lost *ActiveJob) {
	if p.ahead.remove(lost) {
		p.forget(lost)
		return
	}
	for i, j := range p.finished {
		if j == lost {
			p.finished = append(p.finished[:i], p.finished[i+1:]...)
			p.forget(lost)
			return
		}
	}
}

// forget books that a job is not held any more and nothing is to be sent.
func (p *pump) forget(j *ActiveJob) {
	p.held.remove(j)
	if p.stopping {
		p.wake.Broadcast() // for the caller to see that it was the last
	}
}

// locks are the jobs whose locks were last renewed before a time.
func (p *pump) locks(before time.Time) []*ActiveJob {
	p.mu.Lock()
	defer p.mu.Unlock()
	var jobs []*ActiveJob
	for j := range p.held.all() {
		if j.taken.Before(before) && j.state.Load() == jobHeld {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// renewed notes when locks were renewed.
func (p *pump) renewed(jobs []*ActiveJob, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range jobs {
		j.taken = at
	}
}

// cancel ends the context of a job that runs.
func (p *pump) cancel(id string, cause error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := false
	for j := range p.held.all() {
		if j.record.ID == id {
			j.own.end(cause)
			found = true
		}
	}
	return found
}

func (p *pump) runningNow() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

func (p *pump) setLimit(n int) {
	p.mu.Lock()
	p.limit = n
	run := p.fill()
	p.mu.Unlock()
	p.startAll(run)
	p.wake.Broadcast()
	p.idler.Signal()
}

// setPaused reports whether the pump still runs.
func (p *pump) setPaused(on bool) bool {
	p.mu.Lock()
	p.paused = on
	if on {
		p.putBack()
	}
	p.drained = p.drained && on // after a pause the queue is looked at again
	alive := !p.stopping && !p.over
	p.mu.Unlock()
	p.wake.Broadcast()
	p.idler.Signal()
	return alive
}

// beginStop makes the pump take nothing more.
func (p *pump) beginStop() {
	p.mu.Lock()
	p.stopping = true
	p.putBack()
	p.mu.Unlock()
	p.wake.Broadcast()
	p.idler.Broadcast()
}

// abandon ends the lanes and returns what is left undone.
func (p *pump) abandon() *AbandonedError {
	p.mu.Lock()
	p.over = true
	left := &AbandonedError{Unknown: p.asked > 0}
	for j := range p.held.all() {
		gone := j.state.Swap(jobGone) == jobGone // settled just now, or its lock is lost
		switch {
		case !j.ended:
			left.Running = append(left.Running, j.ID)
		case !gone:
			left.Unstored = append(left.Unstored, j.ID)
		}
	}
	p.mu.Unlock()
	p.wake.Broadcast()
	p.idler.Broadcast()
	return left
}

// silence is how long no call was answered although one is under way.
type silence struct {
	answers uint64
	since   time.Time
}

// deadAir is how long a call may take before the storage counts as being away,
// for a worker that is to stop.
const deadAir = 500 * time.Millisecond

// away reports whether the storage does not answer.
func (p *pump) away(quiet *silence) bool {
	p.mu.Lock()
	sending := p.sending
	p.mu.Unlock()
	now, answers := time.Now(), p.answers.Load()
	if quiet.since.IsZero() || answers != quiet.answers || sending == 0 {
		*quiet = silence{answers, now}
	}
	return p.failing.Load() && sending > 0 || now.Sub(quiet.since) > deadAir
}
