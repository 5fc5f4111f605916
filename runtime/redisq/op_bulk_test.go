package redisq

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func TestDrainSparesWhatSchedulersWaitFor(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.do("zadd", b.key("q", "repeat"), "1700000000000", "every:5", "1700000000001", "s2")
		b.waiting("q", "wait", "1", "repeat:every:5:1700000000000", "2", "repeat:every:5:1600000000000", "3")
		b.waiting("q", "paused", "4", "repeat:s2:1700000000001")
		b.in("q", "prioritized", "5", 1)
		b.in("q", "delayed", "6", 1)
		b.do("hset", b.key("q", "3"), "deid", "d")
		b.do("set", b.key("q", "de:d"), "3")
		b.do("hset", b.key("q", "dn:d"), "jid", "8")
		b.do("zadd", b.key("q", "marker"), 0, "0")

		require.NoError(b.t, b.Drain(b.ctx, "q", false))
		require.Equal(b.t, []string{
			"bull:q:6", "bull:q:delayed", "bull:q:marker", "bull:q:paused", "bull:q:repeat",
			"bull:q:repeat:every:5:1700000000000", "bull:q:repeat:s2:1700000000001", "bull:q:wait",
		}, b.keys())
		require.Equal(b.t, []string{"repeat:every:5:1700000000000"}, b.list("q", "wait"))
		require.Equal(b.t, []string{"repeat:s2:1700000000001"}, b.list("q", "paused"))

		require.NoError(b.t, b.Drain(b.ctx, "q", true))
		require.False(b.t, b.exists("q", "delayed"))
		require.Empty(b.t, b.events("q"))
	})
}

// Draining the last child that a parent waits for takes a parent of the same
// queue with it, and releases one of another queue as it wants to run.
func TestDrainOfChildren(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.waiting("q", "wait", "a", "b", "c", "d")
		b.in("q", "waiting-children", "grandparent", 1)
		b.in("q", "waiting-children", "parent", 1, "deid", "pd")
		b.do("set", b.key("q", "de:pd"), "parent")
		b.in("p", "waiting-children", "urgent", 1, "priority", "4")
		b.in("p", "waiting-children", "later", 1, "delay", "60000")
		b.in("p", "waiting-children", "patient", 1)
		b.childOf("bull:q:grandparent", "bull:q:parent")
		b.childOf("bull:q:parent", "bull:q:a")
		b.childOf("bull:p:urgent", "bull:q:b")
		b.childOf("bull:p:later", "bull:q:c")
		b.childOf("bull:p:patient", "bull:q:d")
		b.job("p", "other")
		b.childOf("bull:p:patient", "bull:p:other")

		require.NoError(b.t, b.Drain(b.ctx, "q", true))
		require.Equal(b.t, []string{
			"bull:p:delayed", "bull:p:later", "bull:p:marker", "bull:p:other", "bull:p:patient",
			"bull:p:patient:dependencies", "bull:p:pc", "bull:p:prioritized", "bull:p:urgent", "bull:p:waiting-children",
		}, b.keys())
		require.Equal(b.t, []string{"urgent"}, b.set("p", "prioritized"))
		require.Equal(b.t, []string{"later"}, b.set("p", "delayed"))
		require.Equal(b.t, []string{"patient"}, b.set("p", "waiting-children"))
	})
}

func TestDrainOfLongLists(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.many("q", "wait", b.long)
		b.do("zadd", b.key("q", "repeat"), 7, "s")
		b.waiting("q", "wait", "repeat:s:7")
		b.do("lrem", b.key("q", "wait"), 1, "repeat:s:7")
		b.do("linsert", b.key("q", "wait"), "before", "j"+strconv.Itoa(b.long-5), "repeat:s:7")

		ctx := b.cancelAfter(1)
		require.ErrorIs(b.t, b.Drain(ctx, "q", false), context.Canceled)
		require.Len(b.t, b.list("q", "wait"), b.long+1-bulkStep)
		require.NoError(b.t, b.Drain(b.ctx, "q", false))
		require.Equal(b.t, []string{"bull:q:repeat", "bull:q:repeat:s:7", "bull:q:wait"}, b.keys())
	})
}

