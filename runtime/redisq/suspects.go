package redisq

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// suspects knows the open connections of a client's pool. A network can swallow
// connections without a word: then all that are idle are as dead as the first one
// that does not answer, and each would cost a call its whole timeout. When one
// times out, those that are idle and were not heard from since it was asked are
// closed, and the pool dials new ones.
type suspects struct {
	mu    sync.Mutex
	conns map[*watchedConn]struct{}
}

// dialer adds what dial connects to the known connections.
func (p *suspects) dialer(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w := &watchedConn{Conn: c, pool: p, heard: time.Now()}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.conns == nil {
			p.conns = map[*watchedConn]struct{}{}
		}
		p.conns[w] = struct{}{}
		return w, nil
	}
}

// silent closes the idle connections that were not heard from since a time.
func (p *suspects) silent(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.conns {
		w.closeIfIdle(since)
	}
}

func (p *suspects) forget(w *watchedConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, w)
}

// watchedConn is a connection that knows whether it waits for an answer.
type watchedConn struct {
	net.Conn
	pool *suspects

	mu      sync.Mutex
	asked   time.Time // when the request was sent that is not answered; zero: it is idle
	heard   time.Time
	dropped bool
}

func (w *watchedConn) Write(b []byte) (int, error) {
	w.mu.Lock()
	if w.asked.IsZero() {
		w.asked = time.Now()
	}
	w.mu.Unlock()
	return w.Conn.Write(b)
}

func (w *watchedConn) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.mu.Lock()
	asked := w.asked
	if n > 0 {
		w.asked, w.heard = time.Time{}, time.Now()
	}
	w.mu.Unlock()
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && !asked.IsZero() {
		w.pool.silent(asked)
	}
	return n, err
}

// Close implements [net.Conn].
func (w *watchedConn) Close() error {
	w.pool.forget(w)
	return w.Conn.Close()
}

// closeIfIdle closes the connection below; the pool finds out when it next takes it.
func (w *watchedConn) closeIfIdle(since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked.IsZero() && w.heard.Before(since) && !w.dropped {
		w.dropped = true
		_ = w.Conn.Close()
	}
}

// SyscallConn is asked by go-redis when it takes the connection out of the pool.
func (w *watchedConn) SyscallConn() (syscall.RawConn, error) {
	w.mu.Lock()
	dropped := w.dropped
	w.mu.Unlock()
	if dropped {
		return nil, net.ErrClosed
	}
	if c, ok := w.Conn.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return unchecked{}, nil // with TLS there is nothing to look at
}

// unchecked is the descriptor of a connection that cannot be looked at.
type unchecked struct{}

func (unchecked) Control(func(uintptr)) error    { return nil }
func (unchecked) Read(func(uintptr) bool) error  { return nil }
func (unchecked) Write(func(uintptr) bool) error { return nil }
