package testredis

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
)

// databases is how many tests of one binary can hold a database at once.
const databases = 2048

// shared is the server of this test binary and the databases that are free on
// it. The server ends with the binary.
var shared struct {
	once sync.Once
	proc *process
	err  error
	free chan int
}

// Shared gives the test an empty database, which no other test sees, on a
// server that all tests of the binary use: safe for parallel tests. What is
// the server's and not a database's is common to all: scripts, CLIENT LIST (so
// a test that lists workers wants a queue name of its own), CONFIG. Stop,
// Pause and the like need [Start].
func Shared(t testing.TB) *Server {
	t.Helper()
	needBinary(t)
	shared.once.Do(startShared)
	require.NoError(t, shared.err)
	s := &Server{t: t, addr: shared.proc.addr(), db: <-shared.free, proc: shared.proc}
	t.Cleanup(func() {
		c := s.Client(t)
		if err := c.FlushDB(context.Background()).Err(); err != nil {
			t.Errorf("testredis: empty database %d: %v", s.db, err)
			return // a database that may have data is given to no one
		}
		shared.free <- s.db
	})
	return s
}

func startShared() {
	c := &config{}
	Args("--databases", itoa(databases), "--maxclients", "20000")(c)
	shared.proc, shared.err = launchShared(c)
	shared.free = make(chan int, databases)
	for db := range databases {
		shared.free <- db
	}
}

// Mini runs an in-process server (miniredis) for the test. Keys expire by the
// real clock.
func Mini(t testing.TB) *Server {
	t.Helper()
	m := miniredis.RunT(t)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		expire(m, done)
	}()
	t.Cleanup(func() { close(done); <-stopped })
	return &Server{t: t, addr: m.Addr()}
}

// expire tells the server how time passes: it has no clock of its own for keys
// that expire.
func expire(m *miniredis.Miniredis, done <-chan struct{}) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-done:
			return
		case now := <-tick.C:
			m.FastForward(now.Sub(last))
			last = now
		}
	}
}

// Any gives the test an empty database on whatever is there: [Shared], or
// [Mini] on a machine without redis-server.
func Any(t testing.TB) *Server {
	t.Helper()
	if _, ok := binary(); ok {
		return Shared(t)
	}
	return Mini(t)
}
