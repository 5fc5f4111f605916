package redisq

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// patience is how long a test waits for what must come.
const patience = testneed.Patience

// long is longer than any test has patience: a wait for it must be ended.
const long = time.Hour

type waited struct {
	due time.Time
	err error
}

func goWait(ctx context.Context, w storage.Waiter, d time.Duration) <-chan waited {
	out := make(chan waited, 1)
	go func() {
		due, err := w.Wait(ctx, d)
		out <- waited{due, err}
	}()
	return out
}

func receive(t *testing.T, c <-chan waited) waited {
	t.Helper()
	select {
	case got := <-c:
		return got
	case <-time.After(patience):
		require.Fail(t, "Wait did not return")
		return waited{}
	}
}

// blocked waits until n connections of a store wait for a marker.
func blocked(t *testing.T, c *redis.Client, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		info, err := c.Info(context.Background(), "clients").Result()
		return err == nil && infoNumber(info, "blocked_clients") == n
	}, patience, time.Millisecond)
}

func infoNumber(info, field string) int {
	var n int
	for _, line := range splitLines(info) {
		if _, err := fmt.Sscanf(line, field+":%d", &n); err == nil {
			return n
		}
	}
	return -1
}

func openOn(t *testing.T, url string, opts ...Option) *Store {
	t.Helper()
	s, err := Open(url, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newWaiter(t *testing.T, s *Store, queue, name string) storage.Waiter {
	t.Helper()
	w := s.NewWaiter(queue, name)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

func eachServer(t *testing.T, test func(t *testing.T, srv *testredis.Server)) {
	t.Run("redis", func(t *testing.T) { t.Parallel(); test(t, testredis.Shared(t)) })
	t.Run("in-process", func(t *testing.T) { t.Parallel(); test(t, testredis.Mini(t)) })
}

func TestWaitEndsWithAMarker(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, srv *testredis.Server) {
		ctx, c := context.Background(), srv.Client(t)
		w := newWaiter(t, openOn(t, srv.URL()), "q", "")

		got := goWait(ctx, w, long)
		require.NoError(t, c.ZAdd(ctx, "bull:q:marker", redis.Z{Member: "0"}).Err())
		require.Equal(t, waited{}, receive(t, got))
		require.Zero(t, c.Exists(ctx, "bull:q:marker").Val(), "the marker is for one worker")

		due := time.UnixMilli(1700000000123)
		require.NoError(t, c.ZAdd(ctx, "bull:q:marker", redis.Z{Member: "1", Score: 1700000000123.75}).Err())
		require.Equal(t, waited{due: due}, receive(t, goWait(ctx, w, long)))
	})
}

func TestWaitEndsInTime(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, srv *testredis.Server) {
		w := newWaiter(t, openOn(t, srv.URL()), "q", "")
		for _, d := range []time.Duration{-1, 0, time.Nanosecond, time.Millisecond, 20 * time.Millisecond} {
			require.Equal(t, waited{}, receive(t, goWait(context.Background(), w, d)), d)
		}
	})
}

func TestWaitOutlastsTheReadTimeout(t *testing.T) {
	t.Parallel()
	srv := testredis.Shared(t)
	ctx, c := context.Background(), srv.Client(t)
	o := srv.Options()
	o.ReadTimeout = 20 * time.Millisecond
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	s, err := New(client)
	require.NoError(t, err)
	w := newWaiter(t, s, "q", "")
	require.Equal(t, waited{}, receive(t, goWait(ctx, w, 200*time.Millisecond)))
	got := goWait(ctx, w, long)
	require.NoError(t, c.ZAdd(ctx, "bull:q:marker", redis.Z{Member: "0"}).Err())
	require.Equal(t, waited{}, receive(t, got))
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	w := newWaiter(t, openOn(t, srv.URL()), "q", "")
	ctx, cancel := context.WithCancel(context.Background())
	got := goWait(ctx, w, long)
	blocked(t, srv.Client(t), 1)
	cancel()
	require.ErrorIs(t, receive(t, got).err, context.Canceled)
	blocked(t, srv.Client(t), 0)

	_, err := w.Wait(ctx, long)
	require.ErrorIs(t, err, context.Canceled)

	got = goWait(context.Background(), w, long)
	blocked(t, srv.Client(t), 1)
	require.NoError(t, srv.Client(t).ZAdd(context.Background(), "bull:q:marker", redis.Z{Member: "0"}).Err())
	require.Equal(t, waited{}, receive(t, got), "the waiter goes on after a wait that was ended")
}

