// Package embedded is a Redis server inside the program, for demos and tests
// with nothing to install. It keeps everything in memory and loses it at the
// end; it is not fast and not for production. On 32-bit systems it gives no more
// than about two billion ids in a queue.
package embedded

import (
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Server is an in-process Redis server. Other processes on the same machine
// can connect to it, Node programs too.
type Server struct {
	mini *miniredis.Miniredis
	stop chan struct{}
	done sync.WaitGroup
	once sync.Once
}

// Start starts a server on a free port of the loopback interface.
func Start() (*Server, error) { return StartAt("127.0.0.1:0") }

// StartAt starts a server on an address, "host:port".
func StartAt(addr string) (*Server, error) {
	s := &Server{mini: miniredis.NewMiniRedis(), stop: make(chan struct{})}
	if err := s.mini.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("embedded: start a server on %s: %w", addr, err)
	}
	s.done.Go(s.expire)
	return s, nil
}

// expireEvery is how often time passes for keys that expire. The library
// leaves the passing of time to its user.
const expireEvery = 10 * time.Millisecond

func (s *Server) expire() {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-tick.C:
			now := time.Now()
			s.mini.FastForward(now.Sub(last))
			last = now
		case <-s.stop:
			return
		}
	}
}

// URL is what redisq.Open takes.
func (s *Server) URL() string { return "redis://" + s.mini.Addr() }

// Addr is the server's address, "host:port".
func (s *Server) Addr() string { return s.mini.Addr() }

// FastForward lets d pass for keys that expire, such as locks and rate limits.
func (s *Server) FastForward(d time.Duration) { s.mini.FastForward(d) }

// Flush removes everything.
func (s *Server) Flush() { s.mini.FlushAll() }

// Close stops the server and drops what it held. Closing it twice is no error.
func (s *Server) Close() error {
	s.once.Do(func() {
		close(s.stop)
		s.done.Wait()
		s.mini.Close()
	})
	return nil
}
