package bullmq

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// tenants makes a task whose jobs are grouped by the first word of their names.
func tenants(k *kit) {
	k.queue = &QueueSpec{Name: "greetings", GroupLimit: RateLimit{Max: 2, Per: time.Hour}}
	k.task = NewTask[greet, greeting](Spec{Queue: k.queue, Name: "greet"}, func(g *greet) PayloadOptions {
		tenant, _, _ := strings.Cut(g.Name, " ")
		return PayloadOptions{Group: tenant}
	})
}

func TestGroupLimitsKeepTenantsApart(t *testing.T) {
	t.Parallel()
	for _, server := range []func(testing.TB) *testredis.Server{testredis.Any, testredis.Mini} {
		var skew atomic.Int64
		k := newKit(t, server(t), WithClock(func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }))
		tenants(k)
		for i := range 5 {
			k.add(fmt.Sprint("big ", i))
		}
		k.add("small 0")
		var seen recorder
		w := k.worker(func(ctx context.Context, job *Job[greet]) (greeting, error) {
			seen.note(job.Data.Name)
			return hello(ctx, job)
		}, Concurrency(2))
		k.settled(map[State]int{StateCompleted: 3, StateDelayed: 3})
		first := seen.all()
		require.Contains(t, first, "small 0", "a tenant over its limit keeps no other one from running")
		k.until("who waits for its window holds no slot", func() bool { return w.Running() == 0 })
		for hour, want := range []map[State]int{{StateCompleted: 5, StateDelayed: 1}, {StateCompleted: 6}} {
			skew.Store(int64(time.Duration(hour+1) * (time.Hour + time.Second)))
			require.NoError(t, k.store.Wake(k.ctx, "greetings"))
			k.settled(want)
		}
		require.ElementsMatch(t, []string{"big 0", "big 1", "big 2", "big 3", "big 4", "small 0"}, seen.all(), "each ran once")
		r := k.record("5")
		require.Equal(t, 1, r.AttemptsMade)
		require.Empty(t, r.Extra, "its place is not kept once it ran")
	}
}

func TestGroupLimitOfAWorker(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	k.worker(hello, GroupLimit(1, time.Hour, func(j *ActiveJob) string { return j.Options.JobID[:1] }), Concurrency(5))
	for _, id := range []string{"a1", "a2", "b1", "b2", "b3"} {
		k.add("x", JobID(id))
	}
	k.settled(map[State]int{StateCompleted: 2, StateDelayed: 3})
	_, err := NewWorker(k.client, k.queue, GroupLimit(-1, time.Second, nil))
	require.ErrorContains(t, err, "rate limit")
}
