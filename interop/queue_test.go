package interop

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/stretchr/testify/require"
)

const operating = "Operating and reading queues"

var queueFeatures = slices.Concat([]feature{
	{operating, "pause and resume: nothing starts, nothing is lost (C095)", pauseAndResume, nil},
	{operating, "paused by one side, resumed by the other", pauseAcross, nil},
	{operating, "lists in each state: orders and pages (C029)", listings, nil},
	{operating, "counts, states and settings", getters, nil},
	{operating, "drain", drain, nil},
	{operating, "clean, by state, age and number", clean, nil},
	{operating, "obliterate, with and without force (C025)", obliterate, nil},
	{operating, "retry of one and of all", retries, nil},
	{operating, "promote one and all; another delay, another priority", promotions, nil},
	{operating, "remove, also of a locked job", removals, nil},
	{operating, "orphans, trimming of events", housekeeping, nil},
	{operating, "every event, as both sides read it", events, nil},
	{operating, "events of one's own", customEvents, nil},
	{operating, "workers of both sides are seen by both", workerLists, nil},
}, limitFeatures)

func pauseAndResume(c *cell) {
	p, w := c.producer.listen(), c.consumer
	first := []string{p.add("n", 1, nil), w.add("n", 2, nil)}
	p.do("queue.pause", nil)
	require.True(c, ask[bool](p, "queue.isPaused", nil))
	require.True(c, ask[bool](w, "queue.isPaused", nil))
	first = append(first, w.add("n", 3, nil), p.add("n", 4, nil))
	urgent := w.add("n", 5, Args{"priority": 1})
	now := w.add("n", 6, Args{"delay": 1})
	c.waitingIs(5)

	mine, theirs := p.work(echo("n"), nil), w.work(echo("n"), nil)
	// A worker that looks for work makes due jobs waiting ones, paused or not.
	p.await("the delayed job becomes waiting", func(e *Event) bool {
		return e.Name == "waiting" && e.JobID() == now && e.Field("prev") == "delayed"
	})
	c.waitingIs(6)
	p.do("queue.resume", nil)
	for _, id := range append(first, urgent, now) {
		p.saw("completed", id)
	}
	require.False(c, ask[bool](w, "queue.isPaused", nil))
	mine.close()
	theirs.close()
	c.startedAfter("resumed")
	require.Equal(c, map[string]int{"completed": 6}, w.counts())
}

// waitingIs requires that both sides see as many jobs that a worker could take.
func (c *cell) waitingIs(n int) {
	c.Helper()
	for _, o := range []*on{c.producer, c.consumer} {
		counts := o.counts()
		require.Equal(c, n, counts["waiting"]+counts["prioritized"]+counts["paused"], "%s: %v", o.peer.Name, counts)
	}
}

// startedAfter requires that no job was started before an event.
func (c *cell) startedAfter(what string) {
	c.Helper()
	for _, e := range c.producer.peer.Events(c.producer.queue) {
		if e.Kind == "queue" && e.Name == what {
			return
		}
		require.False(c, e.Kind == "queue" && e.Name == "active", "job %s started while the queue was paused", e.JobID())
	}
	require.Fail(c, "no event "+what)
}

func pauseAcross(c *cell) {
	p, w := c.producer, c.consumer
	var want []string
	for i, o := range []*on{p, w, p, w} {
		other := map[*on]*on{p: w, w: p}[o]
		want = append(want, p.add("n", i, nil))
		o.do("queue.pause", nil)
		want = append(want, other.add("n", i, nil), o.add("n", i, nil))
		c.waitingIs(len(want))
		other.do("queue.resume", nil)
		require.False(c, ask[bool](o, "queue.isPaused", nil))
		c.waitingIs(len(want))
	}
	require.ElementsMatch(c, want, c.worked(len(want), "n"), "each once")
	require.Equal(c, map[string]int{"completed": len(want)}, p.counts())
}

