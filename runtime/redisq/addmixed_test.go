package redisq

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Jobs of all kinds, in one call and one by one, leave the same state and get
// the same answers: also jobs that meet earlier ones of the same call.
func TestAddBatchEqualsOneByOne(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"6", "5"} {
		t.Run("mode "+mode, func(t *testing.T) {
			t.Parallel()
			one, all := testredis.Any(t), testredis.Any(t)
			for seed := range uint64(150) {
				sameState(t, seed, mode, one, all)
			}
		})
	}
	t.Run("in-process", func(t *testing.T) {
		t.Parallel()
		one, all := testredis.Mini(t), testredis.Mini(t)
		for seed := range uint64(40) {
			sameState(t, seed, "6", one, all)
		}
	})
}

func sameState(t *testing.T, seed uint64, mode string, one, all *testredis.Server) {
	t.Helper()
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(seed, 7))
	before, jobs := randomQueue(rnd), randomJobs(rnd, 1+rnd.IntN(40))
	run := func(srv *testredis.Server, size int) (vectors.Keyspace, []storage.Added) {
		c := redis.NewClient(srv.Options())
		defer func() { _ = c.Close() }()
		require.NoError(t, c.FlushDB(ctx).Err())
		require.NoError(t, vectors.Apply(ctx, c, before))
		s, err := New(c)
		require.NoError(t, err)
		s.mode = mode
		var added []storage.Added
		for from := 0; from < len(jobs); from += size {
			part, err := s.add(ctx, "q", jobs[from:min(from+size, len(jobs))])
			require.NoError(t, err, "seed %d", seed)
			added = append(added, part...)
		}
		state, err := vectors.Snapshot(ctx, c)
		require.NoError(t, err)
		return state, added
	}
	want, single := run(one, 1)
	got, batch := run(all, len(jobs))
	require.Equal(t, addedTexts(single), addedTexts(batch), "seed %d", seed)
	require.Empty(t, vectors.Diff(want, got), "seed %d", seed)
}

func addedTexts(added []storage.Added) []string {
	out := make([]string, len(added))
	for i, a := range added {
		out[i] = fmt.Sprintf("%q %v %v", a.ID, a.Existing, a.Err)
	}
	return out
}

// randomQueue is a queue q with jobs that added ones may meet, and a queue p with parents.
func randomQueue(rnd *rand.Rand) vectors.Keyspace {
	state := vectors.Keyspace{
		"bull:q:done": hashEntry("name", "n", "returnvalue", `{"v":1}`), "bull:q:late": hashEntry("name", "n", "delay", "50"),
		"bull:q:busy": hashEntry("name", "n"), "bull:p:p0": hashEntry("name", "p", "priority", "0", "delay", "0"),
		"bull:p:p1": hashEntry("name", "p", "priority", "3", "delay", "0"), "bull:q:p2": hashEntry("name", "p", "priority", "0", "delay", "700"),
		"bull:p:waiting-children": {Type: "zset", Sorted: []vectors.Member{{Name: "p0", Score: 1}, {Name: "p1", Score: 1}}},
		"bull:q:p3":               hashEntry("name", "p", "priority", "0", "delay", "0"), "bull:q:p4": hashEntry("name", "p", "priority", "2", "delay", "0"),
		"bull:q:waiting-children": {Type: "zset", Sorted: []vectors.Member{{Name: "p2", Score: 1}, {Name: "p3", Score: 1}, {Name: "p4", Score: 1}}},
		"bull:q:completed":        {Type: "zset", Sorted: []vectors.Member{{Name: "done", Score: 5}}},
		"bull:q:delayed":          {Type: "zset", Sorted: []vectors.Member{{Name: "late", Score: 1050 * 4096}}},
		"bull:q:active":           {Type: "list", List: []string{"busy"}},
		"bull:q:de:d0":            {Type: "string", Text: "late"}, "bull:q:de:d1": {Type: "string", Text: "busy"},
		"bull:q:de:d2": {Type: "string", Text: "gone"},
	}
	meta := map[string]string{}
	if rnd.IntN(2) == 0 {
		meta["opts.maxLenEvents"] = "10000"
	}
	if rnd.IntN(4) == 0 {
		meta["paused"] = "1"
	}
	if rnd.IntN(3) == 0 {
		meta["concurrency"] = "1"
	}
	if len(meta) > 0 {
		state["bull:q:meta"] = vectors.Entry{Type: "hash", Hash: meta}
	}
	return state
}

func hashEntry(pairs ...string) vectors.Entry {
	e := vectors.Entry{Type: "hash", Hash: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		e.Hash[pairs[i]] = pairs[i+1]
	}
	return e
}

// randomJobs makes jobs whose ids, parents and deduplication ids meet often.
func randomJobs(rnd *rand.Rand, n int) []intake {
	jobs := make([]intake, n)
	for i := range jobs {
		if i > 0 && rnd.IntN(2) == 0 {
			jobs[i] = another(rnd, jobs[i-1], i)
			continue
		}
		job := &storage.NewJob{Name: fmt.Sprint("n", i), Data: fmt.Appendf(nil, `{"i":%d}`, i), Opts: []byte(`{}`), Timestamp: time.UnixMilli(1000)}
		jobs[i].NewJob = job
		if rnd.IntN(3) == 0 {
			continue // plain
		}
		if rnd.IntN(3) == 0 {
			job.ID = oneOf(rnd, "a", "b", "c", "done", "done", "late", "busy")
		}
		if rnd.IntN(3) == 0 {
			job.Delay = time.Duration(oneOf(rnd, 5, 5, 50, 60)) * time.Millisecond
		}
		if rnd.IntN(3) == 0 {
			job.Priority = oneOf(rnd, 1, 2, 2097151)
		}
		if rnd.IntN(5) == 0 {
			job.Timestamp = time.UnixMilli(1001)
		}
		job.LIFO = rnd.IntN(4) == 0
		jobs[i].waits = rnd.IntN(8) == 0
		if rnd.IntN(8) == 0 {
			jobs[i].scheduler = "sch"
		}
		switch rnd.IntN(4) {
		case 0:
			job.Parent = &storage.Parent{
				ID: oneOf(rnd, "p0", "p1", "p2", "p3", "p4", "a", "none"), Queue: oneOf(rnd, "bull:p", "bull:q"),
				OnFail: oneOf(rnd, storage.OnFailWait, storage.OnFailFail, storage.OnFailIgnore),
			}
			jobs[i].flow = rnd.IntN(4) == 0
		case 1:
			job.Dedup = &storage.Dedup{
				ID: oneOf(rnd, "d0", "d1", "d2", "d3"), TTL: time.Duration(oneOf(rnd, 0, 0, 90)) * time.Second, Extend: rnd.IntN(2) == 0,
				Replace: rnd.IntN(3) == 0, KeepLastIfActive: rnd.IntN(3) == 0, Reschedule: rnd.IntN(3) == 0,
			}
		}
	}
	return jobs
}

// another makes a job that differs from one in nothing but data and id.
func another(rnd *rand.Rand, like intake, i int) intake {
	job := *like.NewJob
	job.Data = fmt.Appendf(nil, `{"i":%d}`, i)
	if job.ID != "" {
		job.ID = oneOf(rnd, "a", "b", "c", "e", "f", "done", "late", "busy")
	}
	like.NewJob = &job
	return like
}

func oneOf[T any](rnd *rand.Rand, from ...T) T { return from[rnd.IntN(len(from))] }
