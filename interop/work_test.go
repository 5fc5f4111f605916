package interop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
)

const working = "Retries, progress, retention"

var workFeatures = []feature{
	{working, "attempts begun on one side and ended on the other", retryAcross, nil},
	{working, "exponential backoff, waits computed on either side", exponentialAcross, nil},
	{working, "backoff strategies by name", namedBackoff, nil},
	{working, "errors that are final", finalErrors, nil},
	{working, "the reason of a failure is bare text (C007)", rawReason, nil},
	{working, "stack traces, and their limit", stackTraces, nil},
	{working, "progress of every JSON kind (C059)", progressKinds, nil},
	{working, "logs, and their limit", jobLogs, nil},
	{working, "a handler changes the payload for the next attempt", changedData, nil},
	{working, "put back, delayed, rate limited by the handler, uncounted (C077)", putBack, nil},
	{working, "retention of a job: all forms", jobRetention, nil},
	{working, "retention of a worker, and who comes first", workerRetention, nil},
	{working, "how often a job may be started", maxStarts, nil},
	{working, "metrics by the minute", metrics, nil},
	{working, "jobs taken and finished by hand", byHand, nil},
}

// hour is a wait that no test lives to see the end of.
const hour = 3600_000

func retryAcross(c *cell) {
	p, w := c.producer.listen(), c.consumer
	id := p.add("n", "data", Args{"attempts": 3, "backoff": Args{"type": "fixed", "delay": hour}})
	failing := script{"n": {{throws("first")}, {throws("second")}, {returns("third time lucky")}}}
	first := p.work(failing, nil)
	first.said("failed", id)
	first.close()
	job := w.job(id)
	require.Equal(c, "delayed", w.state(id))
	require.Equal(c, 1, job.AttemptsMade)
	require.EqualValues(c, hour, job.Delay)
	require.Equal(c, "first", job.FailedReason)

	w.do("job.promote", Args{"id": id})
	second := w.work(failing, nil)
	second.said("failed", id)
	job = p.job(id)
	require.Equal(c, 2, job.AttemptsMade)
	require.Equal(c, "second", job.FailedReason)
	require.Len(c, job.Stacktrace, 2)

	p.do("job.promote", Args{"id": id})
	same(c.T, "third time lucky", p.result(id))
	require.Equal(c, 3, w.job(id).AttemptsMade)
	require.Equal(c, "completed", w.state(id))
}

func exponentialAcross(c *cell) {
	p, w := c.producer, c.consumer
	id := p.add("n", nil, Args{"attempts": 5, "backoff": Args{"type": "exponential", "delay": hour}})
	for attempt, o := range []*on{p, w, p, w} {
		worker := o.work(script{"n": once(throws("no"))}, nil)
		worker.said("failed", id)
		worker.close()
		require.EqualValues(c, hour<<attempt, c.consumer.job(id).Delay, "attempt %d", attempt+1)
		w.do("job.promote", Args{"id": id})
	}
	w.work(script{"n": once(throws("the end"))}, nil)
	p.until("failed", func() bool { return p.state(id) == "failed" })
	require.Equal(c, 5, p.job(id).AttemptsMade)
	require.Equal(c, "the end", p.job(id).FailedReason)
}

func namedBackoff(c *cell) {
	id := c.producer.add("n", nil, Args{"attempts": 3, "backoff": Args{"type": "mine"}})
	for i, o := range []*on{c.producer, c.consumer} {
		worker := o.workWith(script{"n": once(throws("no"))}, nil, Args{"mine": []int{hour, 2 * hour}})
		worker.said("failed", id)
		worker.close()
		require.EqualValues(c, hour*(i+1), c.producer.job(id).Delay)
		c.producer.do("job.promote", Args{"id": id})
	}
}

func finalErrors(c *cell) {
	p := c.producer.listen()
	id := p.add("n", nil, Args{"attempts": 10})
	none := p.add("nobody", nil, Args{"attempts": 10})
	c.consumer.work(script{"n": once(gives("hopeless"))}, nil)
	require.Equal(c, "hopeless", p.saw("failed", id).Field("failedReason"))
	require.Equal(c, 1, p.job(id).AttemptsMade)
	p.saw("failed", none)
	require.Equal(c, 1, p.job(none).AttemptsMade, "a job that the worker has no handler for")
	require.Equal(c, map[string]int{"failed": 2}, p.counts())
}

