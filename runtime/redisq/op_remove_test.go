package redisq

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func TestRemoveFromEveryState(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		for _, list := range []string{"wait", "paused", "active"} {
			b.waiting("q", list, "in-"+list)
		}
		for _, set := range []string{"completed", "waiting-children", "delayed", "failed", "prioritized"} {
			b.in("q", set, "in-"+set, 1)
		}
		b.job("q", "in-unknown")
		b.do("rpush", b.key("q", "in-wait:logs"), "l")
		b.do("hset", b.key("q", "in-wait"), "deid", "d")
		b.do("set", b.key("q", "de:d"), "in-wait", "px", 60000)
		b.do("hset", b.key("q", "dn:d"), "jid", "9")
		b.do("hset", b.key("q", "in-failed"), "deid", "e")
		b.do("set", b.key("q", "de:e"), "another")

		var want []string
		for _, state := range []string{"wait", "paused", "active", "completed", "waiting-children", "delayed", "failed", "prioritized", "unknown"} {
			require.NoError(b.t, b.Remove(b.ctx, "q", "in-"+state, true))
			want = append(want, "removed jobId=in-"+state+" prev="+state)
		}
		require.Equal(b.t, want, b.events("q"))
		require.Equal(b.t, []string{"bull:q:de:e", "bull:q:events", "bull:q:meta"}, b.keys(), "only the id that another job holds is left")
	})
}

func TestRemovingNothingIsSilent(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.do("xadd", b.key("q", "events"), "*", "event", "added", "jobId", "1")
		for i := range 1000 {
			require.NoError(b.t, b.Remove(b.ctx, "q", "nope"+strconv.Itoa(i), i%2 == 0))
		}
		require.Equal(b.t, []string{"added jobId=1"}, b.events("q"))
		require.Equal(b.t, []string{"bull:q:events"}, b.keys())
	})
}

// flow lays out root (waits for a, b) in one queue and a (waits for a1), b, a1
// in another; root has children that are done, ignored and failed too.
func (b *bench) flow() {
	b.in("p", "waiting-children", "root", 1)
	b.in("q", "waiting-children", "a", 1)
	b.waiting("q", "wait", "b", "a1")
	b.childOf(b.key("p", "root"), b.key("q", "a"))
	b.childOf(b.key("p", "root"), b.key("q", "b"))
	b.childOf(b.key("q", "a"), b.key("q", "a1"))
	for i, set := range []string{"completed", "failed", "failed"} {
		id := []string{"done", "ignored", "bad"}[i]
		b.in("q", set, id, 1, "parentKey", b.key("p", "root"))
	}
	b.do("hset", b.key("p", "root:processed"), b.key("q", "done"), "1")
	b.do("hset", b.key("p", "root:failed"), b.key("q", "ignored"), "r")
	b.do("zadd", b.key("p", "root:unsuccessful"), 1, b.key("q", "bad"))
}

func TestRemoveAFlow(t *testing.T) {
	t.Parallel()
	onServers(t, []Option{Prefix("{app}:q")}, func(b *bench) {
		b.flow()
		b.do("set", b.key("q", "a1:lock"), "t")
		err := b.Remove(b.ctx, "p", "root", true)
		require.ErrorIs(b.t, err, storage.ErrLocked, "a grandchild is being worked on")
		var e *storage.Error
		require.True(b.t, errors.As(err, &e))
		require.Equal(b.t, "root", e.Job)
		require.Empty(b.t, b.events("q"))

		b.do("del", b.key("q", "a1:lock"))
		require.NoError(b.t, b.Remove(b.ctx, "p", "root", true))
		require.Equal(b.t, []string{
			"removed jobId=done prev=completed", "removed jobId=ignored prev=failed", "removed jobId=bad prev=failed",
			"waiting jobId=a prev=waiting-children", "removed jobId=a1 prev=wait", "removed jobId=a prev=wait", "removed jobId=b prev=wait",
		}, b.events("q"))
		require.Equal(b.t, []string{"waiting jobId=root prev=waiting-children", "removed jobId=root prev=wait"}, b.events("p"))
		require.Equal(b.t, []string{
			"{app}:q:p:events", "{app}:q:p:marker", "{app}:q:p:meta", "{app}:q:q:events", "{app}:q:q:marker", "{app}:q:q:meta",
		}, b.keys())
	})
}