// fill puts jobs into every state, made by both sides.
func (c *cell) fill() {
	c.Helper()
	p, w := c.producer, c.consumer
	p.listen()
	worker := w.work(script{
		"ok": once(returns(1)), "bad": once(throws("no")), "held": once(holds(w.queue), returns(1)),
		"parent": {{holds(w.queue + "p"), does("waitChildren")}},
	}, Args{"concurrency": 4})
	parent := p.add("parent", nil, nil)
	worker.held(w.queue + "p")
	p.add("child", nil, Args{"delay": 2 * hour, "parent": Args{"id": parent, "queue": c.base(p.queue)}})
	w.release(w.queue + "p")
	p.saw("waiting-children", parent)
	for range 4 {
		p.add("ok", nil, nil)
		w.add("bad", nil, nil)
	}
	p.sawAll("completed", 4)
	p.sawAll("failed", 4)
	a, b := p.add("held", 1, nil), w.add("held", 2, nil)
	p.saw("active", a)
	p.saw("active", b)
	p.do("queue.pause", nil)
	for i := range 4 {
		p.add("ok", i, nil)
		w.add("ok", i, Args{"lifo": i%2 == 0})
		p.add("ok", i, Args{"priority": i%3 + 1})
		w.add("ok", i, Args{"priority": 5 - i})
		p.add("ok", i, Args{"delay": hour + 1000*(i%2)})
		w.add("ok", i, Args{"delay": hour - i})
	}
}

func listings(c *cell) {
	c.fill()
	p, w := c.producer, c.consumer
	states := []string{"waiting", "active", "delayed", "prioritized", "completed", "failed", "waiting-children"}
	if c.v5() { // 5.x lists what waits in a paused queue as paused
		states[0] = "paused"
	}
	pages := [][2]int{{0, -1}, {0, 0}, {0, 1}, {1, 2}, {2, 3}, {5, 9}, {3, 3}, {7, 99}, {99, 100}}
	full := 0
	for _, state := range states {
		for _, asc := range []bool{true, false} {
			for _, page := range pages {
				args := Args{"types": []string{state}, "start": page[0], "end": page[1], "asc": asc}
				what := fmt.Sprint(state, page, asc)
				mine, theirs := ask[[]string](p, "queue.getRanges", args), ask[[]string](w, "queue.getRanges", args)
				require.Equal(c, mine, theirs, what)
				require.Equal(c, mine, idsOf(ask[[]Job](p, "queue.getJobs", args)), what)
				require.Equal(c, mine, idsOf(ask[[]Job](w, "queue.getJobs", args)), what)
				full += len(mine)
			}
		}
	}
	require.Greater(c, full, 150, "there was something to list")
	args := Args{"types": []string{"delayed", "prioritized", "failed"}, "start": 0, "end": 1, "asc": true}
	require.Equal(c, idsOf(ask[[]Job](p, "queue.getJobs", args)), idsOf(ask[[]Job](w, "queue.getJobs", args)))
	for _, get := range []string{"Active", "Delayed", "Prioritized", "Completed", "Failed", "WaitingChildren"} {
		mine, theirs := ask[[]Job](p, "queue.get"+get, nil), ask[[]Job](w, "queue.get"+get, nil)
		require.NotEmpty(c, mine, get)
		require.Equal(c, idsOf(mine), idsOf(theirs), get)
	}
	w.release(w.queue)
}

