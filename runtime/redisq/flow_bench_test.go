package redisq

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// BenchmarkAddFlow adds a parent with n children in one call, and reports how
// long the server is held for each job.
func BenchmarkAddFlow(b *testing.B) {
	for _, n := range []int{3, 100, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := testredis.Start(b).Client(b)
			s, err := New(c)
			require.NoError(b, err)
			ctx := b.Context()
			var us float64
			calls := 0
			for b.Loop() {
				nodes := []storage.FlowNode{node(fmt.Sprintf("q/R%d", calls), "")}
				for i := range n {
					nodes = append(nodes, node(fmt.Sprintf("q/%d-c%d", calls, i), fmt.Sprintf("q/R%d", calls)))
				}
				require.NoError(b, c.ConfigResetStat(ctx).Err())
				_, err := s.AddFlow(ctx, time.Now(), nodes)
				require.NoError(b, err)
				us += scriptTime(b, c)
				calls++
			}
			b.ReportMetric(us/float64(calls*(n+1)), "server-us/job")
		})
	}
}

// scriptTime is how many microseconds the server has spent in scripts since its
// counters were reset.
func scriptTime(t testing.TB, c *redis.Client) float64 {
	t.Helper()
	info, err := c.Info(context.Background(), "commandstats").Result()
	require.NoError(t, err)
	sum := 0.0
	for _, line := range splitLines(info) {
		_, stats, ok := strings.Cut(line, "usec=")
		if !ok || !strings.HasPrefix(line, "cmdstat_eval") {
			continue
		}
		var us float64
		if _, err := fmt.Sscanf(stats, "%f,", &us); err == nil {
			sum += us
		}
	}
	return sum
}

// A job of a flow costs the server three commands, and a flow a fixed number
// more for each queue and parent.
func TestAddFlowCostsNoMoreCommands(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	s, err := New(c)
	require.NoError(t, err)
	for i, n := range []int{1, 10, 400} {
		nodes := []storage.FlowNode{node(fmt.Sprintf("q/R%d", i), "")}
		for k := range n {
			nodes = append(nodes, node(fmt.Sprintf("q/%d-c%d", i, k), fmt.Sprintf("q/R%d", i)))
		}
		require.NoError(t, c.ConfigResetStat(t.Context()).Err())
		_, err := s.AddFlow(t.Context(), time.Now(), nodes)
		require.NoError(t, err)
		if i > 0 { // the first one has more to make
			// Of the flow: EXISTS, HMGET, INCRBY, LPUSH, the parent's ZADD, SADD, ZADD of the marker, XTRIM.
			require.Equal(t, 8+3*(n+1), commandCalls(t, c))
		}
	}
}

// Flows of one call share all but what is of a job, and the SADD of each parent.
func TestAddFlowCostsOfManyFlows(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	s, err := New(c)
	require.NoError(t, err)
	for call := range 2 {
		var nodes, children []storage.FlowNode
		for i := range 10 {
			parent := fmt.Sprintf("q/%d-R%d", call, i)
			nodes = append(nodes, node(parent, ""))
			for k := range 10 {
				children = append(children, node(fmt.Sprintf("q/%d-c%d-%d", call, i, k), parent))
			}
		}
		nodes = append(nodes, children...)
		require.NoError(t, c.ConfigResetStat(t.Context()).Err())
		_, err := s.AddFlow(t.Context(), time.Now(), nodes)
		require.NoError(t, err)
		if call > 0 { // the first one has more to make
			require.Equal(t, 7+10+3*110, commandCalls(t, c))
		}
	}
}