func rawReason(c *cell) {
	p := c.producer.listen()
	texts := []string{"boom \"x\" \n é", `{"json": true}`, "null", "42", ""}
	for i, text := range texts {
		id := p.add(fmt.Sprint("n", i), nil, nil)
		w := c.consumer.work(script{fmt.Sprint("n", i): once(throws(text))}, nil)
		require.Equal(c, text, p.saw("failed", id).Field("failedReason"))
		stored, err := c.rdb.HGet(c.ctx, c.base(p.queue)+":"+id, "failedReason").Result()
		require.NoError(c, err)
		require.Equal(c, text, stored)
		require.Equal(c, text, p.job(id).FailedReason)
		require.Equal(c, text, c.consumer.job(id).FailedReason)
		err = p.try("job.waitUntilFinished", Args{"id": id}, nil)
		require.ErrorContains(c, err, text)
		w.close()
	}
}

func stackTraces(c *cell) {
	p := c.producer
	for limit, want := range map[int]int{0: 0, 2: 2, 10: 3} {
		id := p.add("n", nil, Args{"attempts": 3, "stackTraceLimit": limit})
		w := c.consumer.work(script{"n": {{throws("one")}, {throws("two")}, {throws("three")}}}, nil)
		p.until("failed", func() bool { return p.state(id) == "failed" })
		w.close()
		mine, theirs := p.job(id).Stacktrace, c.consumer.job(id).Stacktrace
		require.Equal(c, mine, theirs)
		require.Len(c, mine, want, "limit %d", limit)
		for i, word := range []string{"one", "two", "three"}[3-want:] {
			require.Contains(c, mine[i], word, "oldest first")
		}
	}
}

func progressKinds(c *cell) {
	p := c.producer.listen()
	values := []any{0, 42, 100, 1.5, "", "half", true, false, nil, Args{"pct": 42}, []any{1}, "é\n"}
	var steps []step
	for _, v := range values {
		steps = append(steps, progresses(v))
	}
	id := p.add("n", nil, nil)
	same(c.T, 0, p.job(id).Progress, "none yet")
	same(c.T, 0, c.consumer.job(id).Progress, "none yet")
	w := c.consumer.work(script{"n": once(append(steps, returns("ok"))...)}, nil)
	events := p.sawAll("progress", len(values))
	for i, e := range events {
		same(c.T, values[i], e.Fields["data"])
	}
	p.result(id)
	w.said("progress", id)
	for _, v := range values {
		p.do("job.updateProgress", Args{"id": id, "progress": v})
		if v != nil { // a Node peer takes a stored null for no progress
			same(c.T, v, c.consumer.job(id).Progress)
		}
	}
}

func jobLogs(c *cell) {
	p, w := c.producer, c.consumer
	all := p.add("n", nil, nil)
	two := p.add("n", nil, Args{"keepLogs": 2})
	w.work(script{"n": once(logs("one"), logs("two é"), logs("three"), returns("ok"))}, nil)
	p.result(all)
	p.result(two)
	type page struct {
		Logs  []string
		Count int
	}
	for _, o := range []*on{p, w} {
		get := func(id string, more Args) page {
			args := Args{"id": id}
			for k, v := range more {
				args[k] = v
			}
			return ask[page](o, "queue.getJobLogs", args)
		}
		require.Equal(c, page{[]string{"one", "two é", "three"}, 3}, get(all, nil))
		require.Equal(c, page{[]string{"two é", "three"}, 2}, get(two, nil))
		require.Equal(c, page{[]string{"three"}, 3}, get(all, Args{"start": 0, "end": 0, "asc": false}))
		require.Equal(c, page{[]string{"two é", "three"}, 3}, get(all, Args{"start": 1, "end": 2, "asc": true}))
	}
	require.Equal(c, 4, ask[int](p, "job.log", Args{"id": all, "line": "four"}))
	require.Equal(c, 2, ask[int](p, "job.log", Args{"id": two, "line": "four"}))
	w.do("job.clearLogs", Args{"id": all, "keepLogs": 1})
	require.Equal(c, page{[]string{"four"}, 1}, ask[page](p, "queue.getJobLogs", Args{"id": all}))
}

