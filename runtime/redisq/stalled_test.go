package redisq

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func (b *bench) recoverStalled(most int) []string {
	b.t.Helper()
	ids, err := b.RecoverStalled(b.ctx, "q", storage.StalledRequest{Now: time.UnixMilli(settleTime), Interval: time.Minute, MaxStalled: most})
	require.NoError(b.t, err)
	return ids
}

func TestJobsWithoutALockAreRecoveredAtTheSecondLook(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.take("1", "2", "3")
		b.do("hset", "bull:q:3", "rjk", "s") // of a schedule that is gone
		b.do("del", "bull:q:1:lock", "bull:q:3:lock")
		require.Empty(t, b.recoverStalled(1), "they are only marked")
		b.do("del", "bull:q:marker", "bull:q:stalled-check")
		require.Equal(t, []string{"1", "3"}, b.recoverStalled(1))
		require.Equal(t, []string{"3", "1"}, b.list("q", "wait"))
		require.Equal(t, []string{"2"}, b.list("q", "active"))
		require.Equal(t, []string{"0"}, b.set("q", "marker"))
		require.Equal(t, "1", b.fields("1")["stc"])
		require.Empty(t, b.recoverStalled(1), "the next look is a minute later")

		jobs := b.mustSettle(settleAt(2)).Jobs
		require.Equal(t, []string{"3", "1"}, idsOf(jobs))
		require.Empty(t, jobs[0].Deferred)
		b.do("hset", "bull:q:repeat:s", "every", "1000") // now it is there
		b.do("del", "bull:q:1:lock", "bull:q:3:lock", "bull:q:stalled-check")
		require.Empty(t, b.recoverStalled(1))
		b.do("del", "bull:q:stalled-check")
		require.Equal(t, []string{"1", "3"}, b.recoverStalled(1))
		jobs = b.mustSettle(settleAt(2)).Jobs
		require.Empty(t, jobs[0].Deferred, "a job of a schedule may stall without limit")
		require.Equal(t, "job stalled more than allowable limit", jobs[1].Deferred)
		require.Equal(t, 2, jobs[1].StalledCount)
	})
}

func TestManyStalledJobs(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		ids := b.many("q", "wait", 2500)
		req := settleAt(len(ids))
		req.Token = "0"
		b.mustSettle(req)
		require.Empty(t, b.recoverStalled(0))
		b.do("del", "bull:q:stalled-check")
		require.ElementsMatch(t, ids, b.recoverStalled(0))
		require.Empty(t, b.list("q", "active"))
		require.False(t, b.exists("q", "stalled"))
		require.Len(t, b.list("q", "wait"), len(ids))
	})
}

func TestStalledCheckRefusesAnIntervalOfNothing(t *testing.T) {
	t.Parallel()
	s := openOn(t, "redis://127.0.0.1:1") // nothing is sent
	_, err := s.RecoverStalled(t.Context(), "q", storage.StalledRequest{Interval: time.Microsecond})
	require.ErrorContains(t, err, fmt.Sprint(time.Microsecond))
}
