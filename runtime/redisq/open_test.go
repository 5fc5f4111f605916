package redisq

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func TestBadURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "localhost:6379", "http://localhost:6379", "redis://:secret@localhost:port/0",
		"redis://localhost/secret", "redis://localhost?no_such_option=1", "unix://", "redis://:secret%zz@localhost", "://secret",
	} {
		_, err := Open(url)
		require.Error(t, err, url)
		require.ErrorContains(t, err, "the URL of Redis is not right")
		require.ErrorContains(t, err, "use redis://[user:password@]host:6379[/db]")
		require.NotContains(t, err.Error(), ":secret", url)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"redis://h", "redis://u:p@h:1/3", "rediss://h:1", "redis://h?protocol=2&pool_size=7", "unix:///tmp/s?db=2"} {
		s, err := Open(url)
		require.NoError(t, err, url)
		o := s.client.(*redis.Client).Options()
		require.Equal(t, 0, o.MaxRetries, "go-redis never sends again by itself")
		require.True(t, o.ContextTimeoutEnabled)
		require.NoError(t, s.Close())
	}
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "") // a test's own folder has too long a name for a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	testredis.Start(t, testredis.Args("--unixsocket", socket))
	s, err := Open("unix://" + socket + "?db=3")
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	added, err := s.Add(t.Context(), "q", plainJobs(1))
	require.NoError(t, err)
	require.Equal(t, []storage.Added{{ID: "1"}}, added)
}

func TestClientsThatCannotHoldQueues(t *testing.T) {
	t.Parallel()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer func() { _ = ring.Close() }()
	_, err := New(ring)
	require.ErrorContains(t, err, "*redis.Ring cannot hold queues")
	for _, c := range []redis.UniversalClient{nil, (*redis.Client)(nil), (*redis.ClusterClient)(nil)} {
		_, err := New(c)
		require.Error(t, err)
	}
	_, err = Open("redis://localhost", Prefix(""))
	require.ErrorContains(t, err, "the prefix is empty")
}

func TestQueueNames(t *testing.T) {
	t.Parallel()
	s, err := Open("redis://127.0.0.1:1", Prefix("{a}:b"))
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	b, err := s.base("my queue/ü")
	require.NoError(t, err)
	require.Equal(t, "{a}:b:my queue/ü:", b)
	for name, want := range map[string]string{"": "name is empty", "a:b": "must not contain a colon"} {
		_, err := s.Add(t.Context(), name, plainJobs(1))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, s.Announce(t.Context(), name, "v", 0), want)
		require.ErrorContains(t, s.Publish(t.Context(), name, "e", 0), want)
		_, err = s.ReadEvents(t.Context(), name, "", time.Second)
		require.ErrorContains(t, err, want)
	}
}

func TestHashTag(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"bull:q:": "", "{a}:q:": "a", "b:{q}:": "q", "{}:{q}:": "", "{a:q:": "", "a}:{b}:": "b", "{{a}}:": "{a", "}{": "",
	} {
		require.Equal(t, want, hashTag(key), key)
	}
}

// A client that was given stays open, and one of its own does not.
func TestClose(t *testing.T) {
	t.Parallel()
	srv := testredis.Any(t)
	c := srv.Client(t)
	s, err := New(c)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.NoError(t, c.Ping(t.Context()).Err())

	own, err := Open(srv.URL())
	require.NoError(t, err)
	require.NoError(t, own.Close())
	require.NoError(t, own.Close())
	require.ErrorContains(t, own.Ping(t.Context()), "closed")
}

// A call under way when the store is closed ends as if it was not; one that the
// server does not answer is cut off, and one that comes later is refused.
func TestCloseWaitsForCalls(t *testing.T) {
	t.Parallel()
	srv := testredis.Any(t)
	for _, answers := range []bool{true, false} {
		link := testredis.Proxy(t, srv.Addr())
		s := openOn(t, link.URL())
		require.NoError(t, s.Ping(t.Context()))
		link.Stall()
		called, closed := make(chan error, 1), make(chan error, 1)
		go func() { called <- s.Wake(t.Context(), "q") }()
		require.Eventually(t, func() bool {
			s.calls.mu.Lock()
			defer s.calls.mu.Unlock()
			return s.calls.calls == 1
		}, patience, time.Millisecond)
		go func() { closed <- s.Close() }()
		<-s.calls.ending
		require.ErrorIs(t, s.Ping(t.Context()), storage.ErrClosed)
		require.Empty(t, called)
		if answers {
			link.Flow()
			require.NoError(t, <-called)
			require.NoError(t, <-closed)
			continue
		}
		require.NoError(t, <-closed)
		require.ErrorIs(t, <-called, storage.ErrUncertain)
	}
}

// cluster is a cluster of one server that holds all slots.
func cluster(t *testing.T) *redis.ClusterClient {
	t.Helper()
	srv := testredis.Start(t, testredis.Args("--cluster-enabled", "yes"))
	require.NoError(t, srv.Client(t).ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{srv.Addr()}})
	t.Cleanup(func() { _ = c.Close() })
	require.Eventually(t, func() bool {
		c.ReloadState(t.Context())
		return c.Set(t.Context(), "ready", "1", 0).Err() == nil
	}, patience, 10*time.Millisecond)
	require.NoError(t, c.Del(t.Context(), "ready").Err())
	return c
}

func TestCluster(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	bare, err := New(c)
	require.NoError(t, err)
	for _, name := range []string{"q", "{}", "{q", "q}"} {
		_, err = bare.Add(t.Context(), name, plainJobs(1))
		require.ErrorIs(t, err, ErrNoHashTag)
		require.ErrorContains(t, err, `Prefix("{jobs}")`)
	}
	child := plainJobs(1)
	child[0].Parent = &storage.Parent{ID: "1", Queue: "bull:{other}"}
	_, err = bare.Add(t.Context(), "{mail}", child)
	require.ErrorIs(t, err, ErrNoHashTag)
	require.ErrorContains(t, err, "has another hash tag")
	require.Empty(t, c.Keys(t.Context(), "*").Val(), "nothing is written")

	tagged, err := New(c, Prefix("{jobs}"))
	require.NoError(t, err)
	for s, queue := range map[*Store]string{bare: "{mail}", tagged: "q"} {
		require.NoError(t, s.Announce(t.Context(), queue, "v", 100))
		added, err := s.Add(t.Context(), queue, plainJobs(2))
		require.NoError(t, err)
		require.Equal(t, []storage.Added{{ID: "1"}, {ID: "2"}}, added)
		require.NoError(t, c.ForEachMaster(t.Context(), func(ctx context.Context, m *redis.Client) error { return m.ScriptFlush(ctx).Err() }))
		child[0].Parent.Queue = s.prefix + ":" + queue
		added, err = s.Add(t.Context(), queue, child)
		require.NoError(t, err)
		require.Equal(t, []storage.Added{{ID: "3"}}, added)
		events, err := s.ReadEvents(t.Context(), queue, "", time.Second)
		require.NoError(t, err)
		require.Len(t, events, 6)
		require.NoError(t, s.Close())
	}
}