func TestCleanLooksAtAllThatWaits(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.do("zadd", b.key("q", "repeat"), 5, "s")
		b.waiting("q", "paused", "o1", "new1", "o2")
		b.waiting("q", "wait", "w1", "repeat:s:5", "new2", "w2", "w3")
		for _, id := range []string{"new1", "new2"} {
			b.do("hset", b.key("q", id), "timestamp", "5000")
		}
		// The time that counts is when a job was last worked, and 999 is before 1000.
		b.do("hset", b.key("q", "w2"), "processedOn", "4000", "timestamp", "999")
		b.do("hset", b.key("q", "w3"), "timestamp", "999")

		clean := func(limit int) []string {
			ids, err := b.Clean(b.ctx, "q", storage.StateWaiting, time.UnixMilli(1000), limit)
			require.NoError(b.t, err)
			return ids
		}
		require.Equal(b.t, []string{"o1"}, clean(1), "what waits longest goes first")
		require.Equal(b.t, []string{"o2", "w1"}, clean(2), "what cannot be removed is passed over")
		require.Equal(b.t, []string{"w3"}, clean(0))
		require.Equal(b.t, []string{"new1"}, b.list("q", "paused"))
		require.Equal(b.t, []string{"repeat:s:5", "new2", "w2"}, b.list("q", "wait"))
		require.Equal(b.t, []string{
			"cleaned count=1", "cleaned count=1", "cleaned count=1", "cleaned count=0", "cleaned count=1",
		}, b.events("q"))

		ids, err := b.Clean(b.ctx, "q", storage.StatePaused, time.UnixMilli(5000), 0)
		require.NoError(b.t, err)
		require.Equal(b.t, []string{"new1"}, ids)
	})
}

func TestCleanOfOtherStates(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.waiting("q", "active", "lost", "run")
		b.do("set", b.key("q", "run:lock"), "t")
		b.do("zadd", b.key("q", "repeat"), 5, "s")
		b.in("q", "delayed", "d1", 1<<12)
		b.in("q", "delayed", "repeat:s:5", 2<<12)
		b.in("q", "delayed", "d2", 3<<12, "processedOn", "2000")
		b.in("q", "prioritized", "p1", 1<<32, "processedOn", "2000")
		for i := range 5 {
			b.in("q", "completed", "c"+strconv.Itoa(i), int64(998+i))
		}
		b.do("zadd", b.key("q", "failed"), 3, "ghost")

		for _, c := range []struct {
			state storage.State
			limit int
			want  []string
		}{
			{storage.StateActive, 0, []string{"lost"}},
			{storage.StateDelayed, 0, []string{"d1"}},
			{storage.StatePrioritized, 7, []string{"p1"}},
			{storage.StateCompleted, 2, []string{"c0", "c1"}},
			{storage.StateCompleted, 0, []string{"c2"}},
			{storage.StateFailed, 0, []string{"ghost"}},
		} {
			ids, err := b.Clean(b.ctx, "q", c.state, time.UnixMilli(1000), c.limit)
			require.NoError(b.t, err)
			require.Equal(b.t, c.want, ids, c.state)
		}
		require.Equal(b.t, []string{"run"}, b.list("q", "active"))
		require.Equal(b.t, []string{"repeat:s:5", "d2"}, b.set("q", "delayed"))
		require.Equal(b.t, []string{"c3", "c4"}, b.set("q", "completed"))
	})
}