func getters(c *cell) {
	c.fill()
	p, w := c.producer, c.consumer
	mine, theirs := p.counts(), w.counts()
	for _, m := range []map[string]int{mine, theirs} {
		m["waiting"] += m["paused"] // 5.x has them apart
		delete(m, "paused")
	}
	require.Equal(c, mine, theirs)
	require.Equal(c, map[string]int{
		"active": 2, "completed": 4, "delayed": 9, "failed": 4, "prioritized": 8, "waiting": 8, "waiting-children": 1,
	}, mine)
	args := Args{"priorities": []int{0, 1, 2, 3, 4, 5, 6}}
	require.Equal(c, ask[map[string]int](p, "queue.getCountsPerPriority", args), ask[map[string]int](w, "queue.getCountsPerPriority", args))
	for _, id := range ask[[]string](p, "queue.getRanges", Args{
		"types": []string{"active", "delayed", "prioritized", "completed", "failed", "waiting-children", "wait", "paused"}, "start": 0, "end": -1,
	}) {
		state := p.state(id)
		require.Equal(c, state, w.state(id))
		for _, is := range []string{"Completed", "Failed", "Delayed", "Waiting", "Active", "WaitingChildren"} {
			op, on := "job.is"+is, strings.EqualFold(strings.ReplaceAll(state, "-", ""), is)
			require.Equal(c, on, ask[bool](p, op, Args{"id": id}), "%s %s", op, state)
			require.Equal(c, on, ask[bool](w, op, Args{"id": id}), "%s %s", op, state)
		}
	}
	require.Equal(c, "unknown", w.state("no-such-job"))
	require.JSONEq(c, "null", string(w.do("queue.getJob", Args{"id": "no-such-job"})))

	p.do("queue.setGlobalConcurrency", Args{"concurrency": 7})
	p.do("queue.setGlobalRateLimit", Args{"max": 3, "duration": 5000})
	require.JSONEq(c, string(p.do("queue.getMeta", nil)), string(w.do("queue.getMeta", nil)))
	require.Equal(c, p.do("queue.getVersion", nil), w.do("queue.getVersion", nil))
	require.Equal(c, 7, ask[int](w, "queue.getGlobalConcurrency", nil))
	same(c.T, Args{"max": 3, "duration": 5000}, w.do("queue.getGlobalRateLimit", nil))
	w.do("queue.removeGlobalConcurrency", nil)
	w.do("queue.removeGlobalRateLimit", nil)
	require.JSONEq(c, "null", string(p.do("queue.getGlobalConcurrency", nil)))
	require.JSONEq(c, "null", string(p.do("queue.getGlobalRateLimit", nil)))
	w.release(w.queue)
}

func drain(c *cell) {
	c.fill()
	p, w := c.producer, c.consumer
	p.do("queue.drain", Args{"delayed": false})
	kept := map[string]int{"active": 2, "completed": 4, "delayed": 9, "failed": 4, "waiting-children": 1}
	require.Equal(c, kept, w.counts())
	p.do("queue.drain", Args{"delayed": true})
	// The parent goes with its last child, which was delayed in its own queue.
	require.Equal(c, map[string]int{"active": 2, "completed": 4, "failed": 4}, w.counts())
	w.release(w.queue)
}

func clean(c *cell) {
	c.fill()
	p, w := c.producer, c.consumer
	oldest := ask[[]string](w, "queue.getRanges", Args{"types": []string{"failed"}, "start": 0, "end": 1, "asc": true})
	args := func(state string, grace, limit int) Args { return Args{"type": state, "grace": grace, "limit": limit} }
	require.Empty(c, ask[[]string](p, "queue.clean", args("completed", hour, 0)), "all are younger than an hour")
	require.Equal(c, oldest, ask[[]string](p, "queue.clean", args("failed", 0, 2)), "the oldest first")
	require.Len(c, ask[[]string](p, "queue.clean", args("completed", 0, 0)), 4)
	require.Len(c, ask[[]string](p, "queue.clean", args("prioritized", 0, 3)), 3)
	require.Len(c, ask[[]string](p, "queue.clean", args("delayed", 0, 5)), 5)
	require.Empty(c, ask[[]string](p, "queue.clean", args("active", 0, 0)), "they are locked")
	waiting := "wait"
	if c.v5() {
		waiting = "paused"
	}
	require.Len(c, ask[[]string](p, "queue.clean", args(waiting, 0, 0)), 8)
	counts := w.counts()
	delete(counts, "waiting-children") // gone if its child was among the delayed ones
	require.Equal(c, map[string]int{"active": 2, "delayed": 4, "failed": 2, "prioritized": 5}, counts)
	events := p.sawAll("cleaned", 5)
	require.Equal(c, "0", events[0].Field("count"))
	w.release(w.queue)
}

func obliterate(c *cell) {
	c.fill()
	p, w := c.producer, c.consumer
	before := w.counts()
	require.Error(c, p.try("queue.obliterate", Args{"opts": Args{"force": false}}, nil))
	require.Equal(c, before, w.counts(), "active jobs: nothing is removed")
	p.do("queue.obliterate", Args{"opts": Args{"force": true, "count": 3}})
	counts := w.counts()
	delete(counts, "waiting-children") // Node leaves parents that wait for children elsewhere
	require.Empty(c, counts)
	require.False(c, ask[bool](w, "queue.isPaused", nil))
	w.release(w.queue)
}

