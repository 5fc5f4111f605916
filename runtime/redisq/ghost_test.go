package redisq

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// An id in a finished state whose job is gone is counted by every peer, and can
// neither be read nor be retried.
func TestRemoveOrphansDropsFinishedIdsWhoseJobIsGone(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.job("q", "kept", "finishedOn", "5", "failedReason", "x", "atm", "1")
		b.do("zadd", b.key("q", "failed"), 5, "kept", 6, "gone", 7, "bare")
		b.do("zadd", b.key("q", "completed"), 6, "ghost")
		for part, add := range map[string][]any{
			"logs": {"rpush", "line"}, "dependencies": {"sadd", "bull:q:c"}, "processed": {"hset", "bull:q:c", "1"},
			"failed": {"hset", "bull:q:c", "1"}, "unsuccessful": {"zadd", 1, "bull:q:c"},
		} {
			b.do(append([]any{add[0], b.key("q", "gone:"+part)}, add[1:]...)...)
			b.do(append([]any{add[0], b.key("q", "kept:"+part)}, add[1:]...)...)
		}
		b.do("set", b.key("q", "gone:lock:x"), "another queue's")
		n, err := b.RemoveOrphans(b.ctx, "q", 0, 0)
		require.NoError(t, err)
		require.Equal(t, 3, n)
		require.Equal(t, []any{"kept"}, b.do("zrange", b.key("q", "failed"), 0, -1))
		require.EqualValues(t, 0, b.do("exists", b.key("q", "completed")))
		for _, part := range []string{"logs", "dependencies", "processed", "failed", "unsuccessful"} {
			require.EqualValues(t, 0, b.do("exists", b.key("q", "gone:"+part)), part)
			require.EqualValues(t, 1, b.do("exists", b.key("q", "kept:"+part)), part)
		}
		require.EqualValues(t, 1, b.do("exists", b.key("q", "gone:lock:x")))
	})
}

// Retention by count that is switched on late drops a bounded number a call.
func TestRetentionByCountGoesInSteps(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		const before = 3000
		args := []any{"zadd", b.key("q", "completed")}
		for i := range before {
			args = append(args, i+1, "old"+itoa(i))
		}
		b.do(args...)
		b.many("q", "wait", 40)
		left := before
		for range 40 {
			held := b.mustSettle(settleAt(1)).Jobs
			st := completed(held[0].ID)
			st.Keep = storage.Keep{Count: 10}
			req := settleAt(0)
			req.Now = time.UnixMilli(1_800_000_000_000)
			req.Settle = []storage.Settlement{st}
			b.settleAll(req)
			now := int(b.do("zcard", b.key("q", "completed")).(int64))
			require.LessOrEqual(t, left-now, 100, "one call dropped more than its share")
			require.GreaterOrEqual(t, now, 10)
			left = now
		}
		require.Equal(t, 10, left)
	})
}
