package bullmq

import (
	"runtime"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// lanes is how many calls may be under way at once: while the client reads one
// answer, the storage works on the next.
//
// A lane belongs to whoever makes calls on it. That is, mostly, a goroutine
// whose handler has just ended: it sends what finished, starts the jobs that
// the call took, and runs one of them itself, so that a job after the other
// costs no switch between goroutines. What happens otherwise, such as work for
// an idle worker, is sent by the pump's own goroutine, the caller.
const lanes = 2

// lanesFor is how many a worker has. Of two calls that take jobs either may be
// answered first, and jobs that then wait for a slot would run out of order.
func lanesFor(cfg *workerConfig) int {
	if cfg.prefetch > 0 {
		return 1
	}
	return lanes
}

// call is a call to be made. It is used again for the calls after it.
type call struct {
	req   storage.SettleRequest
	jobs  []*ActiveJob // that it settles
	asked int          // how many jobs it takes
	began time.Time    // with Prefetch only
	taken []*ActiveJob // what it took
}

// only tells whether the call settles nothing.
func (c *call) only() bool { return len(c.jobs) == 0 }

// run makes the calls that nobody else makes, until the pump is stopped and
// everything is settled.
func (p *pump) run() {
	for c := p.await(); c != nil; c = p.await() {
		p.carry(c, false)
	}
}

// await waits until there is something to send, and takes a lane for it. It is
// nil when the pump ends; nobody has a lane then.
func (p *pump) await() *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.over || p.stopping && p.held.size == 0 && p.asked == 0 {
			p.over = true
			p.idler.Broadcast()
			if p.sending == 0 {
				return nil
			}
		} else if p.sending < p.lanes {
			if c := p.makeUp(); c != nil {
				p.sending++
				return c
			}
		}
		p.wake.Wait()
	}
}

// claim takes a lane for a goroutine whose handler has ended, if one is free
// and there is something to send.
func (p *pump) claim() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.sending == p.lanes || !p.sendable() {
		return false
	}
	p.sending++
	return true
}

// sendable tells whether a call is worth making.
func (p *pump) sendable() bool {
	return len(p.finished) > 0 || p.vacant() > 0 && p.mayTake()
}

// carry makes calls on a lane until there is nothing to send, and gives the
// lane back. With own set it also ends when it has a job for its goroutine to
// run, which it returns.
func (p *pump) carry(c *call, own bool) *ActiveJob {
	for ; c != nil; c = p.next() {
		reply := p.send(p.ctx, c)
		if reply == nil {
			p.returned(c)
			return nil
		}
		p.settled(p.ctx, c.jobs, reply.Errs)
		run := p.took(p.ctx, c, reply)
		var mine *ActiveJob
		if own && len(run) > 0 {
			mine, run = run[len(run)-1], run[:len(run)-1] // the others start before it
		}
		p.startAll(run)
		p.done(c)
		if mine != nil {
			if p.leave() {
				return mine
			}
			p.slots.start(mine)
		}
	}
	return nil
}

// done keeps a call for the next ones, and nothing of what it was about.
func (p *pump) done(c *call) {
	clear(c.jobs)
	clear(c.taken)
	clear(c.req.Settle)
	p.mu.Lock()
	p.spare = append(p.spare, c)
	p.mu.Unlock()
}

func (p *pump) startAll(jobs []*ActiveJob) {
	for _, j := range jobs {
		p.slots.start(j)
	}
}

// next makes up the next call of a lane; nil: there is nothing to send, and the
// lane is given back. Handlers that are about to end go into this call: they
// are let run first.
func (p *pump) next() *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running > 0 {
		p.mu.Unlock()
		runtime.Gosched()
		p.mu.Lock()
	}
	if !p.over {
		if c := p.makeUp(); c != nil {
			if p.sending < p.lanes && p.sendable() {
				p.wake.Signal() // there may be enough for another lane
			}
			return c
		}
	}
	p.release()
	return nil
}

// makeUp makes up a call, if there is something to send.
func (p *pump) makeUp() *call {
	if !p.sendable() {
		return nil
	}
	c := &call{}
	if n := len(p.spare); n > 0 {
		c, p.spare = p.spare[n-1], p.spare[:n-1]
	}
	if !p.batch(c) {
		p.spare = append(p.spare, c)
		return nil
	}
	p.request(c)
	return c
}

// leave gives a lane back, unless there is more to send.
func (p *pump) leave() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over && p.sendable() {
		return false
	}
	p.release()
	return true
}

// release gives a lane back.
func (p *pump) release() {
	p.sending--
	if p.stopping || p.over {
		p.wake.Broadcast() // for the caller to see that it was the last
	}
}
