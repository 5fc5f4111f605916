package redisq

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// openKnown returns a store whose server knows the script that adds.
func openKnown(t *testing.T, url string) *Store {
	t.Helper()
	s := openOn(t, url)
	_, err := s.Add(t.Context(), "other", plainJobs(1))
	require.NoError(t, err)
	return s
}

// inOrder checks that jobs 1 to n of queue "q" wait in this order, and that the
// answers say so.
func inOrder(t *testing.T, c *redis.Client, added []storage.Added, n int) {
	t.Helper()
	require.Len(t, added, n)
	list, err := c.LRange(t.Context(), "bull:q:wait", 0, -1).Result()
	require.NoError(t, err)
	require.Len(t, list, n)
	for i := range n {
		require.Equal(t, storage.Added{ID: itoa(i + 1)}, added[i])
		require.Equal(t, itoa(i+1), list[n-1-i])
	}
}

// Steps are sent together once the server knows the script, as many as are
// allowed, and not where their order is not certain.
func TestStepsThatAreSentTogether(t *testing.T) {
	t.Parallel()
	jobs := func(n, bytes int) []intake {
		list := make([]intake, n)
		for i := range list {
			list[i].NewJob = &storage.NewJob{Data: []byte(strings.Repeat("x", bytes))}
		}
		return list
	}
	s := &Store{}
	require.Equal(t, []int{addJobs}, s.steps(jobs(1000, 1)), "the script may not be known")
	s.addKnown.Store(true)
	require.Equal(t, []int{1}, s.steps(jobs(1, 1)))
	require.Equal(t, []int{addJobs, addJobs + 1}, s.steps(jobs(addJobs+1, 1)))
	require.Len(t, s.steps(jobs(20*addJobs, 1)), aheadSteps)
	require.Equal(t, []int{1, 2, 3, 4}, s.steps(jobs(9, addBytes)), "no more bytes than allowed")
	require.Equal(t, []int{1}, s.steps(jobs(9, 2*aheadBytes)))
	s.cluster = true
	require.Equal(t, []int{addJobs}, s.steps(jobs(1000, 1)))
}

func TestStepsSentTogetherKeepTheirOrder(t *testing.T) {
	t.Parallel()
	srv := testredis.Any(t)
	s := openKnown(t, srv.URL())
	n := 2*aheadSteps*addJobs + 3
	added, err := s.Add(t.Context(), "q", plainJobs(n))
	require.NoError(t, err)
	inOrder(t, srv.Client(t), added, n)
}

// A server that has forgotten the script gets it with the first step, and the
// other steps after that.
func TestStepsSentTogetherToAServerThatForgot(t *testing.T) {
	t.Parallel()
	srv := testredis.Any(t)
	s := openKnown(t, srv.URL())
	c := srv.Client(t)
	require.NoError(t, c.ScriptFlush(t.Context()).Err())
	n := 5*addJobs + 1
	added, err := s.Add(t.Context(), "q", plainJobs(n))
	require.NoError(t, err)
	inOrder(t, c, added, n)
	require.True(t, s.addKnown.Load())
}

// A connection that is gone before anything was sent costs nothing.
func TestStepsSentTogetherAfterTheConnectionBroke(t *testing.T) {
	t.Parallel()
	srv := testredis.Shared(t)
	link := testredis.Proxy(t, srv.Addr())
	s := openKnown(t, link.URL()+"/"+itoa(srv.DB()))
	link.Refuse(true)
	link.Cut()
	_, err := s.Add(t.Context(), "q", plainJobs(3*addJobs))
	require.Error(t, err)
	link.Refuse(false)
	c := srv.Client(t)
	stored := c.LLen(t.Context(), "bull:q:wait").Val()
	require.Zero(t, stored)
	added, err := s.Add(t.Context(), "q", plainJobs(3*addJobs))
	require.NoError(t, err)
	inOrder(t, c, added, 3*addJobs)
}

// A store that was closed, or a context that is over, sends none of several steps.
func TestStepsThatMayNotBeSent(t *testing.T) {
	t.Parallel()
	srv := testredis.Any(t)
	s := openKnown(t, srv.URL())
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	_, err := s.Add(ctx, "q", plainJobs(3*addJobs))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, s.Close())
	_, err = s.Add(t.Context(), "q", plainJobs(3*addJobs))
	require.ErrorIs(t, err, storage.ErrClosed)
	require.NotErrorIs(t, err, storage.ErrUncertain)
	require.Zero(t, srv.Client(t).Exists(t.Context(), "bull:q:wait").Val())
}

// When one step fails, the answers tell of each job whether it is stored.
func TestOneStepOfSeveralFails(t *testing.T) {
	t.Parallel()
	srv := testredis.Any(t)
	s := openKnown(t, srv.URL())
	c := srv.Client(t)
	require.NoError(t, c.LPush(t.Context(), "bull:q:de:x", "no text").Err())
	jobs := plainJobs((aheadSteps + 1) * addJobs)
	jobs[addJobs].Dedup = &storage.Dedup{ID: "x"} // the first of the second step: the server cannot read its key
	added, err := s.Add(t.Context(), "q", jobs)
	require.ErrorContains(t, err, "WRONGTYPE")
	require.NotErrorIs(t, err, storage.ErrUncertain)
	require.Len(t, added, len(jobs))
	stored := 0
	for i, a := range added {
		switch {
		case i >= addJobs && i < 2*addJobs:
			require.ErrorContains(t, a.Err, "WRONGTYPE")
		case i >= aheadSteps*addJobs:
			require.ErrorContains(t, a.Err, "not added, since jobs before it")
		default:
			require.NoError(t, a.Err)
			require.Equal(t, int64(1), c.Exists(t.Context(), "bull:q:"+a.ID).Val())
			stored++
		}
	}
	require.Equal(t, (aheadSteps-1)*addJobs, stored)
	require.Equal(t, int64(stored), c.LLen(t.Context(), "bull:q:wait").Val())
}
