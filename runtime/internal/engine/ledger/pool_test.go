package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// pooled returns workers of one pool, with the weights given.
func pooled(t *testing.T, capacity int, weights ...int) (*Pool, []*worker) {
	t.Helper()
	p := NewPool(capacity)
	var ws []*worker
	for _, weight := range weights {
		w := newWorker(t, Config{Capacity: capacity})
		require.True(t, p.Join(w.Ledger, weight))
		require.False(t, p.Join(w.Ledger, weight), "once")
		ws = append(ws, w)
	}
	return p, ws
}

func TestAWorkerBorrowsCapacityThatNobodyAsksFor(t *testing.T) {
	t.Parallel()
	p, w := pooled(t, 8, 3, 1)
	run := w[0].takes(0, 8, 8)
	require.Equal(t, 8, p.used)
	require.True(t, w[1].ClaimLane())
	var b Batch
	require.False(t, w[1].Next(&b), "there is none left")
	require.True(t, w[1].Snapshot().Hungry)
	w[0].finishes(run[:4]...)
	require.Equal(t, 4, p.used)
	require.Len(t, w[1].takes(0, 4, 4), 4, "the other one has asked for no more yet")
}

func TestFreeCapacityGoesToTheWorkerThatLacksItsShare(t *testing.T) {
	t.Parallel()
	_, w := pooled(t, 8, 3, 1)
	first := w[0].takes(0, 8, 8)
	var b Batch
	require.True(t, w[1].ClaimLane())
	require.False(t, w[1].Next(&b))
	w[0].finishes(first[0])
	w[0].takes(1, 0, 0)
	require.Len(t, w[1].takes(0, 1, 1), 1)
	w[0].finishes(first[1])
	w[0].takes(1, 0, 0)
	require.Len(t, w[1].takes(0, 1, 1), 1)
	w[0].finishes(first[2])
	require.Len(t, w[0].takes(1, 1, 1), 1, "the other one has its share of 2")
}

func TestAWorkerThatFoundNoMoreJobsIsNotHungry(t *testing.T) {
	t.Parallel()
	_, w := pooled(t, 2, 1, 1)
	a := w[0].takes(0, 2, 2)
	var b Batch
	require.True(t, w[1].ClaimLane())
	require.False(t, w[1].Next(&b))
	w[0].finishes(a...)
	w[1].takes(0, 2, 0)
	require.False(t, w[1].Snapshot().Hungry)
	w[0].takes(2, 2, 0)
	require.False(t, newWorker(t, Config{Capacity: 1}).Snapshot().Hungry, "alone")
}
