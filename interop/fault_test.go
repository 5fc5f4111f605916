package interop

import (
	"github.com/stretchr/testify/require"
)

const faults = "Workers that vanish"

var faultFeatures = []feature{
	{faults, "a worker is killed (-9), the other side recovers its job", killedWorker, nil},
	{faults, "a job that stalled too often is failed without being run", deferredFailure, nil},
	{faults, "a lock is lost: the first outcome is dropped (C003)", lostLock, nil},
}

// killedWorker has the second side's worker killed while it runs a job; the
// first side works it again.
func killedWorker(c *cell) {
	p := c.producer.listen()
	victim := c.victim()
	holding := c.on(victim, p.queue)
	id := p.add("n", "x", Args{"attempts": 1})
	w := holding.work(script{"n": once(holds(p.queue))}, Args{"lockDuration": 1000, "stalledInterval": 300})
	w.held(p.queue)
	w.closed = true
	victim.Kill()
	require.Equal(c, "active", p.state(id))
	survivor := p.work(script{"n": once(does("echo"))}, Args{"stalledInterval": 300})
	same(c.T, "x", p.result(id))
	survivor.said("stalled", id)
	p.saw("stalled", id)
	job := p.job(id)
	require.Equal(c, []int{1, 2, 1}, []int{job.AttemptsMade, job.AttemptsStart, job.StalledCounter})
}

// victim is a process of the second side's kind that may be killed.
func (c *cell) victim() *Peer {
	c.Helper()
	if c.goFirst {
		return StartNode(c, c.lib, c.url, Prefix(c.prefix))
	}
	return StartGo(c, c.url, Prefix(c.prefix))
}

// expire lets the lock of a job, and the pause between stalled checks, run out.
func (c *cell) expire(o *on, id string) {
	c.Helper()
	base := c.base(o.queue) + ":"
	require.NoError(c, c.rdb.Del(c.ctx, base+id+":lock", base+"stalled-check").Err())
}

func deferredFailure(c *cell) {
	p, w := c.producer.listen(), c.consumer
	mine, theirs := name("hand"), name("hand")
	p.do("worker.open", Args{"worker": mine})
	w.do("worker.open", Args{"worker": theirs, "opts": Args{"maxStalledCount": 0}})
	id := p.add("n", nil, Args{"attempts": 3})
	require.Equal(c, id, ask[*Job](p, "worker.getNextJob", Args{"worker": mine}).ID)
	for range 2 { // the first check marks, the second finds it
		c.expire(p, id)
		w.do("worker.stalledCheck", Args{"worker": theirs})
	}
	const reason = "job stalled more than allowable limit"
	for _, o := range []*on{p, w} {
		require.Equal(c, "waiting", o.state(id))
		require.Equal(c, reason, o.job(id).Deferred)
	}
	w.work(script{"n": once(returns("it ran"))}, nil)
	require.Equal(c, reason, p.saw("failed", id).Field("failedReason"))
	for _, o := range []*on{p, w} {
		require.Equal(c, reason, o.job(id).FailedReason)
		require.Empty(c, o.job(id).Deferred)
	}
}

// lostLock has a job taken away from the second side, which ends it while the
// first side is still at it.
func lostLock(c *cell) {
	p, w := c.producer.listen(), c.consumer
	key := name("hand")
	p.do("worker.open", Args{"worker": key})
	first := w.work(script{"n": once(holds(w.queue), returns("first"))}, Args{"lockDuration": 60_000, "skipStalledCheck": true})
	id := p.add("n", nil, Args{"attempts": 1})
	first.held(w.queue)
	for range 2 {
		c.expire(p, id)
		p.do("worker.stalledCheck", Args{"worker": key})
	}
	p.work(script{"n": once(holds(p.queue), returns("second"))}, nil).held(p.queue)
	w.release(w.queue)
	refused := map[bool]string{true: "error", false: "lockLost"}[c.goFirst]
	first.await("that the outcome was refused", func(e *Event) bool { return e.Worker == first.key && e.Name == refused })
	require.Equal(c, "active", p.state(id))
	p.release(p.queue)
	same(c.T, "second", p.result(id))
	job := p.job(id)
	same(c.T, "second", job.ReturnValue)
	require.Equal(c, []int{1, 2, 1}, []int{job.AttemptsMade, job.AttemptsStart, job.StalledCounter})
}