func TestRemoveWithoutChildren(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.flow()
		require.NoError(b.t, b.Remove(b.ctx, "p", "root", false))
		require.Equal(b.t, []string{"removed jobId=root prev=waiting-children"}, b.events("p"))
		require.Empty(b.t, b.events("q"))
		require.True(b.t, b.exists("q", "a"))
	})
}

// A parent whose last pending child is removed runs as it wants to: with its
// delay, by its priority.
func TestRemovingTheLastChildReleasesTheParent(t *testing.T) {
	t.Parallel()
	onServers(t, []Option{Prefix("{app}:q")}, func(b *bench) {
		for id, fields := range map[string][]any{
			"plain": nil, "later": {"delay", "60000"}, "urgent": {"priority", "3"},
		} {
			b.in("p", "waiting-children", id, 1, fields...)
			b.waiting("q", "wait", "of-"+id, "too-"+id)
			b.childOf(b.key("p", id), b.key("q", "of-"+id))
			b.childOf(b.key("p", id), b.key("q", "too-"+id))
			require.NoError(b.t, b.Remove(b.ctx, "q", "of-"+id, true))
			require.NoError(b.t, b.RemovePendingChildren(b.ctx, "p", id))
		}
		require.Equal(b.t, []string{"plain"}, b.list("p", "wait"))
		require.Equal(b.t, []string{"later"}, b.set("p", "delayed"))
		require.Equal(b.t, []string{"urgent"}, b.set("p", "prioritized"))
		require.Equal(b.t, []string{"0", "1"}, b.set("p", "marker"))
		require.Empty(b.t, b.list("q", "wait"))
		keys, err := b.c.Keys(b.ctx, "bull*").Result()
		require.NoError(b.t, err)
		require.Empty(b.t, keys)
	})
}

// A parent with a delay that is released by a removal is due by the clock that
// the store was given.
func TestRemovalReadsTheClockOfTheStore(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1600000000000)
	onServers(t, []Option{Clock(func() time.Time { return now })}, func(b *bench) {
		b.do("hset", "bull:q:P", "name", "p", "data", "{}", "opts", "{}", "timestamp", "1", "delay", "500", "priority", "0")
		b.do("zadd", "bull:q:waiting-children", 1, "P")
		b.do("hset", "bull:q:C", "name", "c", "data", "{}", "opts", "{}", "timestamp", "1", "parentKey", "bull:q:P", "parent", `{"id":"P","queueKey":"bull:q"}`)
		b.do("sadd", "bull:q:P:dependencies", "bull:q:C")
		b.do("lpush", "bull:q:wait", "C")
		require.NoError(t, b.Remove(b.ctx, "q", "C", false))
		score, err := b.c.ZScore(b.ctx, "bull:q:delayed", "P").Result()
		require.NoError(t, err)
		require.InDelta(t, float64(1600000000500*4096), score, 0)
	})
}

// Jobs that name one another as children, and children that were given another
// parent meanwhile, leave no one waiting.
func TestRemoveOfTangledFlows(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.waiting("q", "wait", "x", "y", "shared")
		b.in("q", "waiting-children", "first", 1)
		b.in("q", "waiting-children", "second", 1)
		b.childOf(b.key("q", "x"), b.key("q", "y"))
		b.childOf(b.key("q", "y"), b.key("q", "x"))
		require.NoError(b.t, b.Remove(b.ctx, "q", "x", true))
		require.False(b.t, b.exists("q", "y"))

		b.do("hset", b.key("q", "first:processed"), b.key("q", "shared"), "1")
		b.childOf(b.key("q", "second"), b.key("q", "shared"))
		require.NoError(b.t, b.Remove(b.ctx, "q", "first", true))
		require.Equal(b.t, []string{"second"}, b.list("q", "wait"))
	})
}

// A child that one parent knows as done may run again for another one: nobody
// removes it under its worker.
func TestRemoveSparesAChildThatRunsAgain(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.waiting("q", "active", "again")
		b.do("set", b.key("q", "again:lock"), "t")
		b.in("q", "completed", "old", 1)
		b.do("hset", b.key("q", "old:processed"), b.key("q", "again"), "1")
		require.ErrorIs(b.t, b.Remove(b.ctx, "q", "old", true), storage.ErrLocked)
		require.True(b.t, b.exists("q", "old"))
		require.NoError(b.t, b.Remove(b.ctx, "q", "old", false))
		require.Equal(b.t, []string{"again"}, b.list("q", "active"))
	})
}

