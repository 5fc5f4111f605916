package redisq

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func itoa(n int) string { return strconv.Itoa(n) }

// A server that forgot a script gets it again, and it runs once.
func TestForgottenScripts(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	s, err := New(c)
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, c.ScriptFlush(t.Context()).Err())
		added, err := s.Add(t.Context(), "q", plainJobs(2))
		require.NoError(t, err)
		require.Equal(t, []storage.Added{{ID: itoa(2*i + 1)}, {ID: itoa(2*i + 2)}}, added)
	}
}

// Scripts may be forgotten at any moment: no job is lost or added twice.
func TestScriptsForgottenAllTheTime(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	s, err := New(c)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var flusher, adders sync.WaitGroup
	flusher.Go(func() {
		for ctx.Err() == nil {
			_ = c.ScriptFlush(ctx).Err()
		}
	})
	for range 4 {
		adders.Go(func() {
			for range 100 {
				_, err := s.Add(ctx, "q", plainJobs(3))
				if err != nil {
					t.Errorf("add: %v", err)
				}
			}
		})
	}
	adders.Wait()
	cancel()
	flusher.Wait()
	require.Equal(t, int64(1200), c.LLen(t.Context(), "bull:q:wait").Val())
	require.Equal(t, "1200", c.Get(t.Context(), "bull:q:id").Val())
}

// A server that starts or changes its role refuses commands for a moment.
func TestRefusalsAreTransient(t *testing.T) {
	t.Parallel()
	for text, hint := range map[string]string{
		"LOADING Redis is loading the dataset in memory":                                                "the server is starting",
		"READONLY You can't write against a read only replica.":                                         "connect to its master",
		"ERR Error running script (call to f_1): @user_script:1: -READONLY You can't write against it.": "connect to its master",
		"MASTERDOWN Link with MASTER is down":                                                           "",
		"CLUSTERDOWN The cluster is down":                                                               "",
		"TRYAGAIN Multiple keys request during rehashing of slot":                                       "",
		"NOREPLICAS Not enough good replicas to write.":                                                 "",
		"BUSY Redis is busy running a script.":                                                          "",
		"ERR max number of clients reached":                                                             "",
		"MOVED 1 127.0.0.1:1":                                                                           "NewClusterClient",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			m := miniredis.RunT(t)
			c := redis.NewClient(&redis.Options{Addr: m.Addr()})
			defer func() { _ = c.Close() }()
			s, err := New(c)
			require.NoError(t, err)
			require.NoError(t, s.Ping(t.Context()))
			m.SetError(text)
			_, err = s.Add(t.Context(), "q", plainJobs(1))
			require.ErrorContains(t, err, text)
			require.ErrorContains(t, err, hint)
			require.True(t, storage.Transient(err))
			require.NotErrorIs(t, err, storage.ErrUncertain)
			m.SetError("")
			_, err = s.Add(t.Context(), "q", plainJobs(1))
			require.NoError(t, err)
		})
	}
}

// Such a refusal is waited for a little.
func TestAddSurvivesAShortRefusal(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	c := redis.NewClient(&redis.Options{Addr: m.Addr()})
	defer func() { _ = c.Close() }()
	s, err := New(c)
	require.NoError(t, err)
	require.NoError(t, s.Ping(t.Context()))
	m.SetError("LOADING Redis is loading the dataset in memory")
	c.AddHook(&scriptFailed{then: func() { m.SetError("") }})
	added, err := s.Add(t.Context(), "q", plainJobs(1))
	require.NoError(t, err)
	require.Equal(t, []storage.Added{{ID: "1"}}, added)
}

// scriptFailed calls a function after each script that was refused.
type scriptFailed struct{ then func() }

func (h *scriptFailed) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *scriptFailed) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *scriptFailed) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err != nil {
			h.then()
		}
		return err
	}
}

