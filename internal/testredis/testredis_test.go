package testredis_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

func TestStart(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	c := s.Client(t)
	require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
	require.Positive(t, s.PID())

	opts, err := redis.ParseURL(s.URL())
	require.NoError(t, err)
	require.Equal(t, s.Addr(), opts.Addr)

	s.FlushAll()
	require.ErrorIs(t, c.Get(t.Context(), "k").Err(), redis.Nil)
}

func TestStopAndRestart(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t, testredis.AppendOnly(), testredis.Password("secret"))
	c := s.Client(t)
	require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
	addr, pid := s.Addr(), s.PID()

	s.Restart()
	require.Equal(t, addr, s.Addr())
	require.NotEqual(t, pid, s.PID())
	require.Equal(t, "v", s.Client(t).Get(t.Context(), "k").Val(), "append-only data is there again")

	s.Stop()
	require.Error(t, s.Client(t).Ping(t.Context()).Err())
	s.Restart()
	require.Equal(t, "v", s.Client(t).Get(t.Context(), "k").Val())

	open := redis.NewClient(&redis.Options{Addr: addr})
	defer open.Close()
	require.ErrorContains(t, open.Ping(t.Context()).Err(), "NOAUTH")
}

func TestPause(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	c := client(t, s.Addr())
	require.NoError(t, c.Ping(t.Context()).Err())
	s.Pause()
	noAnswer(t, c)
	s.Continue()
	require.NoError(t, s.Client(t).Ping(t.Context()).Err())
}

func TestSharedDatabasesAreApart(t *testing.T) {
	t.Parallel()
	servers := []*testredis.Server{testredis.Shared(t), testredis.Shared(t), testredis.Mini(t), testredis.Any(t)}
	for _, s := range servers {
		n, err := s.Client(t).Incr(t.Context(), "k").Result()
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
	}
}

func TestMiniExpires(t *testing.T) {
	t.Parallel()
	c := testredis.Mini(t).Client(t)
	require.NoError(t, c.Set(t.Context(), "k", "v", 50*time.Millisecond).Err())
	require.Eventually(t, func() bool {
		return c.Exists(context.Background(), "k").Val() == 0
	}, testneed.Patience, 10*time.Millisecond)
}

func client(t *testing.T, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ReadTimeout: testneed.Patience, ContextTimeoutEnabled: true, PoolSize: 1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// noAnswer requires that the server does not answer, for a moment.
func noAnswer(t *testing.T, c *redis.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var timeout interface{ Timeout() bool }
	err := c.Ping(ctx).Err()
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout(), err)
}

func TestProxyDropsOneReply(t *testing.T) {
	t.Parallel()
	s := testredis.Shared(t)
	l := testredis.Proxy(t, s.Addr())
	c := client(t, l.Addr())
	require.NoError(t, c.Set(t.Context(), "k", 1, 0).Err())

	l.DropReply("incrby")
	require.NoError(t, c.Get(t.Context(), "k").Err(), "another request is let through")
	require.Error(t, c.IncrBy(t.Context(), "k", 1).Err())
	require.Equal(t, 1, l.Dropped())
	require.Equal(t, "2", c.Get(t.Context(), "k").Val(), "the server did it")
}

func TestProxyCutsStallsAndRefuses(t *testing.T) {
	t.Parallel()
	s := testredis.Shared(t)
	l := testredis.Proxy(t, s.Addr())
	c := client(t, l.Addr())
	require.NoError(t, c.Ping(t.Context()).Err())

	l.Stall()
	noAnswer(t, c)
	l.Flow()
	require.NoError(t, c.Ping(t.Context()).Err())

	var once sync.WaitGroup
	blocked := make(chan error, 1)
	once.Go(func() { blocked <- c.BLPop(context.Background(), testneed.Patience, "none").Err() })
	require.Eventually(t, func() bool { open, _ := l.Connections(); return open > 0 }, testneed.Patience, time.Millisecond)
	l.Refuse(true)
	l.Cut()
	require.Error(t, <-blocked)
	once.Wait()
	require.Error(t, c.Ping(t.Context()).Err())
	l.Refuse(false)
	require.NoError(t, c.Ping(t.Context()).Err())
	_, total := l.Connections()
	require.GreaterOrEqual(t, total, 3)
}