func TestRemoveRefusals(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.do("zadd", b.key("q", "repeat"), "1700000000000", "s")
		b.in("q", "delayed", "repeat:s:1700000000000", 1, "rjk", "s")
		b.in("q", "failed", "repeat:s:1600000000000", 1, "rjk", "s")
		require.ErrorIs(b.t, b.Remove(b.ctx, "q", "repeat:s:1700000000000", true), storage.ErrScheduled)
		require.NoError(b.t, b.Remove(b.ctx, "q", "repeat:s:1600000000000", true))

		require.ErrorIs(b.t, b.RemovePendingChildren(b.ctx, "q", "nope"), storage.ErrJobNotFound)
		_, err := b.RemoveChildDependency(b.ctx, "q", "nope")
		require.ErrorIs(b.t, err, storage.ErrJobNotFound)
		b.job("q", "alone")
		was, err := b.RemoveChildDependency(b.ctx, "q", "alone")
		require.NoError(b.t, err)
		require.False(b.t, was)
		b.job("q", "orphan", "parentKey", b.key("p", "gone"))
		_, err = b.RemoveChildDependency(b.ctx, "q", "orphan")
		require.ErrorIs(b.t, err, storage.ErrNoParent)
	})
}

func TestRemovePendingChildrenSparesTheBusy(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.flow()
		b.do("set", b.key("q", "b:lock"), "t")
		b.in("q", "failed", "f", 1)
		b.childOf(b.key("p", "root"), b.key("q", "f"))
		require.NoError(b.t, b.RemovePendingChildren(b.ctx, "p", "root"))
		left, err := b.c.SMembers(b.ctx, b.key("p", "root:dependencies")).Result()
		require.NoError(b.t, err)
		require.ElementsMatch(b.t, []string{b.key("q", "b"), b.key("q", "f")}, left)
		require.Equal(b.t, []string{"root"}, b.set("p", "waiting-children"))
		require.False(b.t, b.exists("q", "a1"), "what a removed child waits for goes too")
		require.True(b.t, b.exists("q", "done"))
	})
}

func TestRemovePendingChildrenSparesTheBusyOnEveryLevel(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.flow()
		b.in("q", "failed", "a2", 1)
		b.waiting("q", "wait", "a3")
		b.childOf(b.key("q", "a"), b.key("q", "a2"))
		b.childOf(b.key("q", "a"), b.key("q", "a3"))
		b.do("set", b.key("q", "a1:lock"), "t")
		require.NoError(b.t, b.RemovePendingChildren(b.ctx, "p", "root"))
		require.False(b.t, b.exists("q", "a"), "nobody holds it")
		require.True(b.t, b.exists("q", "a1"), "a worker holds it")
		require.True(b.t, b.exists("q", "a2"), "it failed")
		require.False(b.t, b.exists("q", "a3"))
	})
}

// Many retry a failed job while another removes it: it runs once or is gone,
// and whoever was late is told.
func TestRetriesRaceWithRemoval(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		for round := range 20 {
			id := "r" + strconv.Itoa(round)
			b.in("q", "failed", id, 1)
			errs := make([]error, 20)
			var removal error
			var start, end sync.WaitGroup
			start.Add(1)
			for i := range errs {
				end.Go(func() {
					start.Wait()
					errs[i] = b.Retry(b.ctx, "q", id, storage.RetryRequest{State: storage.StateFailed})
				})
			}
			end.Go(func() {
				start.Wait()
				removal = b.Remove(b.ctx, "q", id, true)
			})
			start.Done()
			end.Wait()
			require.NoError(b.t, removal)
			won := 0
			for _, err := range errs {
				if err == nil {
					won++
					continue
				}
				require.True(b.t, errors.Is(err, storage.ErrNotInState) || errors.Is(err, storage.ErrJobNotFound), err)
			}
			require.LessOrEqual(b.t, won, 1)
			require.False(b.t, b.exists("q", id))
			require.Empty(b.t, b.list("q", "wait"), "the removal took it from where the retry had put it")
		}
	})
}
