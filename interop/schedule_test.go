package interop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

const schedules = "Schedules"

var scheduleFeatures = []feature{
	{schedules, "an interval stored by one side, processed by the other: the next job is added when one is taken (C041)", intervalWorked, nil},
	{schedules, "a pattern stored by one side, processed by the other (C041)", patternWorked, nil},
	{schedules, "a limit, processed by both sides at once (C091)", limitShared, nil},
	{schedules, "an end that comes (C091)", endComes, nil},
	{schedules, "handlers that fail, and are retried (C041, C097)", failuresIterate, nil},
	{schedules, "read, listed and counted by both sides (C091)", schedulesRead, nil},
	{schedules, "stored again by the other side (C027)", storedAgain, nil},
	{schedules, "stored again while the queue is paused and the job waits (C027)", storedAgainPaused, onlyFound},
	{schedules, "removed by the other side, between jobs and during one", scheduleRemoved, nil},
	{schedules, "the next job of a schedule is not removed, drained or cleaned (C097)", nextSpared, nil},
	{schedules, "repeatable jobs of 5.x", repeatables, only5},
}

// scheduler is a scheduler as both peers show it.
type scheduler struct {
	Key, Name      string
	Next           int64
	IterationCount int
	Pattern, TZ    string
	Every, Offset  int64
	Limit          int
	Template       struct {
		Data json.RawMessage
		Opts map[string]any
	}
}

func (o *on) upsert(id string, repeat Args, name string, data any, opts Args) *Job {
	o.Helper()
	template := Args{"name": name}
	if data != nil {
		template["data"] = data
	}
	if opts != nil {
		template["opts"] = opts
	}
	return ask[*Job](o, "scheduler.upsert", Args{"id": id, "repeat": repeat, "template": template})
}

func (o *on) scheduler(id string) *scheduler {
	o.Helper()
	return ask[*scheduler](o, "scheduler.get", Args{"id": id})
}

// slot is the time in the id of a scheduler's job.
func slot(t *testing.T, id string) int64 {
	t.Helper()
	ms, err := strconv.ParseInt(id[strings.LastIndexByte(id, ':')+1:], 10, 64)
	require.NoError(t, err)
	return ms
}

// completed are the ids of the completed jobs of a scheduler, once there are n.
func (o *on) completed(id string, n int) []string {
	o.Helper()
	var ids []string
	for _, e := range o.sawAll("completed", n) {
		require.True(o, strings.HasPrefix(e.JobID(), "repeat:"+id+":"), e.JobID())
		ids = append(ids, e.JobID())
	}
	require.Len(o, slices.Compact(slices.Sorted(slices.Values(ids))), len(ids), "no job comes twice")
	return ids
}

func intervalWorked(c *cell) {
	w := c.consumer.work(script{"tick": once(holds("tick"), returns(1))}, Args{"concurrency": 3})
	c.producer.listen()
	first := c.producer.upsert("s", Args{"every": 200}, "tick", Args{"n": 1}, Args{"removeOnComplete": 100})
	begun := map[string]bool{}
	for range 3 { // none of which has ended; a busy machine leaves out slots
		e := w.await("another job begins", func(e *Event) bool {
			return e.Kind == "worker" && e.Worker == w.key && e.Name == "active" && !begun[e.JobID()]
		})
		begun[e.JobID()] = true
		same(c.T, Args{"n": 1}, e.Job.Data)
	}
	require.True(c, begun[first.ID])
	require.GreaterOrEqual(c, c.producer.scheduler("s").IterationCount, 4)
	go c.keepReleasing("tick")
	for i, id := range c.producer.completed("s", 6) {
		require.Zero(c, (slot(c.T, id)-slot(c.T, first.ID))%200, "%d: the phase is kept", i)
	}
}

