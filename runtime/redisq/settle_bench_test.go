package redisq

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// BenchmarkSettleArgs makes up a call that settles 50 jobs; an op is a job.
func BenchmarkSettleArgs(b *testing.B) {
	req := settleAt(50)
	for i := range 50 {
		req.Settle = append(req.Settle, completed(strconv.Itoa(i)))
	}
	b.ReportAllocs()
	for n := 0; n < b.N; n += len(req.Settle) {
		if _, err := settleArgs(req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParseSettled reads the reply of a call that took 50 jobs; an op is a job.
func BenchmarkParseSettled(b *testing.B) {
	req := settleAt(50)
	out := []string{strconv.Itoa(req.Take), "mail", `{"attempts":3}`, "1700000000000"}
	for i := range req.Take {
		out = append(out, strconv.Itoa(i), `{"to":"someone@example.com"}`)
	}
	b.ReportAllocs()
	for n := 0; n < b.N; n += req.Take {
		if _, err := parseSettled(out, "q", req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSettle settles K jobs and takes K others in each call, with 200 jobs
// held; an op is a job. It reports the time that Redis itself needs for a job:
// what limits a queue, however many workers it has.
func BenchmarkSettle(b *testing.B) {
	for _, k := range []int{1, 10, 50, 200} {
		b.Run(fmt.Sprint("K=", k), func(b *testing.B) { benchmarkSettle(b, k) })
	}
}

const heldJobs = 200

func benchmarkSettle(b *testing.B, k int) {
	srv := testredis.Start(b)
	c := srv.Client(b)
	s, err := New(c)
	require.NoError(b, err)
	ctx := context.Background()
	addPlain(b, c, b.N+heldJobs+k)
	reply, err := s.Settle(ctx, "q", settleAt(heldJobs))
	require.NoError(b, err)
	held := idsOf(reply.Jobs)
	before := redisCPU(b, c)
	b.ResetTimer()
	for n := 0; n < b.N; n += k {
		req := settleAt(k)
		for _, id := range held[:k] {
			req.Settle = append(req.Settle, completed(id))
		}
		reply, err := s.Settle(ctx, "q", req)
		require.NoError(b, err)
		held = append(held[k:], idsOf(reply.Jobs)...)
	}
	b.StopTimer()
	b.ReportMetric(float64((redisCPU(b, c)-before).Nanoseconds())/float64(b.N), "redis-ns/op")
}

// addPlain makes n plain jobs wait on queue q.
func addPlain(b *testing.B, c *redis.Client, n int) {
	b.Helper()
	ctx := context.Background()
	for from := 0; from < n; from += 1000 {
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := from; i < min(from+1000, n); i++ {
				id := strconv.Itoa(i)
				p.HSet(ctx, "bull:q:"+id, "name", "mail", "data", `{"to":"someone@example.com","subject":"hello"}`,
					"opts", `{"attempts":3,"backoff":{"type":"exponential","delay":1000}}`, "timestamp", "1700000000000", "delay", "0", "priority", "0")
				p.LPush(ctx, "bull:q:wait", id)
			}
			return nil
		})
		require.NoError(b, err)
	}
}

// redisCPU is the time that the server's process has run so far.
func redisCPU(b *testing.B, c *redis.Client) time.Duration {
	b.Helper()
	info, err := c.Info(context.Background(), "cpu").Result()
	require.NoError(b, err)
	var user, system float64
	for _, line := range splitLines(info) {
		_, _ = fmt.Sscanf(line, "used_cpu_user:%g", &user)
		_, _ = fmt.Sscanf(line, "used_cpu_sys:%g", &system)
	}
	return time.Duration((user + system) * float64(time.Second))
}

var _ storage.Consumer = (*Store)(nil)