func retries(c *cell) {
	p, w := c.producer.listen(), c.consumer
	worker := w.work(script{"n": once(throws("no"))}, nil)
	var ids []string
	for range 5 {
		id := p.add("n", nil, Args{"attempts": 1})
		p.saw("failed", id)
		ids = append(ids, id)
	}
	worker.close()
	p.do("job.retry", Args{"id": ids[0], "opts": Args{"resetAttemptsMade": true, "resetAttemptsStarted": true}})
	p.do("job.retry", Args{"id": ids[1]})
	require.Error(c, p.try("job.retry", Args{"id": ids[1]}, nil), "it is not failed any more")
	for i, want := range []int{0, 1} {
		job := w.job(ids[i])
		require.Equal(c, []int{want, want}, []int{job.AttemptsMade, job.AttemptsStart})
		require.Empty(c, job.FailedReason)
		require.Zero(c, job.Finished)
	}
	p.do("queue.retryJobs", Args{"opts": Args{"state": "failed", "count": 2}})
	require.Equal(c, map[string]int{"waiting": 5}, w.counts())
	w.work(script{"n": once(returns("now"))}, nil)
	for _, id := range ids {
		p.saw("completed", id)
	}
	p.do("queue.retryJobs", Args{"opts": Args{"state": "completed"}})
	p.sawAll("completed", 10)
}

func promotions(c *cell) {
	p, w := c.producer, c.consumer
	ids := []string{p.add("n", 1, Args{"delay": hour}), w.add("n", 2, Args{"delay": hour, "priority": 2}), w.add("n", 3, Args{"delay": hour})}
	p.do("job.promote", Args{"id": ids[0]})
	require.Error(c, p.try("job.promote", Args{"id": ids[0]}, nil))
	require.Zero(c, w.job(ids[0]).Delay)
	p.do("job.promote", Args{"id": ids[1]})
	require.Equal(c, "prioritized", w.state(ids[1]))
	p.do("job.changeDelay", Args{"id": ids[2], "delay": 2 * hour})
	require.EqualValues(c, 2*hour, w.job(ids[2]).Delay)
	require.Error(c, p.try("job.changeDelay", Args{"id": ids[0], "delay": 1}, nil))
	p.do("job.changePriority", Args{"id": ids[0], "opts": Args{"priority": 3}})
	require.Equal(c, "prioritized", w.state(ids[0]))
	p.do("job.changePriority", Args{"id": ids[0], "opts": Args{"priority": 2, "lifo": true}})
	p.do("queue.promoteJobs", nil)
	require.Zero(c, w.counts()["delayed"])
	require.Equal(c, []string{ids[2], ids[0], ids[1]}, c.worked(3, "n"), "plain, then first of its priority")
	id := p.add("n", 4, Args{"priority": 9})
	p.do("job.changePriority", Args{"id": id, "opts": Args{"priority": 0}})
	require.Equal(c, "waiting", w.state(id))
}

func removals(c *cell) {
	c.fill()
	p, w := c.producer, c.consumer
	for _, state := range []string{"waiting", "paused", "delayed", "prioritized", "completed", "failed"} {
		ids := ask[[]string](w, "queue.getRanges", Args{"types": []string{state}, "start": 0, "end": 0})
		for _, id := range ids {
			p.do("job.remove", Args{"id": id})
			require.Equal(c, "unknown", w.state(id))
			p.saw("removed", id)
		}
	}
	active := ask[[]string](w, "queue.getRanges", Args{"types": []string{"active"}, "start": 0, "end": -1})
	require.Error(c, p.try("job.remove", Args{"id": active[0]}, nil), "it is locked")
	require.Equal(c, 0, ask[int](p, "queue.remove", Args{"id": active[0]}))
	require.Equal(c, 1, ask[int](p, "queue.remove", Args{"id": "no-such-job"}))
	w.release(w.queue)
	p.saw("completed", active[0])
	require.Equal(c, 1, ask[int](p, "queue.remove", Args{"id": active[0]}))
	require.Equal(c, "unknown", w.state(active[0]))
}

