package redisq

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Adding a plain job costs a hash and two events, and what a call costs beside
// that is shared by up to 200 jobs, also when their times differ.
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
	}{
		{name: "plain", call: 4, job: 3},
		{name: "of different times", edit: func(i int, j *storage.NewJob) { j.Timestamp = j.Timestamp.Add(time.Duration(i) * time.Millisecond) }, call: 4, job: 3},
		{name: "delayed", edit: func(_ int, j *storage.NewJob) { j.Delay = time.Hour }, call: 6, job: 3},
		{name: "prioritized", edit: func(_ int, j *storage.NewJob) { j.Priority = 7 }, call: 5, job: 3},
		{name: "with ids", edit: func(i int, j *storage.NewJob) { j.ID = "own-" + strings.Repeat("x", i) }, call: 4, job: 4},
	} {
		for _, n := range []int{1, 10, 200, 1000} {
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
			require.Equal(t, test.call*calls+test.job*n, commandCalls(t, b.c), "%d jobs %s", n, test.name)
			require.Equal(t, calls, roundTrips(b))
		}
	}
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
