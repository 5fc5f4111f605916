package redisq

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// clients are ways to a store over a proxy: one of its own, and given ones
// that resend commands unless they are told not to.
func clients(t *testing.T, addr string, db int) map[string]*Store {
	t.Helper()
	own, err := Open("redis://" + addr + "/" + itoa(db))
	require.NoError(t, err)
	stores := map[string]*Store{"own": own}
	for name, o := range map[string]*redis.Options{
		"given":        {Addr: addr, DB: db},
		"given, RESP2": {Addr: addr, DB: db, Protocol: 2, MaxRetries: 10, ReadTimeout: time.Second, ContextTimeoutEnabled: true},
	} {
		c := redis.NewClient(o)
		t.Cleanup(func() { _ = c.Close() })
		stores[name], err = New(c)
		require.NoError(t, err)
	}
	t.Cleanup(func() { _ = own.Close() })
	return stores
}

// When the answer to an add is lost, it is not known whether the job is
// stored: it is not sent a second time, and the caller is told.
func TestLostAnswerToAnAdd(t *testing.T) {
	t.Parallel()
	srv := testredis.Shared(t)
	link := testredis.Proxy(t, srv.Addr())
	c := srv.Client(t)
	for name, s := range clients(t, link.Addr(), srv.DB()) {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, c.FlushDB(t.Context()).Err())
			_, err := s.Add(t.Context(), "q", plainJobs(1)) // the script is known, the connection is open
			require.NoError(t, err)
			before := link.Dropped()
			link.DropReply("evalsha")
			added, err := s.Add(t.Context(), "q", plainJobs(1))
			require.Equal(t, before+1, link.Dropped())
			require.ErrorIs(t, err, storage.ErrUncertain)
			require.True(t, storage.Transient(err))
			require.Nil(t, added)
			require.Equal(t, int64(2), c.LLen(t.Context(), "bull:q:wait").Val(), "sent once")

			added, err = s.Add(t.Context(), "q", plainJobs(1))
			require.NoError(t, err)
			require.Equal(t, []storage.Added{{ID: "3"}}, added)
		})
	}
}

// When a step is lost, what was stored before it is told. What was sent along
// with it is uncertain, and what was not sent after it is not.
func TestLostAnswerToALaterStep(t *testing.T) {
	t.Parallel()
	srv := testredis.Shared(t)
	link := testredis.Proxy(t, srv.Addr())
	s, err := Open(link.URL() + "/" + itoa(srv.DB()))
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	_, err = s.Add(t.Context(), "other", plainJobs(1)) // the script is known
	require.NoError(t, err)
	jobs := plainJobs((aheadSteps + 2) * addJobs)
	jobs[addJobs+7].Name = "the lost one"
	link.DropReply("the lost one")

	added, err := s.Add(t.Context(), "q", jobs)
	require.ErrorIs(t, err, storage.ErrUncertain)
	require.Len(t, added, len(jobs))
	for i, a := range added {
		switch {
		case i < addJobs && a.Err == nil:
			require.Equal(t, storage.Added{ID: itoa(i + 1)}, a)
		case i < aheadSteps*addJobs:
			require.ErrorIs(t, a.Err, storage.ErrUncertain, i)
		default:
			require.ErrorContains(t, a.Err, "not added, since jobs before it")
			require.NotErrorIs(t, a.Err, storage.ErrUncertain)
		}
	}
	require.LessOrEqual(t, srv.Client(t).LLen(t.Context(), "bull:q:wait").Val(), int64(aheadSteps*addJobs))
}

// A connection that broke while nothing was sent costs nothing.
func TestAddAfterTheConnectionBroke(t *testing.T) {
	t.Parallel()
	srv := testredis.Shared(t)
	link := testredis.Proxy(t, srv.Addr())
	for name, s := range clients(t, link.Addr(), srv.DB()) {
		require.NoError(t, s.Ping(t.Context()))
		link.Cut()
		require.Eventually(t, func() bool { open, _ := link.Connections(); return open == 0 }, patience, time.Millisecond)
		stored := srv.Client(t).LLen(t.Context(), "bull:q:wait").Val()
		_, err := s.Add(t.Context(), "q", plainJobs(1))
		now := srv.Client(t).LLen(t.Context(), "bull:q:wait").Val()
		if err == nil {
			require.Equal(t, stored+1, now, name)
		} else { // the end of the connection had not arrived yet
			require.ErrorIs(t, err, storage.ErrUncertain, name)
			require.Equal(t, stored, now, name)
		}
	}
}

// What certainly was not sent is tried again, with a given client too.
func TestAddIsTriedAgainWhenNothingWasSent(t *testing.T) {
	t.Parallel()
	srv := testredis.Any(t)
	o := srv.Options()
	o.MaxRetries, o.DialerRetries = -1, 1
	var dials atomic.Int32
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials.Add(1) <= 2 {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	c := redis.NewClient(o)
	defer func() { _ = c.Close() }()
	var log bytes.Buffer
	s, err := New(c, Logger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	require.NoError(t, err)
	added, err := s.Add(t.Context(), "q", plainJobs(1))
	require.NoError(t, err)
	require.Equal(t, []storage.Added{{ID: "1"}}, added)
	require.Equal(t, int32(3), dials.Load())
	require.Equal(t, 2, strings.Count(log.String(), "trying again"))
}

// A server that does not answer holds a call no longer than its context lasts.
func TestAddKeepsToItsDeadline(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	s, err := Open(srv.URL())
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	_, err = s.Add(t.Context(), "q", plainJobs(1))
	require.NoError(t, err)
	srv.Pause()
	defer srv.Continue()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = s.Add(ctx, "q", plainJobs(1))
	require.ErrorIs(t, err, storage.ErrUncertain)

	done, end := context.WithCancelCause(t.Context())
	end(context.DeadlineExceeded)
	_, err = s.Add(done, "q", plainJobs(1))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, storage.ErrUncertain, "nothing is sent when the context is over")
}
