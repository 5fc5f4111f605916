package redisq

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// What waits stands in two lists where a 5.x peer paused the queue; readers
// see one.
func TestReadersSeeBothLists(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.waiting("q", "wait", "3", "4", "5")
		b.waiting("q", "paused", "1", "2")
		n, err := b.Counts(b.ctx, "q", storage.StateWaiting, storage.StatePaused, storage.StateActive)
		require.NoError(b.t, err)
		require.Equal(b.t, []int{5, 2, 0}, n)
		n, err = b.CountsByPriority(b.ctx, "q", 0, 1)
		require.NoError(b.t, err)
		require.Equal(b.t, []int{5, 0}, n)
		state, err := b.State(b.ctx, "q", "1")
		require.NoError(b.t, err)
		require.Equal(b.t, storage.StateWaiting, state)

		page := func(start, end int, asc bool) []string {
			ids, err := b.List(b.ctx, "q", storage.StateWaiting, start, end, asc)
			require.NoError(b.t, err)
			jobs, err := b.ListJobs(b.ctx, "q", []storage.State{storage.StateWaiting}, start, end, asc)
			require.NoError(b.t, err)
			require.Equal(b.t, ids, listedIDs(jobs))
			return ids
		}
		require.Equal(b.t, []string{"1", "2", "3", "4", "5"}, page(0, -1, true))
		require.Equal(b.t, []string{"5", "4", "3", "2", "1"}, page(0, -1, false))
		require.Equal(b.t, []string{"2", "3", "4"}, page(1, 3, true))
		require.Equal(b.t, []string{"4", "3", "2"}, page(1, 3, false))
		require.Equal(b.t, []string{"5"}, page(4, 9, true))
		require.Empty(b.t, page(5, 9, true))
		require.Empty(b.t, page(3, 1, true))
		require.Equal(b.t, []string{"4", "5"}, page(-2, -1, true))
		require.Equal(b.t, []string{"3", "4", "5"}, page(2, math.MaxInt, true))
		require.Empty(b.t, page(math.MaxInt, math.MaxInt, false))
		require.Equal(b.t, []string{"1", "2", "3", "4", "5"}, page(math.MinInt, -1, true))
		b.in("q", "failed", "f", 1)
		ids, err := b.List(b.ctx, "q", storage.StateFailed, 0, math.MaxInt, true)
		require.NoError(b.t, err)
		require.Equal(b.t, []string{"f"}, ids)
		ids, err = b.List(b.ctx, "q", storage.StatePaused, 0, 0, true)
		require.NoError(b.t, err)
		require.Equal(b.t, []string{"1"}, ids)
	})
}

func listedIDs(jobs []storage.Record) []string {
	ids := []string{}
	for i := range jobs {
		ids = append(ids, jobs[i].ID)
	}
	return ids
}

func idsOf(jobs []*storage.Record) []string {
	ids := []string{}
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

func TestListJobsFillsPages(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		for i := range 40 {
			b.do("zadd", b.key("q", "failed"), i, "ghost"+strconv.Itoa(i))
		}
		b.do("hset", b.key("q", "ghost3"), "progress", "1") // not a job either
		for i := range 5 {
			b.in("q", "failed", strconv.Itoa(i), int64(100+i))
		}
		b.waiting("q", "wait", "7", "3")
		page := func(states []storage.State, start, end int, asc bool) []string {
			jobs, err := b.ListJobs(b.ctx, "q", states, start, end, asc)
			require.NoError(b.t, err)
			return listedIDs(jobs)
		}
		failed := []storage.State{storage.StateFailed}
		require.Equal(b.t, []string{"0", "1"}, page(failed, 10, 11, true), "however many there are without a job")
		require.Equal(b.t, []string{"4", "3", "2"}, page(failed, 0, 2, false))
		require.Equal(b.t, []string{"0", "1", "2", "3", "4"}, page(failed, 0, -1, true))
		both := []storage.State{storage.StateFailed, storage.StateWaiting}
		require.Equal(b.t, []string{"4", "3", "7"}, page(both, 0, 1, false), "each job once")

		jobs, err := b.Jobs(b.ctx, "q", "ghost3", "nope", "7")
		require.NoError(b.t, err)
		require.Nil(b.t, jobs[0])
		require.Nil(b.t, jobs[1])
		require.Equal(b.t, "7", jobs[2].ID)
		jobs, err = b.Jobs(b.ctx, "q")
		require.NoError(b.t, err)
		require.Empty(b.t, jobs)
	})
}