// A producer of a replica is told so.
func TestReplica(t *testing.T) {
	t.Parallel()
	master, replica := testredis.Start(t), testredis.Start(t)
	s, err := Open(replica.URL())
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	_, err = s.Add(t.Context(), "q", plainJobs(1))
	require.NoError(t, err)
	host, port := "127.0.0.1", master.Addr()[len("127.0.0.1:"):]
	require.NoError(t, replica.Client(t).ReplicaOf(t.Context(), host, port).Err())
	_, err = s.Add(t.Context(), "q", plainJobs(1))
	require.ErrorContains(t, err, "this server is a replica")
	require.True(t, storage.Transient(err))
	require.NotErrorIs(t, err, storage.ErrUncertain)
	require.NoError(t, replica.Client(t).ReplicaOf(t.Context(), "no", "one").Err())
	_, err = s.Add(t.Context(), "q", plainJobs(1))
	require.NoError(t, err)
}

func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	own, err := Open(srv.URL())
	require.NoError(t, err)
	defer func() { _ = own.Close() }()
	srv.Stop()
	for _, err := range []error{
		own.Ping(t.Context()),
		func() error { _, err := own.Add(t.Context(), "q", plainJobs(1)); return err }(),
		func() error { _, err := own.LastEvent(t.Context(), "q"); return err }(),
		func() error { _, err := own.ReadEvents(t.Context(), "q", "", time.Minute); return err }(),
		own.Announce(t.Context(), "q", "v", 1),
	} {
		require.ErrorContains(t, err, "bullmq: redis: dial tcp")
		require.ErrorContains(t, err, "is the server running, and are host and port of the URL right?")
		require.True(t, storage.Transient(err))
		require.NotErrorIs(t, err, storage.ErrUncertain)
	}
}

func TestWrongPassword(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t, testredis.Password("secret"))
	for _, url := range []string{"redis://" + srv.Addr(), "redis://:wrong@" + srv.Addr(), "redis://nobody:secret@" + srv.Addr()} {
		s, err := Open(url)
		require.NoError(t, err)
		defer func() { _ = s.Close() }()
		_, err = s.Add(t.Context(), "q", plainJobs(1))
		require.ErrorContains(t, err, "give the right user and password")
		require.NotContains(t, err.Error(), "secret")
		require.False(t, storage.Transient(err))
		require.NotErrorIs(t, err, storage.ErrUncertain)
	}
	s, err := Open(srv.URL())
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	require.NoError(t, s.Ping(t.Context()))
}

// A server that says nothing to a new connection: another protocol, or TLS to a port without.
func TestServerThatDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	s, err := Open("rediss://" + testredis.Shared(t).Addr() + "?dial_timeout=300ms")
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	_, err = s.Add(t.Context(), "q", plainJobs(1))
	require.ErrorContains(t, err, "does it speak TLS (rediss://) or not (redis://)?")
	require.True(t, storage.Transient(err))
	require.NotErrorIs(t, err, storage.ErrUncertain)
}

// Reads are sent again when the connection breaks, and changes that may have
// reached the server are not.
func TestLostAnswersToPlainCommands(t *testing.T) {
	t.Parallel()
	srv := testredis.Shared(t)
	link := testredis.Proxy(t, srv.Addr())
	for name, s := range clients(t, link.Addr(), srv.DB()) {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, s.Publish(t.Context(), "q", "e", 0, "n", "1"))
			last, err := s.LastEvent(t.Context(), "q")
			require.NoError(t, err)
			link.DropReply("xrevrange")
			again, err := s.LastEvent(t.Context(), "q")
			require.NoError(t, err)
			require.Equal(t, last, again)

			link.DropReply("xadd")
			require.ErrorIs(t, s.Publish(t.Context(), "q", "e", 0, "n", "2"), storage.ErrUncertain)
			events, err := s.ReadEvents(t.Context(), "q", last, 0)
			require.NoError(t, err)
			require.Len(t, events, 1)
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	require.NoError(t, explain(nil))
	require.Equal(t, redis.Nil, explain(redis.Nil))
	once := explain(errors.New("x"))
	require.Equal(t, once, explain(once), "an error is explained once")
	require.EqualError(t, once, "bullmq: redis: x")
	require.False(t, storage.Transient(once))
	require.False(t, storage.Transient(nil))
	require.EqualError(t, codeError(-99), "unknown reply -99 of a script")
	require.ErrorIs(t, explain(redis.ErrClosed), storage.ErrClosed)
	require.False(t, storage.Transient(explain(redis.ErrClosed)))
	require.True(t, storage.Transient(explain(redis.ErrPoolTimeout)))
	require.ErrorContains(t, explain(redis.ErrPoolTimeout), "larger pool")
}
