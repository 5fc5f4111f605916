package interop

import "github.com/stretchr/testify/require"

const deduplication = "Deduplication"

var dedupFeatures = []feature{
	{deduplication, "simple: until the job is done", dedupSimple, nil},
	{deduplication, "throttle: for a time", dedupThrottle, nil},
	{deduplication, "debounce: the last one, after a quiet time", dedupDebounce, nil},
	{deduplication, "keep last: the last one made while the job runs", dedupKeepLast, nil},
	{deduplication, "reschedule: a delayed job gets the new delay", dedupReschedule, only6},
	{deduplication, "a key of a job that is gone is taken over (C021)", dedupStale, only6},
	{deduplication, "looking up and releasing a key", dedupKeys, nil},
}

func only6(c *cell) string {
	if c.v5() {
		return "5.x does not know it"
	}
	return ""
}

func dedupBy(id string, more Args) Args {
	opts := Args{"deduplication": Args{"id": id}}
	for k, v := range more {
		if k == "delay" {
			opts[k] = v
			continue
		}
		opts["deduplication"].(Args)[k] = v
	}
	return opts
}

// dropped waits until the first side saw that an add yielded.
func (c *cell) dropped(holder string, times int) {
	c.Helper()
	events := c.producer.sawAll("deduplicated", times)
	last := events[times-1]
	require.Equal(c, holder, last.JobID())
}

func dedupSimple(c *cell) {
	p, w := c.producer.listen(), c.consumer
	opts := dedupBy("x", nil)
	id := p.add("n", 1, opts)
	require.Equal(c, id, w.add("n", 2, opts), "the other side yields")
	c.dropped(id, 1)
	require.Equal(c, id, p.add("n", 3, opts), "so does its own")
	c.dropped(id, 2)
	worker := w.work(script{"n": once(holds(w.queue), returns("ok"))}, nil)
	worker.held(w.queue)
	require.Equal(c, id, w.add("n", 4, opts), "also while it is active")
	worker.release(w.queue)
	p.result(id)
	next := w.add("n", 5, opts)
	require.NotEqual(c, id, next, "done: the id is free")
	p.result(next)
	require.Equal(c, map[string]int{"completed": 2}, p.counts())
}

func dedupThrottle(c *cell) {
	p, w := c.producer.listen(), c.consumer
	opts := dedupBy("x", Args{"ttl": 3600_000})
	id := p.add("n", 1, opts)
	w.work(echo("n"), nil)
	p.result(id)
	require.Equal(c, id, w.add("n", 2, opts), "the time outlives the job")
	c.dropped(id, 1)
	ttl, err := c.rdb.PTTL(c.ctx, c.base(p.queue)+":de:x").Result()
	require.NoError(c, err)
	require.Positive(c, ttl)
	require.NoError(c, c.rdb.Del(c.ctx, c.base(p.queue)+":de:x").Err()) // as when it is over
	require.NotEqual(c, id, w.add("n", 3, opts))
}

func dedupDebounce(c *cell) {
	p, w := c.producer.listen(), c.consumer
	opts := dedupBy("x", Args{"ttl": 3600_000, "extend": true, "replace": true, "delay": 3600_000})
	first := p.add("n", 1, opts)
	second := w.add("n", 2, opts)
	require.NotEqual(c, first, second)
	p.saw("removed", first)
	third := p.add("n", 3, opts)
	require.Equal(c, map[string]int{"delayed": 1}, w.counts())
	same(c.T, 3, w.job(third).Data)
	w.do("job.promote", Args{"id": third})
	require.Equal(c, third, w.add("n", 4, opts), "one that is not delayed any more is not replaced")
	w.work(echo("n"), nil)
	same(c.T, 3, p.result(third))
}

func dedupKeepLast(c *cell) {
	p, w := c.producer.listen(), c.consumer
	opts := dedupBy("x", Args{"keepLastIfActive": true})
	id := p.add("n", 1, opts)
	worker := w.work(script{"n": once(holds(w.queue), does("echo"))}, nil)
	worker.held(w.queue)
	require.Equal(c, id, p.add("n", 2, opts))
	require.Equal(c, id, w.add("n", 3, opts))
	worker.release(w.queue)
	events := p.sawAll("completed", 2)
	require.Equal(c, id, events[0].JobID())
	same(c.T, 3, events[1].Fields["returnvalue"], "the last one")
	require.Equal(c, map[string]int{"completed": 2}, w.counts())
}

func dedupReschedule(c *cell) {
	p, w := c.producer, c.consumer
	opts := func(ms int) Args { return dedupBy("x", Args{"reschedule": true, "delay": ms}) }
	id := p.add("n", 1, opts(3600_000))
	require.Equal(c, id, w.add("n", 2, opts(1)))
	require.EqualValues(c, 1, p.job(id).Delay)
	w.work(echo("n"), nil)
	same(c.T, 1, p.result(id))
}

func dedupStale(c *cell) {
	p, w := c.producer, c.consumer
	opts := dedupBy("x", nil)
	id := p.add("n", 1, opts)
	require.NoError(c, c.rdb.Del(c.ctx, c.base(p.queue)+":"+id).Err())
	require.NotEqual(c, id, w.add("n", 2, opts))
}

func dedupKeys(c *cell) {
	p, w := c.producer, c.consumer
	opts := dedupBy("x", nil)
	for _, o := range []*on{p, w} {
		require.Nil(c, ask[*string](o, "queue.getDeduplicationJobId", Args{"dedupId": "x"}))
	}
	id := p.add("n", 1, opts)
	for _, o := range []*on{p, w} {
		require.Equal(c, id, ask[string](o, "queue.getDeduplicationJobId", Args{"dedupId": "x"}))
	}
	require.Equal(c, 1, ask[int](w, "queue.removeDeduplicationKey", Args{"dedupId": "x"}))
	require.Equal(c, 0, ask[int](w, "queue.removeDeduplicationKey", Args{"dedupId": "x"}))
	second := w.add("n", 2, opts)
	require.NotEqual(c, id, second)
	require.False(c, ask[bool](p, "job.removeDeduplicationKey", Args{"id": id}), "it is another's now")
	require.True(c, ask[bool](p, "job.removeDeduplicationKey", Args{"id": second}))
}
