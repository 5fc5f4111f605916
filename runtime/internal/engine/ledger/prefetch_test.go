package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func TestPrefetchTakesNoMoreThanHandlersFinish(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pace, trip time.Duration
		capacity   int
		want       int
	}{
		{0, time.Millisecond, 100, 0},                     // nothing is known
		{5 * time.Millisecond, time.Millisecond, 100, 40}, // what ends in the time of two calls
		{time.Microsecond, time.Millisecond, 1, 50},       // no more than allowed
		{time.Second, time.Millisecond, 100, 0},
		{10 * time.Minute, 5 * time.Second, 1, 0},
		{1, 2 * time.Hour, 100_000, 50}, // and no overflow
	} {
		p := prefetch{most: 50, pace: tt.pace, trip: tt.trip}
		require.Equal(t, tt.want, p.room(tt.capacity), "%+v", tt)
	}
	p := prefetch{epoch: time.Now()}
	require.Zero(t, p.room(10), "not without the option")
}

func TestPrefetchedJobsWaitForCapacityInOrder(t *testing.T) {
	t.Parallel()
	w := newWorker(t, Config{Capacity: 2, Lanes: 1, Prefetch: 3, HandlerTime: 1, CallTime: time.Hour})
	run := w.takes(0, 5, 5)
	require.Equal(t, []string{"1", "2"}, ids(run))
	require.Equal(t, []string{"3", "4", "5"}, ids(w.Snapshot().Prefetched))
	require.False(t, w.ClaimLane())
	require.Nil(t, w.StartNext(), "there is no capacity")
	w.finishes(run[0])
	require.Equal(t, "3", w.StartNext().Record.ID)
	require.Equal(t, []string{"4"}, ids(w.SetCapacity(3)))
	require.True(t, w.Lose(w.Find("5")[0]))
	require.Empty(t, w.SetCapacity(5))
	require.Equal(t, 3, w.Snapshot().Running)
}

func TestPrefetchedJobsGoBackUnstarted(t *testing.T) {
	t.Parallel()
	back := func(id string) storage.Settlement {
		return storage.Settlement{ID: id, Token: "token", Kind: storage.BackToWait, Unstarted: true}
	}
	for name, how := range map[string]func(*Ledger){
		"paused":   func(l *Ledger) { l.SetPaused(true) },
		"stopping": func(l *Ledger) { l.BeginStop() },
		"slow":     func(l *Ledger) { l.PutBackAfter(0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorker(t, Config{Capacity: 1, Lanes: 1, Prefetch: 2, HandlerTime: 1, CallTime: time.Hour})
			w.takes(0, 3, 3)
			w.PutBackAfter(time.Hour)
			require.Len(t, w.Snapshot().Prefetched, 2, "they have not waited for long")
			how(w.Ledger)
			var b Batch
			require.True(t, w.ClaimLane())
			require.True(t, w.Next(&b))
			require.Zero(t, b.Take, "nothing is prefetched until more is known")
			require.Equal(t, []string{"2", "3"}, ids(b.Settle))
			require.Equal(t, []storage.Settlement{back("2"), back("3")}, []storage.Settlement{b.Settle[0].Outcome, b.Settle[1].Outcome})
		})
	}
}
