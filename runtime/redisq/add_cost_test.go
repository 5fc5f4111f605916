package redisq

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Adding a plain job costs a hash and two events, and what a call costs beside
// that is shared by up to 125 jobs, also when their times differ. Small hashes
// that are alike are copied, which is one command more and less work.
func TestCostCommandsOfAddedJobs(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	b := &bench{Store: openOn(t, srv.URL()), t: t, c: srv.Client(t), ctx: t.Context()}
	_, err := b.Add(b.ctx, "q", plainJobs(1)) // makes what there is once a queue
	require.NoError(t, err)
	for _, test := range []struct {
		name string
		edit func(i int, j *storage.NewJob)
		call int // commands of a call beside its jobs
		job  int // of a job
		less int // of a job alone
	}{
		{name: "plain", edit: func(_ int, j *storage.NewJob) { j.Name, j.Data = "n", largeData }, call: 4, job: 3},
		{name: "small", edit: func(_ int, j *storage.NewJob) { j.Name = "n" }, call: 4, job: 4, less: 1},
		{name: "of different times", edit: func(i int, j *storage.NewJob) { j.Timestamp = j.Timestamp.Add(time.Duration(i) * time.Millisecond) }, call: 4, job: 3},
		{name: "delayed", edit: func(_ int, j *storage.NewJob) { j.Delay = time.Hour }, call: 6, job: 3},
		{name: "prioritized", edit: func(_ int, j *storage.NewJob) { j.Priority = 7 }, call: 5, job: 3},
		{name: "with ids", edit: func(i int, j *storage.NewJob) { j.ID = "own-" + strings.Repeat("x", i) }, call: 4, job: 4},
	} {
		for _, n := range []int{1, 10, addJobs, 1000} {
			srv.FlushAll()
			_, err := b.Add(b.ctx, "q", plainJobs(1))
			require.NoError(t, err)
			jobs := plainJobs(n)
			for i := range jobs {
				if test.edit != nil {
					test.edit(i, &jobs[i])
				}
			}
			calls := (n + addJobs - 1) / addJobs
			require.NoError(t, b.c.ConfigResetStat(b.ctx).Err())
			_, err = b.Add(b.ctx, "q", jobs)
			require.NoError(t, err)
			want := test.call*calls + test.job*n
			if n == 1 {
				want -= test.less
			}
			require.Equal(t, want, commandCalls(t, b.c), "%d jobs %s", n, test.name)
			require.Equal(t, calls, roundTrips(b))
		}
	}
}

// What is sent and answered takes no allocation for each job that is like the
// one before it.
func TestCostAllocationsOfSentJobs(t *testing.T) { //nolint:paralleltest // counts what the whole process allocates
	jobs := plainJobs(addJobs)
	list := make([]intake, len(jobs))
	for i := range jobs {
		jobs[i].Name = "n"
		list[i].NewJob = &jobs[i]
	}
	added := make([]storage.Added, len(jobs))
	got := testing.AllocsPerRun(100, func() {
		if len(addArgs(list)) < len(jobs) || readAdded("q", list, added, int64(9900)) != nil {
			t.Error("not all jobs are sent, or the answer is refused")
		}
	})
	require.LessOrEqual(t, got, 8.0)
	require.Equal(t, "9901", added[0].ID)
	require.Equal(t, strconv.Itoa(9900+addJobs), added[addJobs-1].ID)
}

// largeData is a payload that Redis does not keep in one piece with the other
// fields of its job.
var largeData = []byte(`{"text":"` + strings.Repeat("x", 64) + `"}`)

// Jobs whose hashes can be copied get the same as those of single calls: also
// beside larger ones, where a hash of their number was left behind that expires,
// and where the server does not let us copy.
func TestAddCopiesOfSmallJobs(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	b := &bench{Store: openOn(t, srv.URL()), t: t, c: srv.Client(t), ctx: t.Context()}
	add := func(size int, left ...any) vectors.Keyspace {
		srv.FlushAll()
		for _, id := range []string{"1", "4"} { // the first of the call, and one in the middle
			require.NoError(t, b.c.HSet(b.ctx, b.key("q", id), left...).Err())
			require.NoError(t, b.c.Expire(b.ctx, b.key("q", id), time.Hour).Err())
		}
		jobs := plainJobs(12)
		for i := range jobs {
			jobs[i].Name, jobs[i].Data = "n", fmt.Appendf(nil, `{"i":%d}`, i)
			if i%5 == 2 {
				jobs[i].Data = largeData
			}
		}
		for from := 0; from < len(jobs); from += size {
			_, err := b.Add(b.ctx, "q", jobs[from:from+size])
			require.NoError(t, err)
		}
		return b.snapshot()
	}
	more := []any{"left", "behind", "stc", "3"}
	same := []any{"name", "", "data", "", "opts", "", "timestamp", "", "delay", "", "priority", ""}
	require.Empty(t, vectors.Diff(add(1, same...), add(12, same...)))
	want := add(1, more...)
	require.Empty(t, vectors.Diff(want, add(12, more...)))
	require.NoError(t, b.c.Do(b.ctx, "acl", "setuser", "default", "-copy").Err())
	require.Empty(t, vectors.Diff(want, add(12, more...)))
}

// roundTrips is how many scripts clients ran since the counters were reset.
func roundTrips(b *bench) int {
	info, err := b.c.Info(b.ctx, "commandstats").Result()
	require.NoError(b.t, err)
	for _, line := range splitLines(info) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_evalsha:calls="); ok {
			n, _, _ := strings.Cut(rest, ",")
			return parseInt(n)
		}
	}
	return 0
}