// keepReleasing lets each handler of the consumer go on that holds with a key.
func (c *cell) keepReleasing(key string) {
	for c.ctx.Err() == nil && c.consumer.peer.Call(c.ctx, "worker.release", Args{"key": key}, nil) == nil {
		select {
		case <-c.ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func patternWorked(c *cell) {
	c.producer.listen()
	job := c.producer.upsert("s", Args{"pattern": "*/1 * * * * *", "tz": "Asia/Tokyo"}, "tick", "x", nil)
	require.Equal(c, "s", job.Scheduler)
	c.consumer.work(script{"tick": once(does("echo"))}, nil)
	for _, id := range c.producer.completed("s", 3) {
		require.Zero(c, slot(c.T, id)%1000)
		same(c.T, "x", c.producer.job(id).Data)
	}
	s := c.consumer.scheduler("s")
	require.GreaterOrEqual(c, s.IterationCount, 4)
	require.Equal(c, "Asia/Tokyo", s.TZ)
	next := c.consumer.job(fmt.Sprintf("repeat:s:%d", s.Next))
	same(c.T, s.Next, next.Opts["prevMillis"])
}

func limitShared(c *cell) {
	for _, o := range []*on{c.producer, c.consumer} {
		o.work(script{"tick": once(returns(1))}, nil)
	}
	c.producer.listen()
	c.producer.upsert("s", Args{"every": 50, "limit": 6}, "tick", nil, nil)
	c.producer.completed("s", 6)
	c.until("nothing follows", func() bool { return len(c.producer.counts()) == 1 })
	require.Equal(c, map[string]int{"completed": 6}, c.consumer.counts())
	require.Equal(c, 6, c.consumer.scheduler("s").IterationCount)
	require.Equal(c, 6, c.consumer.scheduler("s").Limit)
}

func endComes(c *cell) {
	c.producer.listen()
	end := time.Now().Add(2500 * time.Millisecond).UnixMilli()
	c.consumer.work(script{"tick": once(returns(1))}, nil)
	c.producer.upsert("s", Args{"pattern": "* * * * * *", "tz": "UTC", "endDate": end}, "tick", nil, nil)
	c.until("the end is there and all is done", func() bool {
		counts := c.producer.counts()
		return time.Now().UnixMilli() > end && len(counts) == 1 && counts["completed"] >= 2
	})
	for _, e := range c.producer.sawAll("completed", c.producer.counts()["completed"]) {
		require.LessOrEqual(c, slot(c.T, e.JobID()), end)
	}
}

func failuresIterate(c *cell) {
	c.producer.listen()
	c.consumer.work(script{"tick": once(throws("always"))}, nil)
	c.producer.upsert("s", Args{"every": 60, "limit": 4}, "tick", nil, Args{"attempts": 2})
	ids := map[string]bool{}
	for _, e := range c.producer.sawAll("failed", 4) {
		ids[e.JobID()] = true
	}
	require.Len(c, ids, 4)
	require.Equal(c, 4, c.producer.scheduler("s").IterationCount)
	first := slices.Min(slices.Collect(func(yield func(string) bool) {
		for id := range ids {
			if !yield(id) {
				return
			}
		}
	}))
	c.producer.do("job.retry", Args{"id": first})
	c.producer.sawAll("failed", 5)
	require.Equal(c, map[string]int{"failed": 4}, c.producer.counts())

	// An old job of a schedule that goes on makes no next one.
	old := c.producer.upsert("t", Args{"every": hour}, "tick", nil, nil)
	for n := range 4 {
		c.producer.sawAll("failed", 6+n)
		require.Equal(c, map[string]int{"failed": 5, "delayed": 1}, c.producer.counts())
		require.Equal(c, 2, c.producer.scheduler("t").IterationCount)
		c.producer.do("job.retry", Args{"id": old.ID})
	}
}

func schedulesRead(c *cell) {
	year := time.Now().AddDate(1, 0, 0).UnixMilli()
	a := c.producer.upsert("a:b", Args{"pattern": "0 9 * * MON", "tz": "Europe/Rome", "limit": 7, "endDate": year}, "weekly", Args{"x": 1}, Args{"attempts": 3})
	b := c.producer.upsert("é", Args{"every": 3600_000, "offset": 60_000}, "hourly", nil, nil)
	for _, o := range []*on{c.producer, c.consumer} {
		s := o.scheduler("a:b")
		require.Equal(c, slot(c.T, a.ID), s.Next)
		require.Equal(c, []any{"a:b", "weekly", 1, "0 9 * * MON", "Europe/Rome", 7}, []any{s.Key, s.Name, s.IterationCount, s.Pattern, s.TZ, s.Limit})
		same(c.T, Args{"x": 1}, s.Template.Data)
		require.EqualValues(c, 3, s.Template.Opts["attempts"])
		s = o.scheduler("é")
		require.Equal(c, slot(c.T, b.ID), s.Next)
		require.EqualValues(c, 60_000, s.Next%3600_000)
		require.Equal(c, []int64{3600_000, 60_000}, []int64{s.Every, s.Offset})
		require.Nil(c, o.scheduler("none"))
		require.Equal(c, 2, ask[int](o, "scheduler.count", nil))
		list := ask[[]scheduler](o, "scheduler.list", Args{"start": 0, "end": -1, "asc": true})
		require.Equal(c, []string{"é", "a:b"}, []string{list[0].Key, list[1].Key})
	}
}

func storedAgain(c *cell) {
	c.producer.upsert("s", Args{"pattern": "0 0 1 1 *", "tz": "UTC"}, "one", 1, nil)
	job := c.consumer.upsert("s", Args{"pattern": "0 0 1 2 *", "tz": "UTC"}, "two", 2, Args{"attempts": 2})
	require.Equal(c, map[string]int{"delayed": 1}, c.producer.counts())
	for _, o := range []*on{c.producer, c.consumer} {
		s := o.scheduler("s")
		require.Equal(c, []any{"two", "0 0 1 2 *", 1, slot(c.T, job.ID)}, []any{s.Name, s.Pattern, s.IterationCount, s.Next})
		same(c.T, 2, o.job(job.ID).Data)
	}
	c.producer.upsert("s", Args{"every": 3600_000}, "three", 3, nil)
	w := c.consumer.work(script{"three": once(holds("three"), returns(1))}, nil)
	held := c.consumer.held("three")
	require.NotNil(c, held)
	again := c.consumer.upsert("s", Args{"every": 3600_000}, "four", 4, nil)
	require.Equal(c, c.producer.scheduler("s").Next, slot(c.T, again.ID), "the time stays")
	require.Equal(c, map[string]int{"active": 1, "delayed": 1}, c.producer.counts())
	require.Equal(c, 2, c.producer.scheduler("s").IterationCount)
	c.consumer.release("three")
	w.close()
	require.Equal(c, map[string]int{"completed": 1, "delayed": 1}, c.producer.counts())
}

func storedAgainPaused(c *cell) {
	c.producer.do("queue.pause", nil)
	first := c.producer.upsert("s", Args{"every": 3600_000}, "one", 1, nil)
	second := c.consumer.upsert("s", Args{"every": 3600_000}, "two", 2, nil)
	require.Equal(c, first.ID, second.ID)
	counts := c.producer.counts()
	require.Equal(c, 1, counts["waiting"]+counts["paused"])
	c.producer.do("queue.resume", nil)
	c.consumer.listen()
	c.producer.work(script{"two": once(does("echo"))}, nil)
	c.consumer.saw("completed", second.ID)
}

// onlyFound holds where the side that stores a schedule again finds its job.
func onlyFound(c *cell) string {
	if c.goFirst && !c.v5() {
		return "6.x looks for the job where 5.x would have put it, and adds a second one"
	}
	return ""
}

func scheduleRemoved(c *cell) {
	c.producer.listen()
	c.producer.upsert("s", Args{"pattern": "0 0 1 1 *", "tz": "UTC"}, "tick", nil, nil)
	require.True(c, ask[bool](c.consumer, "scheduler.remove", Args{"id": "s"}))
	require.False(c, ask[bool](c.consumer, "scheduler.remove", Args{"id": "s"}))
	require.Empty(c, c.producer.counts())
	require.Nil(c, c.producer.scheduler("s"))

	job := c.producer.upsert("s", Args{"every": 3600_000}, "tick", nil, nil)
	c.consumer.work(script{"tick": once(holds("tick"), returns(1))}, nil)
	c.consumer.held("tick")
	require.True(c, ask[bool](c.producer, "scheduler.remove", Args{"id": "s"}))
	c.consumer.release("tick")
	c.producer.saw("completed", job.ID)
	require.Equal(c, map[string]int{"completed": 1}, c.producer.counts())
}

func nextSpared(c *cell) {
	job := c.producer.upsert("s", Args{"pattern": "0 0 1 1 *", "tz": "UTC"}, "tick", nil, nil)
	err := c.consumer.try("queue.remove", Args{"id": job.ID, "opts": Args{}}, nil)
	var refused *Error
	require.ErrorAs(c, err, &refused)
	require.Equal(c, -8, refused.Code)
	c.consumer.do("queue.drain", Args{"delayed": true})
	c.consumer.do("queue.clean", Args{"grace": 0, "limit": 100, "type": "delayed"})
	require.Equal(c, map[string]int{"delayed": 1}, c.producer.counts())
}

func only5(c *cell) string {
	switch {
	case !c.v5():
		return "6.x has none"
	case c.goFirst:
		return "only 5.x adds them"
	}
	return ""
}

func repeatables(c *cell) {
	c.producer.listen()
	c.producer.add("tick", Args{"n": 1}, Args{"repeat": Args{"every": 150, "limit": 4}})
	c.consumer.work(script{"tick": once(does("echo"))}, nil)
	for _, e := range c.producer.sawAll("completed", 4) {
		same(c.T, Args{"n": 1}, e.Fields["returnvalue"], "its payload stays with it")
	}
	c.until("the limit holds", func() bool { return len(c.producer.counts()) == 1 })
	require.Equal(c, map[string]int{"completed": 4}, c.producer.counts())
}

// TestC047PeersInOtherZones: with a zone that is stored it does not matter
// where a program runs.
func TestC047PeersInOtherZones(t *testing.T) {
	NeedNode(t)
	s := testredis.Shared(t)
	t.Setenv("TZ", "Asia/Tokyo")
	tokyo := map[Library]*Peer{Node6: StartNode(t, Node6, s.URL()), Node5: StartNode(t, Node5, s.URL())}
	t.Setenv("TZ", "America/New_York")
	york := StartGo(t, s.URL())
	k := newKit(t, s.Client(t))
	for lib, node := range tokyo {
		ours, theirs := k.on(york, name("zones")), k.on(node, "")
		theirs.queue = ours.queue
		for _, repeat := range []Args{{"pattern": "0 9 * * *", "tz": "Europe/Berlin"}, {"pattern": "0 9 * * *"}} {
			job := ours.upsert("s", repeat, "tick", nil, nil)
			zone := "UTC" // what is stored when no zone is given
			if repeat["tz"] != nil {
				zone = "Europe/Berlin"
			}
			require.Equal(t, zone, theirs.scheduler("s").TZ)
			// The other side computes the time after it, as its worker does.
			ours.do("job.promote", Args{"id": job.ID})
			theirs.listen()
			w := theirs.work(script{"tick": once(returns(1))}, nil)
			theirs.saw("completed", job.ID)
			next := time.UnixMilli(ours.scheduler("s").Next)
			loc, err := time.LoadLocation(zone)
			require.NoError(t, err)
			require.Equal(t, 9, next.In(loc).Hour(), "%s in Tokyo", lib.Version)
			require.Greater(t, next.UnixMilli(), slot(t, job.ID))
			w.close()
		}
		// And the other way round: stored in Tokyo, worked in New York.
		job := theirs.upsert("t", Args{"pattern": "0 9 * * *", "tz": "Europe/Berlin"}, "tick", nil, nil)
		theirs.do("job.promote", Args{"id": job.ID})
		w := ours.work(script{"tick": once(returns(1))}, nil)
		theirs.saw("completed", job.ID)
		w.close()
		berlin, err := time.LoadLocation("Europe/Berlin")
		require.NoError(t, err)
		next := time.UnixMilli(theirs.scheduler("t").Next)
		require.Equal(t, 9, next.In(berlin).Hour(), "%s in New York", lib.Version)
		require.Greater(t, next.UnixMilli(), slot(t, job.ID))
	}
}
