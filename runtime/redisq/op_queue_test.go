package redisq

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func TestPauseAndResumeLoseNothing(t *testing.T) {
	t.Parallel()
	// Lists are given with the job that runs first at the front; what a 5.x
	// peer set aside runs before what waits.
	cases := map[string]struct {
		peers5              bool
		aside, wait         []string
		pausedAside, stayed []string
		resumed             []string
	}{
		"6.x: jobs stay":                       {wait: []string{"a", "b"}, stayed: []string{"a", "b"}, resumed: []string{"a", "b"}},
		"6.x: leftovers of 5.x are taken back": {aside: []string{"o1", "o2"}, pausedAside: []string{"o1", "o2"}, resumed: []string{"o1", "o2"}},
		"6.x: leftovers run first": {
			aside: []string{"o1", "o2"}, wait: []string{"a", "b", "c"},
			pausedAside: []string{"o1", "o2"}, stayed: []string{"a", "b", "c"},
			resumed: []string{"o1", "o2", "a", "b", "c"},
		},
		"5.x: jobs are set aside": {peers5: true, wait: []string{"a", "b"}, pausedAside: []string{"a", "b"}, resumed: []string{"a", "b"}},
		"5.x: many leftovers, few jobs": {
			peers5: true, aside: []string{"o1", "o2", "o3"}, wait: []string{"a"},
			pausedAside: []string{"o1", "o2", "o3", "a"}, resumed: []string{"o1", "o2", "o3", "a"},
		},
		"5.x: few leftovers, many jobs": {
			peers5: true, aside: []string{"o1"}, wait: []string{"a", "b", "c"},
			pausedAside: []string{"o1", "a", "b", "c"}, resumed: []string{"o1", "a", "b", "c"},
		},
		"nothing at all": {},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var opts []Option
			if c.peers5 {
				opts = append(opts, Peers5())
			}
			onServers(t, opts, func(b *bench) {
				b.waiting("q", "paused", c.aside...)
				b.waiting("q", "wait", c.wait...)
				require.NoError(b.t, b.Pause(b.ctx, "q"))
				require.Equal(b.t, orEmpty(c.pausedAside), b.list("q", "paused"))
				require.Equal(b.t, orEmpty(c.stayed), b.list("q", "wait"))
				require.False(b.t, b.exists("q", "marker"))
				require.NoError(b.t, b.Pause(b.ctx, "q"), "a second pause")
				require.NoError(b.t, b.Resume(b.ctx, "q"))
				require.Equal(b.t, orEmpty(c.resumed), b.list("q", "wait"))
				require.False(b.t, b.exists("q", "paused"))
				require.Equal(b.t, len(c.resumed) > 0, b.exists("q", "marker"))
				require.Equal(b.t, []string{"paused", "paused", "resumed"}, b.events("q"))
			})
		})
	}
}

func orEmpty(list []string) []string { return append([]string{}, list...) }

// Every way into a paused queue ends in the list that the peers' resume looks
// at, and all come out in order.
func TestJobsThatArriveWhilePaused(t *testing.T) {
	t.Parallel()
	for list, opts := range map[string][]Option{"wait": nil, "paused": {Peers5()}} {
		t.Run(list, func(t *testing.T) {
			t.Parallel()
			onServers(t, opts, func(b *bench) {
				b.waiting("q", "wait", "first")
				require.NoError(b.t, b.Pause(b.ctx, "q"))
				b.in("q", "failed", "retried", 5)
				b.in("q", "failed", "retried2", 6)
				b.in("q", "delayed", "promoted", 7<<12)
				b.in("q", "delayed", "promoted2", 8<<12, "priority", "3")
				b.in("q", "waiting-children", "parent", 9)
				b.waiting("q", "wait", "child")
				b.do("lrem", b.key("q", "wait"), 1, "child")
				b.childOf(b.key("q", "parent"), b.key("q", "child"))

				require.NoError(b.t, b.Retry(b.ctx, "q", "retried", storage.RetryRequest{State: storage.StateFailed}))
				require.NoError(b.t, b.RetryAll(b.ctx, "q", storage.StateFailed, time.Now(), 0))
				require.NoError(b.t, b.Promote(b.ctx, "q", "promoted"))
				require.NoError(b.t, b.PromoteAll(b.ctx, "q", 0))
				released, err := b.RemoveChildDependency(b.ctx, "q", "child")
				require.NoError(b.t, err)
				require.True(b.t, released)

				require.False(b.t, b.exists("q", "marker"), "no worker is woken")
				want := []string{"parent", "first", "retried", "retried2", "promoted"}
				require.Equal(b.t, want, b.list("q", list))
				n, err := b.Counts(b.ctx, "q", storage.StateWaiting, storage.StatePrioritized)
				require.NoError(b.t, err)
				require.Equal(b.t, []int{5, 1}, n)

				require.NoError(b.t, b.Resume(b.ctx, "q"))
				require.Equal(b.t, want, b.list("q", "wait"))
				require.Equal(b.t, []string{"promoted2"}, b.set("q", "prioritized"))
				require.True(b.t, b.exists("q", "marker"))
			})
		})
	}
}

