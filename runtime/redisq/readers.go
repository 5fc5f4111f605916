package redisq

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// idleReaders is how many connections for reading events are kept while nobody reads.
const idleReaders = 4

// readers are connections of their own for blocking reads of events. One that
// was used is kept for the next read of the same queue.
type readers struct {
	mu     sync.Mutex
	closed bool
	busy   map[*dedicated]struct{}
	idle   []idleReader // oldest first
}

type idleReader struct {
	queue  string
	client *dedicated
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// process sends a command that blocks for up to d. It ends early, without an
// answer, when another server becomes the master; and when the
// context does, when the store is closed, and when the server is silent for
// longer than that.
func (r *readers) process(ctx context.Context, s *Store, queue string, cmd redis.Cmder, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c, err := r.take(ctx, s, queue)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, d+overdue)
	defer cancel()
	// go-redis does not end a call under way when its context is cancelled.
	stop := context.AfterFunc(limited, func() { _ = c.Close() })
	moved := make(chan struct{})
	go s.watchMaster(limited, func() *dedicated { return c }, func() {
		close(moved)
		_ = c.Close()
	})
	err = c.Process(limited, cmd)
	switch {
	case !stop(), err != nil && !isReply(err), isRefusal(err): // a server that gave its place to another answers for ever
		r.drop(c)
	default:
		r.keep(queue, c)
	}
	switch {
	case noNil(err) == nil:
		return nil
	case isClosed(moved):
		cmd.SetErr(nil) // the next read is from the new master
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case r.areClosed():
		return explain(redis.ErrClosed)
	case isDone(err) || errors.Is(err, os.ErrDeadlineExceeded) || limited.Err() != nil:
		return explain(fmt.Errorf("no answer within %v: %w", d+overdue, os.ErrDeadlineExceeded))
	}
	return namedIn(explain(err), cmd)
}

func (r *readers) take(ctx context.Context, s *Store, queue string) (*dedicated, error) {
	if c := r.pick(queue); c != nil {
		return c, nil
	}
	c, err := s.dedicate(ctx, queue, clientName(s.prefix, queue, "")+":qe")
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		_ = c.Close()
		return nil, explain(redis.ErrClosed)
	}
	r.use(c)
	return c, nil
}

// pick returns a kept connection for the queue, or nil.
func (r *readers) pick(queue string) *dedicated {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, l := range r.idle {
		if l.queue == queue {
			r.idle = append(r.idle[:i], r.idle[i+1:]...)
			r.use(l.client)
			return l.client
		}
	}
	return nil
}

func (r *readers) use(c *dedicated) {
	if r.busy == nil {
		r.busy = map[*dedicated]struct{}{}
	}
	r.busy[c] = struct{}{}
}

// keep puts a connection aside for the next read.
func (r *readers) keep(queue string, c *dedicated) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.busy, c)
	if r.closed {
		_ = c.Close()
		return
	}
	r.idle = append(r.idle, idleReader{queue, c})
	if len(r.idle) > idleReaders {
		_ = r.idle[0].client.Close()
		r.idle = append(r.idle[:0], r.idle[1:]...)
	}
}

func (r *readers) drop(c *dedicated) {
	r.mu.Lock()
	delete(r.busy, c)
	r.mu.Unlock()
	_ = c.Close()
}

func (r *readers) areClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// close ends all connections, and the reads under way.
func (r *readers) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for c := range r.busy {
		_ = c.Close()
	}
	for _, l := range r.idle {
		_ = l.client.Close()
	}
	r.idle = nil
}
