package runner

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/ledger"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// A handler that waits for children of which none is pending rests longer and longer.
func TestWaitingForNoChildrenRests(t *testing.T) {
	t.Parallel()
	require.Equal(t, []time.Duration{0, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond},
		[]time.Duration{vainPause(1), vainPause(2), vainPause(3), vainPause(4)})
	require.Equal(t, 30*time.Second, vainPause(1000))
	var c childless
	j, now := &Job{Job: ledger.Job{Record: &storage.Record{ID: "1"}, Token: "t"}}, time.Now()
	require.Equal(t, storage.Settlement{ID: "1", Token: "t", Kind: storage.BackToWait}, c.again(j, now), "the last child may have finished just then")
	require.Equal(t, storage.Settlement{ID: "1", Token: "t", Kind: storage.DelayedUntil, Delay: 50 * time.Millisecond}, c.again(j, now))
	j.Outcome.Kind = storage.DelayedUntil
	c.settled(j)
	require.Equal(t, 100*time.Millisecond, c.again(j, now).Delay)
	j.Outcome.Kind = storage.Completed
	c.settled(j)
	require.Empty(t, c.jobs)
	for i := range maxVainWaits + 5 {
		c.again(&Job{Job: ledger.Job{Record: &storage.Record{ID: fmt.Sprint(i)}}}, now)
	}
	require.LessOrEqual(t, len(c.jobs), maxVainWaits)
}
