package redisq

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// owned is a schedule that somebody declares.
func owned(id, owner string) storage.Schedule {
	d := interval(id)
	d.Owner, d.Limit = owner, 7
	return d
}

func TestOwnersOfSchedules(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.upsert(at(0), owned("a", "x.com/y"), interval("b"), owned("c", "z"), owned("d", "x.com/y"))
		require.Equal(b.t, "x.com/y", b.do("hget", b.key("q", "repeat:a"), "gen:owner"))
		require.Equal(b.t, "1", b.do("hget", b.key("q", "repeat:a"), "gen:first"))
		require.EqualValues(b.t, 0, b.do("hexists", b.key("q", "repeat:b"), "gen:owner"))
		require.ElementsMatch(b.t, []any{"q:x.com/y", "q:z"}, b.do("smembers", "bull::gen:schedules"))
		records, err := b.Schedules(b.ctx, "q", "a", "b")
		require.NoError(b.t, err)
		require.Equal(b.t, "x.com/y", records[0].Owner)
		require.Empty(b.t, records[0].Extra)
		require.Empty(b.t, records[1].Owner)

		queues, err := b.OwnedQueues(b.ctx, "x.com/y")
		require.NoError(b.t, err)
		require.Equal(b.t, []string{"q"}, queues)
		queues, err = b.OwnedQueues(b.ctx, "x.com")
		require.NoError(b.t, err)
		require.Empty(b.t, queues)

		b.upsert(at(0), interval("d")) // as a peer does: the owner is gone
		pruned, err := b.PruneSchedules(b.ctx, "q", "x.com/y", []string{"e"})
		require.NoError(b.t, err)
		require.Equal(b.t, []string{"a"}, pruned)
		require.False(b.t, b.exists("q", "repeat:a"))
		pruned, err = b.PruneSchedules(b.ctx, "q", "z", []string{"c"})
		require.NoError(b.t, err)
		require.Empty(b.t, pruned)
	})
}

func TestPruneManySchedules(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		const n = pruneStep + 10
		list := make([]storage.Schedule, n)
		for i := range list {
			list[i] = owned(fmt.Sprintf("%04d", i), "x")
			list[i].Every = time.Hour
			list[i].Offset = time.Duration(i) * time.Second // so that jobs are delayed
		}
		b.upsert(at(0), list...)
		pruned, err := b.PruneSchedules(b.ctx, "q", "x", []string{"0000", fmt.Sprint(n - 1)})
		require.NoError(b.t, err)
		require.Len(b.t, pruned, n-2)
		left, err := b.CountSchedules(b.ctx, "q")
		require.NoError(b.t, err)
		require.Equal(b.t, 2, left)
	})
}

func TestOwnersAreChecked(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		_, err := b.PruneSchedules(b.ctx, "q", "", nil)
		require.ErrorContains(b.t, err, "the owner is empty")
		_, err = b.PruneSchedules(b.ctx, "a:b", "x", nil)
		require.ErrorContains(b.t, err, "colon")
		_, err = b.UpsertSchedules(b.ctx, "a:b", at(0), []storage.Schedule{owned("a", "x")})
		require.ErrorContains(b.t, err, "colon")
		pruned, err := b.PruneSchedules(b.ctx, "q", "x", nil)
		require.NoError(b.t, err)
		require.Empty(b.t, pruned)
		require.Empty(b.t, b.keys(), "nothing is written")
	})
}

func TestOwnersOnACluster(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	for _, s := range []struct{ prefix, queue string }{{"bull", "{mail}"}, {"{jobs}", "mail"}} {
		store, err := New(c, Prefix(s.prefix))
		require.NoError(t, err)
		_, err = store.UpsertSchedules(t.Context(), s.queue, at(0), []storage.Schedule{owned("a", "x")})
		require.NoError(t, err)
		queues, err := store.OwnedQueues(t.Context(), "x")
		require.NoError(t, err)
		require.Equal(t, []string{s.queue}, queues)
		pruned, err := store.PruneSchedules(t.Context(), s.queue, "x", nil)
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, pruned)
		require.NoError(t, store.Pause(t.Context(), s.queue))
		require.NoError(t, store.Obliterate(t.Context(), s.queue, false, 10))
	}
	require.Empty(t, c.Keys(t.Context(), "*").Val())
}