func housekeeping(c *cell) {
	p, w := c.producer, c.consumer
	ids := w.addMany(3, "n", nil)
	require.NoError(c, c.rdb.LRem(c.ctx, c.base(p.queue)+":wait", 0, ids[1]).Err())
	finder := p
	if c.cluster { // Node does not look on all servers
		finder = c.on(c.ga, p.queue)
	}
	require.Equal(c, 1, ask[int](finder, "queue.removeOrphanedJobs", Args{"count": 100, "limit": 0}))
	require.JSONEq(c, "null", string(w.do("queue.getJob", Args{"id": ids[1]})))
	for range 300 {
		w.addMany(1, "n", nil)
	}
	require.Positive(c, ask[int](p, "queue.trimEvents", Args{"maxLength": 10}))
	require.Equal(c, map[string]int{"waiting": 302}, p.counts())
}

// events plays everything that emits events and compares both readers.
func events(c *cell) {
	p, w := c.producer.listen(), c.consumer.listen()
	c.fill()
	id := p.add("ok", nil, Args{"jobId": "twice", "delay": hour})
	w.add("ok", nil, Args{"jobId": "twice"})
	p.add("ok", nil, dedupBy("d", Args{"delay": hour}))
	w.add("ok", nil, dedupBy("d", Args{"delay": hour}))
	p.do("job.updateProgress", Args{"id": id, "progress": Args{"pct": 1}})
	p.do("job.changeDelay", Args{"id": id, "delay": 1})
	p.do("queue.resume", nil)
	p.saw("completed", id)
	p.do("queue.retryJobs", Args{"opts": Args{"state": "failed"}})
	p.sawAll("failed", 8)
	w.release(w.queue)
	p.do("job.remove", Args{"id": id})
	p.do("queue.clean", Args{"type": "failed", "grace": 0, "limit": 0})
	p.do("queue.publishEvent", Args{"name": "the-end", "fields": Args{"jobId": "none"}, "maxEvents": 10000})

	kinds := map[string]bool{}
	mine, theirs := p.readUntil("the-end"), w.readUntil("the-end")
	require.Equal(c, len(mine), len(theirs))
	for i, e := range mine {
		kinds[e.Name] = true
		require.Equal(c, e.ID, theirs[i].ID)
		require.Equal(c, e.Name, theirs[i].Name)
		a, _ := json.Marshal(e.Fields)
		b, _ := json.Marshal(theirs[i].Fields)
		require.JSONEq(c, string(a), string(b), e.Name)
	}
	for _, kind := range []string{
		"added", "waiting", "active", "completed", "failed", "retries-exhausted", "delayed", "progress", "removed",
		"duplicated", "deduplicated", "paused", "resumed", "cleaned", "waiting-children",
	} {
		require.True(c, kinds[kind], "%s was seen", kind)
	}
}

// readUntil are the events that the peer reads up to one of the name given.
func (o *on) readUntil(last string) []*Event {
	o.Helper()
	o.await(last, func(e *Event) bool { return e.Kind == "queue" && e.Name == last })
	var out []*Event
	for _, e := range o.peer.Events(o.queue) {
		if e.Kind == "queue" {
			out = append(out, e)
		}
		if e.Name == last {
			break
		}
	}
	return out
}

func customEvents(c *cell) {
	p, w := c.producer, c.consumer.listen()
	p.do("queue.publishEvent", Args{"name": "shipped", "fields": Args{"parcel": "é 7", "n": 5}})
	e := w.await("the event", func(e *Event) bool { return e.Name == "shipped" })
	require.Equal(c, "é 7", e.Field("parcel"))
	require.Equal(c, "5", e.Field("n"))
}

func workerLists(c *cell) {
	p, w := c.producer, c.consumer
	none := Args{}
	p.work(echo("n"), Args{"name": "mine"})
	w.work(echo("n"), Args{"name": "theirs"})
	w.work(echo("n"), none)
	raw := func(o *on) []string {
		var out []string
		for _, one := range ask[[]map[string]string](o, "queue.getWorkers", nil) {
			out = append(out, one["rawname"])
		}
		sort.Strings(out)
		return out
	}
	c.until("three workers are connected", func() bool { return len(raw(p)) == 3 })
	names := raw(p)
	require.Equal(c, names, raw(w))
	require.True(c, strings.HasSuffix(names[1], ":w:mine"), names)
	require.True(c, strings.HasSuffix(names[2], ":w:theirs"), names)
	require.Equal(c, 3, ask[int](w, "queue.getWorkersCount", nil))
}
