package interop

import (
	"github.com/stretchr/testify/require"
)

const limiting = "Mixed fleets and limits"

var limitFeatures = []feature{
	{limiting, "1000 jobs, workers of both sides, each job once", mixedFleet, nil},
	{limiting, "rate limit of workers, counted together", workerLimit, nil},
	{limiting, "rate limit of the queue", globalLimit, nil},
	{limiting, "rate limit by hand", manualLimit, nil},
	{limiting, "concurrency of the queue", globalConcurrency, nil},
	{limiting, "workers paused and resumed while they work", workerPause, nil},
}

func mixedFleet(c *cell) {
	const n = 1000
	p, w := c.producer.listen(), c.consumer
	s := script{"n": once(does("echo"))}
	mine := p.work(s, Args{"concurrency": 20})
	theirs := w.work(s, Args{"concurrency": 20})
	want := map[string]bool{}
	for i := range 10 {
		for _, id := range p.addMany(n/20, "n", Args{"priority": i % 3}) {
			want[id] = true
		}
		for _, id := range w.addMany(n/20, "n", Args{"delay": i % 2}) {
			want[id] = true
		}
	}
	require.Len(c, want, n)
	done := map[string]int{}
	for _, e := range p.sawAll("completed", n) {
		done[e.JobID()]++
	}
	require.Len(c, done, n, "each once")
	mine.close()
	theirs.close()
	require.Equal(c, map[string]int{"completed": n}, p.counts())
	jobs := ask[[]Job](w, "queue.getCompleted", nil)
	require.Len(c, jobs, n)
	for _, job := range jobs {
		require.Equal(c, []int{1, 1, 0}, []int{job.AttemptsMade, job.AttemptsStart, job.StalledCounter}, job.ID)
		require.JSONEq(c, string(job.Data), string(job.ReturnValue))
	}
	require.Len(c, p.sawAll("active", n), n)
	c.noLocks()
}

// limited works six jobs on both sides, of which only some may start.
func (c *cell) limited(starts int, opts Args) {
	c.Helper()
	p, w := c.producer.listen(), c.consumer
	p.addMany(3, "n", nil)
	w.addMany(3, "n", nil)
	workers := []*worker{p.work(echo("n"), opts), w.work(echo("n"), opts)}
	p.sawAll("completed", starts)
	for _, one := range workers {
		one.kill() // a Node worker that just met the limit waits for it before it closes
	}
	require.Equal(c, map[string]int{"completed": starts, "waiting": 6 - starts}, w.counts())
}

func workerLimit(c *cell) {
	opts := Args{"concurrency": 2, "limiter": Args{"max": 4, "duration": hour}}
	c.limited(4, opts)
	p, w := c.producer, c.consumer
	for _, o := range []*on{p, w} {
		require.Positive(c, ask[int](o, "queue.getRateLimitTtl", Args{"maxJobs": 4}), o.peer.Name)
		require.Zero(c, ask[int](o, "queue.getRateLimitTtl", Args{"maxJobs": 5}), o.peer.Name)
	}
	w.do("queue.removeRateLimitKey", nil)
	w.work(echo("n"), opts)
	p.sawAll("completed", 6)
}

func globalLimit(c *cell) {
	p, w := c.producer, c.consumer
	p.do("queue.setGlobalRateLimit", Args{"max": 2, "duration": hour})
	c.limited(2, nil)
	for _, o := range []*on{p, w} {
		require.Positive(c, ask[int](o, "queue.getRateLimitTtl", nil), o.peer.Name)
	}
	w.do("queue.removeGlobalRateLimit", nil)
	p.work(echo("n"), nil)
	p.sawAll("completed", 6)
}

func manualLimit(c *cell) {
	p, w := c.producer.listen(), c.consumer
	p.do("queue.rateLimit", Args{"ms": hour})
	require.Positive(c, ask[int](w, "queue.getRateLimitTtl", Args{"maxJobs": 100}))
	id := p.add("n", nil, nil)
	// A worker with a limit is held up, one without is not.
	key := name("limited")
	w.do("worker.open", Args{"worker": key, "opts": Args{"limiter": Args{"max": 100, "duration": 1000}}})
	require.JSONEq(c, "null", string(w.do("worker.getNextJob", Args{"worker": key})))
	w.do("queue.removeRateLimitKey", nil)
	require.Equal(c, id, ask[*Job](w, "worker.getNextJob", Args{"worker": key}).ID)
	w.do("worker.moveToCompleted", Args{"id": id, "value": nil})
	p.saw("completed", id)
}

func globalConcurrency(c *cell) {
	p, w := c.producer.listen(), c.consumer
	p.do("queue.setGlobalConcurrency", Args{"concurrency": 1})
	s := script{"n": once(progresses(1), logs("working"), does("echo"))}
	p.work(s, Args{"concurrency": 5})
	w.work(s, Args{"concurrency": 5})
	for range 10 {
		p.addMany(1, "n", nil)
		w.addMany(1, "n", nil)
	}
	p.sawAll("completed", 20)
	// One at a time: each began when the one before it had ended.
	running := 0
	for _, e := range p.peer.Events(p.queue) {
		switch {
		case e.Kind != "queue":
		case e.Name == "active":
			running++
			require.Equal(c, 1, running, "jobs at once, at job %s", e.JobID())
		case e.Name == "completed":
			running--
		}
	}
}

func workerPause(c *cell) {
	p, w := c.producer.listen(), c.consumer
	worker := w.work(script{"held": once(holds(w.queue), returns(1)), "n": once(returns(2))}, nil)
	first := p.add("held", nil, nil)
	worker.held(w.queue)
	worker.do("worker.pause", Args{"worker": worker.key, "doNotWaitActive": true})
	w.release(w.queue)
	p.saw("completed", first)
	id := p.add("n", nil, nil)
	mine := p.work(script{"n": once(returns("mine"))}, nil)
	same(c.T, "mine", p.result(id), "the other side's worker takes it")
	mine.close()
	next := p.add("n", nil, nil)
	worker.do("worker.resume", Args{"worker": worker.key})
	same(c.T, 2, p.result(next))
}