func TestListOfManyJobs(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		all := b.many("q", "wait", b.medium)
		jobs, err := b.ListJobs(b.ctx, "q", []storage.State{storage.StateWaiting}, 0, -1, true)
		require.NoError(b.t, err)
		require.Equal(b.t, all, listedIDs(jobs))
	})
}

func TestDependencyPagesEnd(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		want := map[storage.DependencyKind]map[string]string{}
		for _, kind := range []storage.DependencyKind{
			storage.DependencyPending, storage.DependencyProcessed, storage.DependencyIgnored, storage.DependencyFailed,
		} {
			want[kind] = map[string]string{}
		}
		for i := range 600 {
			key := fmt.Sprintf("bull:c:%d", i)
			value := strconv.Itoa(i)
			want[storage.DependencyPending][key] = ""
			want[storage.DependencyProcessed][key] = value
			want[storage.DependencyIgnored][key] = "r" + value
			want[storage.DependencyFailed][key] = ""
			b.do("sadd", b.key("q", "p:dependencies"), key)
			b.do("hset", b.key("q", "p:processed"), key, value)
			b.do("hset", b.key("q", "p:failed"), key, "r"+value)
			b.do("zadd", b.key("q", "p:unsuccessful"), i, key)
		}
		counts, err := b.DependencyCounts(b.ctx, "q", "p")
		require.NoError(b.t, err)
		require.Equal(b.t, storage.DependencyCounts{Pending: 600, Processed: 600, Ignored: 600, Failed: 600}, counts)
		for kind, children := range want {
			for _, count := range []int{1, 100, 600, 1000} {
				got := map[string]string{}
				for cursor := uint64(0); ; {
					page, next, err := b.Dependencies(b.ctx, "q", "p", kind, cursor, count)
					require.NoError(b.t, err)
					for _, d := range page {
						got[d.Key] = string(d.Value) + d.Reason
					}
					if cursor = next; next == 0 {
						break
					}
				}
				require.Equal(b.t, children, got, kind)
			}
		}
		page, next, err := b.Dependencies(b.ctx, "q", "p", storage.DependencyFailed, 598, 2)
		require.NoError(b.t, err)
		require.Equal(b.t, []storage.Dependency{{Key: "bull:c:598"}, {Key: "bull:c:599"}}, page, "a later page has its own children")
		page, next, err = b.Dependencies(b.ctx, "q", "p", storage.DependencyFailed, next, 2)
		require.NoError(b.t, err)
		require.Empty(b.t, page)
		require.Zero(b.t, next)
	})
}

func TestDelayedBefore(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		due := time.UnixMilli(1700000000000)
		b.in("q", "delayed", "a", due.UnixMilli()<<12)
		b.in("q", "delayed", "b", due.UnixMilli()<<12+4095)
		b.in("q", "delayed", "c", due.Add(time.Millisecond).UnixMilli()<<12)
		for want, at := range map[int]time.Time{0: due, 2: due.Add(time.Microsecond), 3: due.Add(time.Hour)} {
			n, err := b.DelayedBefore(b.ctx, "q", at)
			require.NoError(b.t, err)
			require.Equal(b.t, want, n)
		}
		n, err := b.DelayedBefore(b.ctx, "q", due.Add(time.Millisecond))
		require.NoError(b.t, err)
		require.Equal(b.t, 2, n)
	})
}

