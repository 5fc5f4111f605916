package runner

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// childless counts, for each job of this worker, how often in a row its handler
// wanted to wait for children of which none is pending. The first time may be bad
// luck: the last child finished just then. A handler that goes on asking would run
// without end and without rest.
type childless struct {
	some atomic.Bool // whether there is any: most workers never have one
	mu   sync.Mutex
	jobs map[string]vainWait
}

type vainWait struct {
	times int
	last  time.Time
}

const (
	maxVainWaits = 10_000           // jobs that are counted
	vainWaitAge  = 10 * time.Minute // since the last time, until a job is forgotten
)

// vainPause returns how long a job rests whose handler wanted to wait for no
// children that many times in a row.
func vainPause(times int) time.Duration {
	if times <= 1 {
		return 0
	}
	return min(50*time.Millisecond<<min(times-2, 20), 30*time.Second)
}

// again returns the outcome of a job that has no children to wait for.
func (c *childless) again(j *Job, now time.Time) storage.Settlement {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jobs == nil {
		c.jobs = map[string]vainWait{}
	}
	v := c.jobs[j.Record.ID]
	if now.Sub(v.last) > vainWaitAge {
		v.times = 0
	}
	v.times, v.last = v.times+1, now
	if len(c.jobs) >= maxVainWaits {
		c.forget(now)
	}
	c.jobs[j.Record.ID] = v
	c.some.Store(true)
	s := storage.Settlement{ID: j.Record.ID, Token: j.Token, Kind: storage.BackToWait}
	if s.Delay = vainPause(v.times); s.Delay > 0 {
		s.Kind = storage.DelayedUntil
	}
	return s
}

// forget drops the jobs that did not come back for a while, or all jobs if that
// is not enough.
func (c *childless) forget(now time.Time) {
	for id, v := range c.jobs {
		if now.Sub(v.last) > vainWaitAge {
			delete(c.jobs, id)
		}
	}
	if len(c.jobs) >= maxVainWaits {
		clear(c.jobs)
	}
}

// settled forgets a job that ended in another way.
func (c *childless) settled(j *Job) {
	if !c.some.Load() || j.Outcome.Kind == storage.BackToWait || j.Outcome.Kind == storage.DelayedUntil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.jobs, j.Record.ID)
	c.some.Store(len(c.jobs) > 0)
}