func changedData(c *cell) {
	p, w := c.producer, c.consumer
	id := p.add("n", Args{"step": 1}, Args{"attempts": 2, "backoff": Args{"type": "fixed", "delay": hour}})
	s := script{"n": {{step{"do": "updateData", "data": Args{"step": 2}}, throws("half done")}, {does("echo")}}}
	first := w.work(s, nil)
	first.said("failed", id)
	first.close()
	same(c.T, Args{"step": 2}, p.job(id).Data)
	p.do("job.promote", Args{"id": id})
	p.work(s, nil)
	same(c.T, Args{"step": 2}, w.result(id))
	w.do("job.updateData", Args{"id": id, "data": []int{3}})
	same(c.T, []int{3}, p.job(id).Data)
}

func putBack(c *cell) {
	p := c.producer.listen()
	id := p.add("n", nil, Args{"attempts": 1})
	c.consumer.work(script{"n": {{does("wait")}, {delays(20)}, {limits(30)}, {limits(30)}, {returns("at last")}}},
		Args{"limiter": Args{"max": 100, "duration": 1000}})
	same(c.T, "at last", p.result(id))
	job := p.job(id)
	require.Equal(c, 1, job.AttemptsMade)
	require.Equal(c, 5, job.AttemptsStart)
	require.Len(c, p.sawAll("active", 5), 5)
	p.saw("delayed", id)
}

func jobRetention(c *cell) {
	p, w := c.producer.listen(), c.consumer
	w.work(script{"ok": once(returns(1)), "bad": once(throws("no"))}, nil)
	finish := func(name string, opts Args) {
		id := p.add(name, nil, opts)
		if name == "ok" {
			p.saw("completed", id)
		} else {
			p.saw("failed", id)
		}
	}
	for name, option := range map[string]string{"ok": "removeOnComplete", "bad": "removeOnFail"} {
		state := map[string]string{"ok": "completed", "bad": "failed"}[name]
		for _, form := range []struct {
			keep any
			left int // after four such jobs
		}{
			{true, 0}, {0, 0}, {false, 4}, {2, 2}, {3, 3}, {Args{"age": 3600, "count": 2}, 2}, {Args{"age": 3600}, 4},
		} {
			for range 4 {
				finish(name, Args{option: form.keep})
			}
			for _, o := range []*on{p, w} {
				require.Equal(c, form.left, o.counts()[state], "%s %v", option, form.keep)
			}
			p.do("queue.clean", Args{"grace": 0, "limit": 0, "type": state})
		}
		c.removedByAge(name, option, state, finish)
	}
	require.Empty(c, p.counts())
	c.noLocks()
}

// removedByAge makes finished jobs old and finishes another one.
func (c *cell) removedByAge(name, option, state string, finish func(string, Args)) {
	c.Helper()
	for range 3 {
		finish(name, nil)
	}
	key := c.base(c.producer.queue) + ":" + state
	ids, err := c.rdb.ZRange(c.ctx, key, 0, -1).Result()
	require.NoError(c, err)
	for _, id := range ids {
		require.NoError(c, c.rdb.ZIncrBy(c.ctx, key, -10_000, id).Err())
	}
	finish(name, Args{option: Args{"age": 5, "limit": 2}})
	require.Equal(c, 2, c.consumer.counts()[state], "two of three are removed at a time")
	c.producer.do("queue.clean", Args{"grace": 0, "limit": 0, "type": state})
}

// noLocks makes sure that no job of the cell's queue is locked any more.
func (c *cell) noLocks() {
	c.Helper()
	c.until("no locks", func() bool {
		locks, err := c.rdb.Keys(c.ctx, c.base(c.producer.queue)+":*:lock").Result()
		return err == nil && len(locks) == 0
	})
}

func workerRetention(c *cell) {
	p, w := c.producer.listen(), c.consumer
	w.work(script{"ok": once(returns(1)), "bad": once(throws("no"))},
		Args{"removeOnComplete": Args{"age": 3600, "count": 1}, "removeOnFail": Args{"age": 3600, "count": 2}})
	for range 3 {
		p.saw("completed", p.add("ok", nil, nil))
		p.saw("failed", p.add("bad", nil, nil))
	}
	require.Equal(c, map[string]int{"completed": 1, "failed": 2}, p.counts())
	p.saw("completed", p.add("ok", nil, Args{"removeOnComplete": 5}))
	require.Equal(c, map[string]int{"completed": 2, "failed": 2}, p.counts(), "the job's own comes first")
}