func TestCloseEndsAWait(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	w := openOn(t, srv.URL()).NewWaiter("q", "")
	got := goWait(context.Background(), w, long)
	blocked(t, srv.Client(t), 1)
	require.NoError(t, w.Close())
	require.ErrorIs(t, receive(t, got).err, net.ErrClosed)
	blocked(t, srv.Client(t), 0)
	require.NoError(t, w.Close())
	_, err := w.Wait(context.Background(), long)
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestWaitEndsWhileTheServerIsSilent(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	for _, connected := range []bool{false, true} {
		link := testredis.Proxy(t, srv.Addr())
		s := openOn(t, link.URL())
		w := newWaiter(t, s, "q", "")
		if connected {
			require.Equal(t, waited{}, receive(t, goWait(context.Background(), w, time.Millisecond)))
		}
		link.Stall()

		ctx, cancel := context.WithCancel(context.Background())
		got := goWait(ctx, w, long)
		cancel()
		require.ErrorIs(t, receive(t, got).err, context.Canceled)

		err := receive(t, goWait(context.Background(), w, 30*time.Millisecond)).err
		require.ErrorContains(t, err, "no answer within 1.03s")
		require.True(t, storage.Transient(err), err)

		link.Flow()
		require.Equal(t, waited{}, receive(t, goWait(context.Background(), w, time.Millisecond)), "a new connection works")
	}
}

func TestWaitSurvivesAStoppedServer(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	w := newWaiter(t, openOn(t, srv.URL()), "q", "")
	got := goWait(context.Background(), w, 50*time.Millisecond)
	srv.Pause()
	first := receive(t, got) // it may have been answered before
	second := receive(t, goWait(context.Background(), w, 50*time.Millisecond))
	srv.Continue()
	require.Error(t, second.err, first)
	require.True(t, storage.Transient(second.err), second.err)
	require.Equal(t, waited{}, receive(t, goWait(context.Background(), w, time.Millisecond)))
}

func TestWaitReportsWhatEndsIt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, end := range map[string]func(t *testing.T, srv *testredis.Server, c *redis.Client){
		"killed":    func(t *testing.T, _ *testredis.Server, c *redis.Client) { killWaiters(t, c) },
		"unblocked": func(t *testing.T, _ *testredis.Server, c *redis.Client) { unblockWaiters(t, c) },
		"crash":     func(_ *testing.T, srv *testredis.Server, _ *redis.Client) { srv.Stop() },
		"role": func(t *testing.T, _ *testredis.Server, c *redis.Client) {
			require.NoError(t, c.ReplicaOf(ctx, "127.0.0.1", "1").Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testredis.Start(t)
			c := srv.Client(t)
			w := newWaiter(t, openOn(t, srv.URL()), "q", "")
			got := goWait(ctx, w, long)
			blocked(t, c, 1)
			end(t, srv, c)
			err := receive(t, got).err
			require.Error(t, err)
			require.True(t, storage.Transient(err), err)
			if name == "role" {
				err := receive(t, goWait(ctx, w, long)).err
				require.ErrorContains(t, err, "READONLY")
				require.True(t, storage.Transient(err), err)
				require.NoError(t, c.ReplicaOf(ctx, "NO", "ONE").Err())
			}
			if name == "crash" {
				srv.Restart()
			}
			got = goWait(ctx, w, long)
			blocked(t, c, 1)
			require.NoError(t, c.ZAdd(ctx, "bull:q:marker", redis.Z{Member: "0"}).Err())
			require.Equal(t, waited{}, receive(t, got))
		})
	}
}

func killWaiters(t *testing.T, c *redis.Client) {
	require.NoError(t, c.ClientKillByFilter(context.Background(), "TYPE", "normal", "SKIPME", "yes").Err())
}

func unblockWaiters(t *testing.T, c *redis.Client) {
	ctx := context.Background()
	for _, line := range splitLines(c.ClientList(ctx).Val()) {
		var id int64
		if _, err := fmt.Sscanf(line, "id=%d ", &id); err == nil {
			require.NoError(t, c.ClientUnblockWithError(ctx, id).Err())
		}
	}
}

func TestWaiterIsNamedForPeers(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	s := openOn(t, srv.URL(), Prefix("{pfx}:a"))
	for worker, want := range map[string]string{
		"":          " name={pfx}:a:bXkgcXVldWUvw7w= ",
		"w1":        " name={pfx}:a:bXkgcXVldWUvw7w=:w:w1 ",
		"two wörds": " name={pfx}:a:bXkgcXVldWUvw7w=:w:two_w_rds ",
	} {
		ctx, cancel := context.WithCancel(context.Background())
		got := goWait(ctx, newWaiter(t, s, "my queue/ü", worker), long)
		blocked(t, c, 1)
		require.Contains(t, c.ClientList(ctx).Val(), want)
		cancel()
		require.Error(t, receive(t, got).err)
		blocked(t, c, 0)
	}
	require.Empty(t, clientName("prä", "q", "w"))
}

func TestWaiterWorksWhereItMayNotNameItself(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	ctx, c := context.Background(), srv.Client(t)
	require.NoError(t, c.ACLSetUser(ctx, "default", "-client|setname").Err())
	w := newWaiter(t, openOn(t, srv.URL()), "q", "w")
	got := goWait(ctx, w, long)
	require.NoError(t, c.ZAdd(ctx, "bull:q:marker", redis.Z{Member: "0"}).Err())
	require.Equal(t, waited{}, receive(t, got))
}

func splitLines(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
}