func TestMeta(t *testing.T) {
	t.Parallel()
	onServers(t, []Option{Prefix("{app}:q")}, func(b *bench) {
		m, err := b.Meta(b.ctx, "q")
		require.NoError(b.t, err)
		require.Equal(b.t, storage.Meta{}, m)
		b.do("hset", "{app}:q:q:meta", "version", "bullmq:6.7.0", "opts.maxLenEvents", "0", "max", "5", "theirs", "x")
		require.NoError(b.t, b.Pause(b.ctx, "q"))
		m, err = b.Meta(b.ctx, "q")
		require.NoError(b.t, err)
		require.Equal(b.t, storage.Meta{
			Version: "bullmq:6.7.0", Paused: true, Extra: map[string]string{"theirs": "x", "max": "5"},
		}, m)
		require.NoError(b.t, b.SetGlobalRateLimit(b.ctx, "q", &storage.RateLimit{Max: 7, Per: 1500 * time.Millisecond}))
		require.NoError(b.t, b.SetGlobalConcurrency(b.ctx, "q", 3))
		m, err = b.Meta(b.ctx, "q")
		require.NoError(b.t, err)
		require.Equal(b.t, &storage.RateLimit{Max: 7, Per: 1500 * time.Millisecond}, m.Limit)
		require.Equal(b.t, 3, m.Concurrency)
		require.Equal(b.t, map[string]string{"theirs": "x"}, m.Extra)
	})
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	s, err := New(c, Prefix("{pfx}:a"))
	require.NoError(t, err)
	const queue = "my queue/ü"
	for _, name := range []string{
		clientName(s.prefix, queue, ""), clientName(s.prefix, queue, "w1"), clientName(s.prefix, queue, "w=2"),
		clientName(s.prefix, queue, "") + ":qe", clientName(s.prefix, "other", "w3"), clientName(s.prefix, queue, "") + "x",
	} {
		o := srv.Options()
		o.ClientName = name
		conn := redis.NewClient(o)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.Ping(context.Background()).Err())
	}
	workers, err := s.Workers(context.Background(), queue)
	require.NoError(t, err)
	names := []string{}
	for _, w := range workers {
		names = append(names, w.Name)
		require.NotEmpty(t, w.Addr)
		require.Equal(t, w.Client, w.Fields["name"])
		require.Contains(t, w.Client, "{pfx}:a:bXkgcXVldWUvw7w=")
		require.Equal(t, "ping", w.Fields["cmd"])
		require.Less(t, w.Age, time.Hour)
	}
	require.ElementsMatch(t, []string{"", "w1", "w=2"}, names)
	workers, err = s.Workers(context.Background(), "none")
	require.NoError(t, err)
	require.Empty(t, workers)
}

func TestWorkersOfAServerThatListsNone(t *testing.T) {
	t.Parallel()
	s, err := New(testredis.Mini(t).Client(t))
	require.NoError(t, err)
	workers, err := s.Workers(context.Background(), "q")
	require.NoError(t, err)
	require.Empty(t, workers)
}

func TestLogs(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		_, err := b.AddLog(b.ctx, "q", "1", "x", 0)
		require.ErrorIs(b.t, err, storage.ErrJobNotFound)
		require.ErrorIs(b.t, b.ClearLogs(b.ctx, "q", "1", 0), storage.ErrJobNotFound)
		b.job("q", "1")
		for i := range 5 {
			n, err := b.AddLog(b.ctx, "q", "1", strconv.Itoa(i), 4)
			require.NoError(b.t, err)
			require.Equal(b.t, min(i+1, 4), n)
		}
		read := func(start, end int, asc bool) []string {
			lines, n, err := b.Logs(b.ctx, "q", "1", start, end, asc)
			require.NoError(b.t, err)
			require.Equal(b.t, 4, n)
			return lines
		}
		require.Equal(b.t, []string{"1", "2", "3", "4"}, read(0, -1, true))
		require.Equal(b.t, []string{"4", "3", "2", "1"}, read(0, -1, false))
		require.Equal(b.t, []string{"2", "3"}, read(1, 2, true))
		require.Equal(b.t, []string{"3", "2"}, read(1, 2, false))
		require.NoError(b.t, b.ClearLogs(b.ctx, "q", "1", 2))
		lines, n, err := b.Logs(b.ctx, "q", "1", 0, -1, true)
		require.NoError(b.t, err)
		require.Equal(b.t, []string{"3", "4"}, lines)
		require.Equal(b.t, 2, n)
		require.NoError(b.t, b.ClearLogs(b.ctx, "q", "1", 0))
		lines, n, err = b.Logs(b.ctx, "q", "1", 0, -1, true)
		require.NoError(b.t, err)
		require.Empty(b.t, lines)
		require.Zero(b.t, n)
	})
}

func TestFinish(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.in("q", "completed", "ok", 1, "returnvalue", `{"a":1}`)
		b.in("q", "failed", "bad", 1, "failedReason", `boom "x"`)
		b.waiting("q", "wait", "w")
		for id, want := range map[string]storage.Finish{
			"ok":   {State: storage.StateCompleted, Value: []byte(`{"a":1}`)},
			"bad":  {State: storage.StateFailed, Reason: `boom "x"`},
			"w":    {},
			"nope": {State: storage.StateUnknown},
		} {
			f, err := b.Finish(b.ctx, "q", id)
			require.NoError(b.t, err)
			require.Equal(b.t, want, f)
		}
	})
}