func maxStarts(c *cell) {
	p := c.producer.listen()
	id := p.add("n", nil, Args{"attempts": 5})
	c.consumer.work(script{"n": {{does("wait")}, {does("wait")}, {returns("never")}}}, Args{"maxStartedAttempts": 2})
	require.Equal(c, "job started more than allowable limit", p.saw("failed", id).Field("failedReason"))
	require.Equal(c, 3, p.job(id).AttemptsStart)
	require.Equal(c, 1, p.job(id).AttemptsMade)
}

func metrics(c *cell) {
	p, w := c.producer.listen(), c.consumer
	s := script{"ok": once(returns(1)), "bad": once(throws("no"))}
	w.work(s, Args{"metrics": Args{"maxDataPoints": 10}})
	p.saw("completed", p.add("ok", nil, nil))
	p.saw("completed", p.add("ok", nil, nil))
	p.saw("failed", p.add("bad", nil, nil))
	key := c.base(p.queue) + ":metrics:completed"
	require.NoError(c, c.rdb.HIncrBy(c.ctx, key, "prevTS", -180_000).Err(), "three minutes pass")
	p.work(s, Args{"metrics": Args{"maxDataPoints": 10}})
	p.saw("completed", p.add("ok", nil, nil))
	type answer struct {
		Meta struct {
			Count, PrevTS, PrevCount int64
		}
		Data  []int
		Count int
	}
	get := func(o *on, kind string) answer { return ask[answer](o, "queue.getMetrics", Args{"type": kind}) }
	mine := get(p, "completed")
	require.Equal(c, mine, get(w, "completed"))
	require.EqualValues(c, 3, mine.Meta.Count)
	require.Equal(c, []int{0, 0, 2}, mine.Data)
	require.EqualValues(c, 1, get(w, "failed").Meta.Count)
	text := p.do("queue.exportPrometheusMetrics", Args{"labels": Args{"env": `a"b`}})
	require.Contains(c, string(text), "bullmq_job_completed_total")
	if !c.v5() { // 5.x has a line for paused jobs
		require.JSONEq(c, string(text), string(w.do("queue.exportPrometheusMetrics", Args{"labels": Args{"env": `a"b`}})))
	}
}

func byHand(c *cell) {
	p, w := c.producer.listen(), c.consumer
	key := name("hand")
	w.do("worker.open", Args{"worker": key, "opts": Args{"name": "hand"}})
	take := func() *Job { return ask[*Job](w, "worker.getNextJob", Args{"worker": key}) }
	require.Nil(c, take())
	id := p.add("n", "x", Args{"attempts": 2})
	require.Equal(c, id, take().ID)
	require.Equal(c, "active", p.state(id))
	require.Equal(c, 1, ask[int](w, "worker.extendLock", Args{"id": id, "duration": 30_000}))
	w.do("worker.moveToFailed", Args{"id": id, "message": "try again"})
	require.Equal(c, "waiting", p.state(id))
	require.Equal(c, id, take().ID)
	w.do("worker.moveToDelayed", Args{"id": id, "timestamp": p.job(id).Timestamp + hour})
	require.Equal(c, "delayed", p.state(id))
	p.do("job.promote", Args{"id": id})
	require.Equal(c, id, take().ID)
	require.False(c, ask[bool](w, "worker.moveToWaitingChildren", Args{"id": id}))
	w.do("worker.moveToWait", Args{"id": id})
	require.Equal(c, id, take().ID)
	w.do("worker.moveToCompleted", Args{"id": id, "value": Args{"by": "hand"}})
	same(c.T, Args{"by": "hand"}, p.result(id))
	job := p.job(id)
	require.Equal(c, []int{2, 4}, []int{job.AttemptsMade, job.AttemptsStart})
	require.Equal(c, "hand", job.ProcessedBy)
	require.True(c, slices.ContainsFunc(job.Stacktrace, func(s string) bool { return strings.Contains(s, "try again") }))
}