// Jobs that stay do not end a clean before it has seen the whole list, and keep
// their places.
func TestCleanOfLongListsWorksInSteps(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		all := b.many("q", "wait", b.long)
		var stay, leave []string
		pipe := b.c.Pipeline()
		for i, id := range all {
			if i%7 == 0 || i > 8000 && i < 8500 {
				pipe.HSet(b.ctx, b.key("q", id), "timestamp", 9000)
				stay = append(stay, id)
			} else {
				leave = append(leave, id)
			}
		}
		_, err := pipe.Exec(b.ctx)
		require.NoError(b.t, err)

		some, err := b.Clean(b.ctx, "q", storage.StateWaiting, time.UnixMilli(2000), 12)
		require.NoError(b.t, err)
		slices.Reverse(some)
		require.Equal(b.t, leave[:12], some)

		ctx := b.cancelAfter(1)
		first, err := b.Clean(ctx, "q", storage.StateWaiting, time.UnixMilli(2000), 0)
		require.ErrorIs(b.t, err, context.Canceled)
		require.NotEmpty(b.t, first, "what the steps before removed is told")
		rest, err := b.Clean(b.ctx, "q", storage.StateWaiting, time.UnixMilli(2000), 0)
		require.NoError(b.t, err)
		require.Equal(b.t, sorted(leave[12:]), sorted(append(first, rest...)))
		require.Equal(b.t, stay, b.list("q", "wait"))
		for _, id := range rest[:10] {
			require.False(b.t, b.exists("q", id))
		}
	})
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func TestRetryAllAndPromoteAllHonourPriority(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.in("q", "failed", "f1", 10, "failedReason", "r", "finishedOn", "10", "processedOn", "9", "atm", "2", "stacktrace", `["s"]`)
		b.in("q", "failed", "f2", 11, "priority", "5")
		b.do("zadd", b.key("q", "failed"), 12, "ghost")
		b.in("q", "failed", "f3", 13)
		b.in("q", "failed", "newer", 21)
		b.in("q", "delayed", "d1", 1<<12, "delay", "700")
		b.in("q", "delayed", "d2", 2<<12, "delay", "700", "priority", "4")

		require.NoError(b.t, b.RetryAll(b.ctx, "q", storage.StateFailed, time.UnixMilli(20), 2))
		require.NoError(b.t, b.PromoteAll(b.ctx, "q", 1))
		require.Equal(b.t, []string{"f1", "f3", "d1"}, b.list("q", "wait"))
		require.Equal(b.t, []string{"d2", "f2"}, b.set("q", "prioritized"))
		require.Equal(b.t, []string{"newer"}, b.set("q", "failed"))
		require.False(b.t, b.exists("q", "delayed"))
		require.True(b.t, b.exists("q", "marker"))
		require.Equal(b.t, []string{
			"waiting jobId=f1 prev=failed", "waiting jobId=f2 prev=failed", "waiting jobId=f3 prev=failed",
			"waiting jobId=d1 prev=delayed", "waiting jobId=d2 prev=delayed",
		}, b.events("q"))
		jobs, err := b.Jobs(b.ctx, "q", "f1", "d2", "ghost")
		require.NoError(b.t, err)
		require.Nil(b.t, jobs[2], "no job is made of an id that has none")
		require.Zero(b.t, jobs[1].Delay)
		require.Equal(b.t, storage.Record{
			ID: "f1", Name: "n", Data: []byte("{}"), Opts: []byte("{}"), Timestamp: time.UnixMilli(1000),
			AttemptsMade: 2, Stack: []byte(`["s"]`),
		}, *jobs[0])
	})
}

func TestRetryAllInSteps(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		pipe := b.c.Pipeline()
		var want []string
		for i := range b.medium {
			id := fmt.Sprintf("%05d", i)
			want = append(want, id)
			pipe.HSet(b.ctx, b.key("q", id), "name", "n", "finishedOn", 5)
			pipe.Do(b.ctx, "zadd", b.key("q", "completed"), 5, id)
		}
		_, err := pipe.Exec(b.ctx)
		require.NoError(b.t, err)
		ctx := b.cancelAfter(3)
		require.ErrorIs(b.t, b.RetryAll(ctx, "q", storage.StateCompleted, time.Now(), 0), context.Canceled)
		require.Len(b.t, b.list("q", "wait"), 3000)
		require.NoError(b.t, b.RetryAll(b.ctx, "q", storage.StateCompleted, time.Now(), 8000))
		require.Equal(b.t, want, b.list("q", "wait"))
	})
}
