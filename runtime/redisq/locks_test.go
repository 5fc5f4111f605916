package redisq

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func TestRenewTellsWhichLocksAreLost(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		ids := b.many("q", "wait", 1200)
		b.mustSettle(settleAt(len(ids)))
		b.do("del", "bull:q:j3:lock")
		b.do("set", "bull:q:j900:lock", "someone", "px", "7000")
		b.do("sadd", "bull:q:stalled", "j1", "j3", "j1100")
		locks := make([]storage.Lock, len(ids))
		for i, id := range ids {
			locks[i] = storage.Lock{ID: id, Token: "tok"}
		}
		lost, err := b.Renew(b.ctx, "q", locks, 90*time.Second)
		require.NoError(t, err)
		require.Equal(t, []string{"j3", "j900"}, lost)
		require.InDelta(t, 90000, b.do("pttl", "bull:q:j1199:lock"), 5000)
		require.InDelta(t, 7000, b.do("pttl", "bull:q:j900:lock"), 5000)
		require.False(t, b.exists("q", "j3:lock"))
		left, err := b.c.SMembers(b.ctx, "bull:q:stalled").Result()
		require.NoError(t, err)
		require.Equal(t, []string{"j3"}, left)
	})
}

func TestRenewOfNothing(t *testing.T) {
	t.Parallel()
	s := openOn(t, "redis://127.0.0.1:1") // nothing is sent
	lost, err := s.Renew(t.Context(), "q", nil, time.Second)
	require.NoError(t, err)
	require.Empty(t, lost)
	_, err = s.Renew(t.Context(), "q", []storage.Lock{{ID: "1"}}, time.Microsecond)
	require.ErrorContains(t, err, "at least a millisecond")
}
