package testredis

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
)

const cure = "install redis-server 6.2 or later, or put it on PATH"

// Server is a Redis for one test.
type Server struct {
	t        testing.TB
	addr     string
	password string
	db       int
	proc     *process // nil: in-process
	owned    bool     // only this test uses the process
}

// Option changes how Start runs its server.
type Option func(*config)

type config struct {
	password string
	args     []string
	scratch  bool // the server's folder is removed when the server ends
	maxPort  int  // 0: any
	conf     string
}

// AppendOnly makes the server write every change to its append-only file at
// once, so that it has all data again after Restart.
func AppendOnly() Option { return Args("--appendonly", "yes", "--appendfsync", "always") }

// Password makes the server require a password of the default user.
func Password(password string) Option {
	return func(c *config) {
		c.password = password
		c.args = append(c.args, "--requirepass", password)
	}
}

// Args adds arguments to the server's command line.
func Args(args ...string) Option {
	return func(c *config) { c.args = append(c.args, args...) }
}

// Start runs a private server until the end of the test. It keeps nothing on
// disk unless told to. Without redis-server on the machine the test is
// skipped, or fails where nothing may be skipped (see package testneed).
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	needBinary(t)
	var c config
	for _, o := range opts {
		o(&c)
	}
	p, err := launch(t.TempDir(), &c)
	require.NoError(t, err)
	t.Cleanup(p.stop)
	return &Server{t: t, addr: p.addr(), password: c.password, proc: p, owned: true}
}

func needBinary(t testing.TB) {
	t.Helper()
	if _, ok := binary(); !ok {
		testneed.Missing(t, "redis-server", cure)
	}
}

// Addr is the server's "host:port".
func (s *Server) Addr() string { return s.addr }

// DB is the number of the test's database on the server.
func (s *Server) DB() int { return s.db }

// InProcess reports whether this is the in-process server.
func (s *Server) InProcess() bool { return s.proc == nil }

// URL is the server's address with password and database.
func (s *Server) URL() string {
	auth := ""
	if s.password != "" {
		auth = ":" + s.password + "@"
	}
	return fmt.Sprintf("redis://%s%s/%d", auth, s.addr, s.db)
}

// Options are the options of a client of the test's database.
func (s *Server) Options() *redis.Options {
	return &redis.Options{Addr: s.addr, Password: s.password, DB: s.db}
}

// Client connects to the test's database; it is closed at the end of the test.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	c := redis.NewClient(s.Options())
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// FlushAll empties the test's database. On a server of its own it also forgets
// the other databases and all scripts.
func (s *Server) FlushAll() {
	s.t.Helper()
	ctx := context.Background()
	c := s.Client(s.t)
	require.NoError(s.t, c.FlushDB(ctx).Err())
	if s.owned {
		require.NoError(s.t, c.FlushAll(ctx).Err())
		require.NoError(s.t, c.ScriptFlush(ctx).Err())
	}
}

// PID is the process id of the server.
func (s *Server) PID() int { return s.own("PID").pid() }

// Stop ends the server at once, as a crash does (SIGKILL).
func (s *Server) Stop() { s.own("Stop").stop() }

// Restart ends the server, in order if it still runs, and starts it again on
// the same port and folder. Without AppendOnly it is empty afterwards.
func (s *Server) Restart() {
	s.t.Helper()
	p := s.own("Restart")
	p.shutdown()
	require.NoError(s.t, p.run())
}

// Pause stops the process (SIGSTOP): connections stay open and nothing answers.
func (s *Server) Pause() { require.NoError(s.t, s.own("Pause").pause()) }

// Continue lets a paused process go on.
func (s *Server) Continue() { require.NoError(s.t, s.own("Continue").proceed()) }

func (s *Server) own(what string) *process {
	s.t.Helper()
	if !s.owned {
		s.t.Fatalf("testredis: %s needs a server of the test's own: use Start", what)
	}
	return s.proc
}

func itoa(n int) string { return strconv.Itoa(n) }
