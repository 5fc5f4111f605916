package redisq

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/audit"
	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// While a slot is moved, key by key, a script would find some keys gone, and
// fail in the middle. Calls are refused as a whole instead, until it is moved.
func TestCallsWhileASlotMoves(t *testing.T) {
	t.Parallel()
	nodes := testredis.Cluster(t, 2)
	s, err := New(nodes.Client(t), Prefix("{3560}")) // in slot 0
	require.NoError(t, err)
	ctx := t.Context()
	_, err = s.Add(ctx, "q", plainJobs(3))
	require.NoError(t, err)
	taken, err := s.Settle(ctx, "q", settleAt(1))
	require.NoError(t, err)

	before, err := vectors.Snapshot(ctx, nodes.Masters[0].Client(t))
	require.NoError(t, err)
	moved, refused := 0, 0
	nodes.Migrate(0, 0, 1, func() {
		moved++
		if moved%4 != 1 { // a call is tried again for a while
			return
		}
		_, err := s.Add(ctx, "q", plainJobs(1))
		require.True(t, storage.Transient(err), "%v", err)
		require.NotErrorIs(t, err, storage.ErrUncertain)
		_, err = s.Settle(ctx, "q", settleAt(1, completed(taken.Jobs[0].ID)))
		require.True(t, storage.Transient(err), "%v", err)
		refused++
	})
	require.GreaterOrEqual(t, refused, 2)
	after, err := vectors.Snapshot(ctx, nodes.Masters[1].Client(t))
	require.NoError(t, err)
	for key, e := range after { // they run out meanwhile
		e.TTL = before[key].TTL
		after[key] = e
	}
	require.Empty(t, vectors.Diff(before, after), "nothing was done by halves")
	reply, err := s.Settle(ctx, "q", settleAt(2, completed(taken.Jobs[0].ID)))
	require.NoError(t, err)
	require.Equal(t, []error{nil}, reply.Errs)
	require.Len(t, reply.Jobs, 2)
	problems, err := audit.Check(ctx, nodes.Masters[1].Client(t), "{3560}")
	require.NoError(t, err)
	require.Empty(t, problems)
}

// Events are read on from whichever node has them now.
func TestEventsAfterAFailover(t *testing.T) {
	t.Parallel()
	nodes := testredis.Cluster(t, 2)
	c := nodes.Client(t)
	s, err := New(c, Prefix("{3560}"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	ctx := t.Context()
	_, err = s.Add(ctx, "q", plainJobs(1))
	require.NoError(t, err)
	read, err := s.ReadEvents(ctx, "q", "", time.Second)
	require.NoError(t, err)
	require.Len(t, read, 2)

	nodes.Failover()
	require.Eventually(t, func() bool {
		_, err = s.Add(ctx, "q", plainJobs(1))
		return err == nil
	}, patience, time.Millisecond)
	var more []storage.Event
	require.Eventually(t, func() bool {
		more, err = s.ReadEvents(ctx, "q", read[1].Cursor, time.Second)
		return err == nil
	}, patience, time.Millisecond)
	require.GreaterOrEqual(t, len(more), 2)
}
