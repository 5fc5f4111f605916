package redisq

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func TestRetryRefusals(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		failed := storage.RetryRequest{State: storage.StateFailed}
		require.ErrorIs(b.t, b.Retry(b.ctx, "q", "nope", failed), storage.ErrJobNotFound)
		b.waiting("q", "wait", "w")
		b.in("q", "completed", "c", 1, "returnvalue", "1", "atm", "1", "ats", "2", "opts", `{"lifo":true}`)
		for _, id := range []string{"w", "c"} {
			require.ErrorIs(b.t, b.Retry(b.ctx, "q", id, failed), storage.ErrNotInState)
		}
		require.Equal(b.t, []string{"w"}, b.list("q", "wait"))
		require.Empty(b.t, b.events("q"))

		require.NoError(b.t, b.Retry(b.ctx, "q", "c", storage.RetryRequest{State: storage.StateCompleted, ResetMade: true}))
		require.Equal(b.t, []string{"c", "w"}, b.list("q", "wait"), "a job that was added in front goes there again")
		jobs, err := b.Jobs(b.ctx, "q", "c")
		require.NoError(b.t, err)
		require.Zero(b.t, jobs[0].AttemptsMade)
		require.Equal(b.t, 2, jobs[0].AttemptsStarted)
		require.Nil(b.t, jobs[0].ReturnValue)
	})
}

// A job whose options are no JSON object can be retried like any other.
func TestRetryOfStrangeOptions(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		for _, opts := range []string{"", "null", "[]", "{", `{"lifo":1}`, `"x"`} {
			b.in("q", "failed", "f"+opts, 1, "opts", opts)
			require.NoError(b.t, b.Retry(b.ctx, "q", "f"+opts, storage.RetryRequest{State: storage.StateFailed}), opts)
		}
		require.Len(b.t, b.list("q", "wait"), 6)
	})
}

func TestChangePriorityOfAJobSetAside(t *testing.T) {
	t.Parallel()
	onServers(t, []Option{Peers5()}, func(b *bench) {
		b.waiting("q", "paused", "a", "b", "c")
		b.do("hset", b.key("q", "meta"), "paused", "1")
		require.NoError(b.t, b.ChangePriority(b.ctx, "q", "b", 3, false))
		require.Equal(b.t, []string{"a", "c"}, b.list("q", "paused"))
		require.Equal(b.t, []string{"b"}, b.set("q", "prioritized"))
		require.NoError(b.t, b.ChangePriority(b.ctx, "q", "b", 0, true))
		require.Equal(b.t, []string{"b", "a", "c"}, b.list("q", "paused"))
		require.ErrorIs(b.t, b.ChangePriority(b.ctx, "q", "nope", 1, false), storage.ErrJobNotFound)
		require.False(b.t, b.exists("q", "nope"))
	})
}

// Workers wait for the time of the marker: a delay that is now the shortest moves it.
func TestChangeDelayMovesTheMarker(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		now := time.UnixMilli(1700000000000)
		b.in("q", "delayed", "a", now.Add(8*time.Second).UnixMilli()<<12)
		b.in("q", "delayed", "b", now.Add(9*time.Second).UnixMilli()<<12)
		require.NoError(b.t, b.ChangeDelay(b.ctx, "q", "b", now, 500*time.Millisecond))
		due := func() float64 {
			score, err := b.c.ZScore(b.ctx, b.key("q", "marker"), "1").Result()
			require.NoError(b.t, err)
			return score
		}
		require.InDelta(b.t, now.UnixMilli()+500, due(), 0)
		require.NoError(b.t, b.ChangeDelay(b.ctx, "q", "a", now, time.Microsecond))
		require.InDelta(b.t, now.UnixMilli()+1, due(), 0, "a part of a millisecond counts as one")
		require.Equal(b.t, []string{"a", "b"}, b.set("q", "delayed"))
		require.Equal(b.t, []string{"delayed delay=1700000000500 jobId=b", "delayed delay=1700000000001 jobId=a"}, b.events("q"))

		b.waiting("q", "wait", "w")
		require.ErrorIs(b.t, b.ChangeDelay(b.ctx, "q", "w", now, 0), storage.ErrNotInState)
		require.ErrorIs(b.t, b.ChangeDelay(b.ctx, "q", "nope", now, 0), storage.ErrJobNotFound)
	})
}

// Any number of jobs due in one millisecond stay in the order in which they came.
func TestChangeDelayKeepsOrder(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		now := time.UnixMilli(1700000000000)
		ids := []string{"z", "y", "x", "w", "v"}
		for i, id := range ids {
			b.in("q", "delayed", id, int64(i))
			require.NoError(b.t, b.ChangeDelay(b.ctx, "q", id, now, time.Second))
		}
		require.Equal(b.t, ids, b.set("q", "delayed"))
	})
}

func TestPromoteRefusals(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.waiting("q", "wait", "w")
		b.do("zadd", b.key("q", "delayed"), 1, "ghost")
		require.ErrorIs(b.t, b.Promote(b.ctx, "q", "w"), storage.ErrNotInState)
		require.ErrorIs(b.t, b.Promote(b.ctx, "q", "nope"), storage.ErrJobNotFound)
		require.ErrorIs(b.t, b.Promote(b.ctx, "q", "ghost"), storage.ErrJobNotFound)
		require.False(b.t, b.exists("q", "ghost"))
		require.False(b.t, b.exists("q", "delayed"), "an id without a job is no delayed job")
		require.Equal(b.t, []string{"w"}, b.list("q", "wait"))
	})
}

func TestProgressIsAnyJSON(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.job("q", "1")
		want := []string{}
		for _, p := range []string{`42`, `"half"`, `true`, `{"pct":42}`, `[1]`, `""`, `0`, `null`} {
			require.NoError(b.t, b.UpdateProgress(b.ctx, "q", "1", []byte(p)))
			want = append(want, "progress data="+p+" jobId=1")
			jobs, err := b.Jobs(b.ctx, "q", "1")
			require.NoError(b.t, err)
			require.Equal(b.t, p, string(jobs[0].Progress))
		}
		require.Equal(b.t, want, b.events("q"))
		require.ErrorIs(b.t, b.UpdateProgress(b.ctx, "q", "2", []byte("1")), storage.ErrJobNotFound)
		require.ErrorIs(b.t, b.UpdateData(b.ctx, "q", "2", []byte("1")), storage.ErrJobNotFound)
		require.False(b.t, b.exists("q", "2"))
	})
}