func TestResumeOfLongListsWorksInSteps(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		all := b.many("q", "wait", b.medium)
		aside := make([]any, b.medium*2/5)
		step := b.medium / 3
		for i := range aside {
			aside[i] = all[i]
		}
		// Those that run first were set aside.
		b.do("ltrim", b.key("q", "wait"), 0, len(all)-len(aside)-1)
		slices.Reverse(aside)
		for i := 0; i < len(aside); i += 100 {
			b.do(append([]any{"rpush", b.key("q", "paused")}, aside[i:i+100]...)...)
		}
		b.do("hset", b.key("q", "meta"), "paused", "1")

		left, err := b.resumePart(b.ctx, "q", true, step)
		require.NoError(b.t, err)
		require.EqualValues(b.t, len(aside)-step, left)
		require.Len(b.t, b.list("q", "wait"), len(all)-len(aside)+step)
		require.NoError(b.t, b.Resume(b.ctx, "q"))
		require.Equal(b.t, sorted(all), sorted(b.list("q", "wait")))
		require.False(b.t, b.exists("q", "paused"))
	})
}

// A limit that is raised or lifted lets a worker take at once what waits, and
// one that is set, or a paused queue, wakes no one.
func TestLimitsWakeWorkers(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.waiting("q", "wait", "a")
		b.do("lpush", b.key("q", "active"), "x")
		woken := func() bool { return b.do("del", b.key("q", "marker")).(int64) == 1 }

		require.NoError(b.t, b.SetGlobalConcurrency(b.ctx, "q", 1))
		require.False(b.t, woken(), "as many as the limit are active")
		require.NoError(b.t, b.SetGlobalConcurrency(b.ctx, "q", 2))
		require.True(b.t, woken())
		require.NoError(b.t, b.SetGlobalConcurrency(b.ctx, "q", 0))
		require.True(b.t, woken())
		require.False(b.t, b.do("hexists", b.key("q", "meta"), "concurrency").(int64) == 1)

		require.NoError(b.t, b.RateLimit(b.ctx, "q", time.Hour))
		ttl, err := b.RateLimitTTL(b.ctx, "q", 5)
		require.NoError(b.t, err)
		remains(b.t, ttl, time.Hour)
		require.NoError(b.t, b.RateLimit(b.ctx, "q", 0))
		require.True(b.t, woken())
		ttl, err = b.RateLimitTTL(b.ctx, "q", 5)
		require.NoError(b.t, err)
		require.Zero(b.t, ttl)

		require.NoError(b.t, b.Pause(b.ctx, "q"))
		require.NoError(b.t, b.SetGlobalRateLimit(b.ctx, "q", nil))
		require.NoError(b.t, b.RateLimit(b.ctx, "q", 0))
		require.False(b.t, woken(), "the queue is paused")
		require.NoError(b.t, b.SetGlobalConcurrency(b.ctx, "empty", 0))
		require.False(b.t, b.exists("empty", "marker"), "nothing waits")
	})
}

func TestShortTimesAreNotNone(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, 0, millis(0))
	require.EqualValues(t, 1, millis(time.Microsecond))
	require.EqualValues(t, 1, millis(time.Millisecond))
	require.EqualValues(t, 2, millis(time.Millisecond+1))
}

func TestReleaseDedupOfAnotherOwner(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.do("set", b.key("q", "de:x"), "1")
		was, err := b.RemoveDedupKey(b.ctx, "q", "x", "2")
		require.NoError(b.t, err)
		require.False(b.t, was)
		holder, err := b.DedupJobID(b.ctx, "q", "x")
		require.NoError(b.t, err)
		require.Equal(b.t, "1", holder)
		was, err = b.RemoveDedupKey(b.ctx, "q", "x", "")
		require.NoError(b.t, err)
		require.True(b.t, was)
		holder, err = b.DedupJobID(b.ctx, "q", "x")
		require.NoError(b.t, err)
		require.Empty(b.t, holder)
	})
}
