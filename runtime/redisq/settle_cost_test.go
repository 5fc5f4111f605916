package redisq

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// commandCalls is how many commands the server carried out since its counters
// were reset, those of clients not counted.
func commandCalls(t testing.TB, c *redis.Client) int {
	t.Helper()
	info, err := c.Info(context.Background(), "commandstats").Result()
	require.NoError(t, err)
	sum := 0
	for _, line := range splitLines(info) {
		name, stats, ok := strings.Cut(line, ":")
		switch strings.TrimPrefix(name, "cmdstat_") {
		case "evalsha", "eval", "info", "config|resetstat", "client|setinfo", "hello", "ping":
			continue
		}
		var calls int
		if _, err := fmt.Sscanf(stats, "calls=%d", &calls); ok && err == nil {
			sum += calls
		}
	}
	return sum
}

// A plain job costs a fixed number of commands, and a call a fixed number more:
// time spent in Redis is what limits a queue.
func TestSettleCostsNoMoreCommands(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	ctx := context.Background()
	b := &bench{Store: openOn(t, srv.URL()), t: t, c: srv.Client(t), ctx: ctx}
	for _, test := range []struct {
		name    string
		keep    storage.Keep
		points  int
		call    int // commands of a call that settles as many as it takes
		settled int // of each job settled
		taken   int // of each job taken
		less    int // of a call for a single job: it goes from one list to the other in one command, and what is delayed is seen at once
	}{
		{name: "kept", call: 13, settled: 3, taken: 5, less: 3},
		{name: "removed", keep: storage.Keep{Remove: true}, call: 13, settled: 2, taken: 5, less: 3},
		{name: "counted", points: 60, call: 15, settled: 3, taken: 5, less: 3},
		{name: "a thousand kept", keep: storage.Keep{Count: 1000}, call: 14, settled: 3, taken: 5, less: 2},
	} {
		for _, k := range []int{1, 10, 50} {
			srv.FlushAll()
			b.do("hset", "bull:q:meta", "opts.maxLenEvents", "10000")
			ids := b.many("q", "wait", 300)
			for _, id := range ids {
				b.do("hset", b.key("q", id), "delay", "0", "priority", "0")
			}
			held := idsOf(b.mustSettle(settleAt(2 * k)).Jobs)
			for round := range 2 {
				req := settleAt(k)
				req.MetricPoints = test.points
				for _, id := range held[:k] {
					st := completed(id)
					st.Keep = test.keep
					req.Settle = append(req.Settle, st)
				}
				require.NoError(t, b.c.ConfigResetStat(ctx).Err())
				held = append(held[k:], idsOf(b.settleAll(req).Jobs)...)
				want := test.call + k*(test.settled+test.taken)
				if k == 1 {
					want -= test.less
				}
				if round > 0 { // the first one has more to make
					require.Equal(t, want, commandCalls(t, b.c), "%s, %d jobs", test.name, k)
				}
			}
		}
	}
}

// An empty take, which an idle worker makes now and then, is cheap too.
func TestEmptyTakeCostsFewCommands(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	b := &bench{Store: openOn(t, srv.URL()), t: t, c: srv.Client(t), ctx: context.Background()}
	b.mustSettle(settleAt(10))
	require.NoError(t, b.c.ConfigResetStat(b.ctx).Err())
	b.mustSettle(settleAt(10))
	require.Equal(t, 5, commandCalls(t, b.c))
}
