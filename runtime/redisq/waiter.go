package redisq

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

const (
	// maxBlock is the longest single call that waits: a longer wait is made of
	// several, so that a connection that died in silence is found out.
	maxBlock = 10 * time.Second
	// minBlock is the shortest that every server takes for what it is: older
	// ones round a millisecond down to zero, which is for ever.
	minBlock = 2 * time.Millisecond
	// overdue is how long after its end a call that waits is given up.
	overdue = time.Second
)

// waiter waits on a queue's marker, which whoever adds work sets.
type waiter struct {
	s           *Store
	queue, name string

	closing sync.Once
	closed  chan struct{}

	mu   sync.Mutex
	line *line // nil: to be made by the next Wait
}

// NewWaiter implements [storage.Consumer]. It connects when it first waits. The
// connection carries the name by which peers list the workers of a queue; where
// the server refuses that, the worker is not listed, and works all the same.
//
// Waking takes the marker away. If the answer is lost, so is the marker: after
// an error of Wait, and after ending one by its context, look for jobs at once.
func (s *Store) NewWaiter(queue, name string) storage.Waiter {
	return &waiter{s: s, queue: queue, name: name, closed: make(chan struct{})}
}

// Wait implements [storage.Waiter]. It keeps to its time even if the server, or
// the network, does not answer any more.
func (w *waiter) Wait(ctx context.Context, d time.Duration) (time.Time, error) {
	for {
		block := min(max(d, minBlock), maxBlock)
		if err := w.ended(ctx); err != nil || d <= 0 {
			return time.Time{}, err
		}
		woken, due, err := w.block(ctx, block)
		if woken || err != nil {
			return due, err
		}
		d -= block
	}
}

// Close implements [storage.Waiter].
func (w *waiter) Close() error {
	w.closing.Do(func() {
		close(w.closed)
		w.drop()
	})
	return nil
}

// ended tells why there is nothing to wait for any more, or nil.
func (w *waiter) ended(ctx context.Context) error {
	select {
	case <-w.closed:
		return storage.OfKind(storage.ErrClosed, fmt.Errorf("bullmq: wait for work on queue %q: %w", w.queue, net.ErrClosed))
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
		return nil
	}
}

// block makes one call. It returns as soon as it is of no use any more, and
// leaves what is stuck in it to end by itself.
func (w *waiter) block(ctx context.Context, d time.Duration) (woken bool, due time.Time, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.mu.Lock()
	if w.line == nil {
		w.line = &line{s: w.s, queue: w.queue, name: w.name}
	}
	l := w.line
	w.mu.Unlock()

	moved := make(chan struct{})
	go l.s.watchMaster(ctx, l.current, func() { close(moved) })
	answer := make(chan func(), 1)
	go func() {
		popped, at, problem := l.pop(ctx, d)
		answer <- func() { woken, due, err = popped, at, problem }
	}()
	watchdog := time.NewTimer(d + overdue)
	defer watchdog.Stop()
	select {
	case set := <-answer:
		set()
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-w.closed:
		err = w.ended(ctx)
	case <-moved:
		w.drop()
		return true, time.Time{}, nil // jobs may wait at the new master
	case <-watchdog.C:
		err = explain(fmt.Errorf("no answer within %v: %w", d+overdue, os.ErrDeadlineExceeded))
	}
	if err != nil {
		w.drop()
	}
	return woken, due, err
}

// drop gives up the connection; the next Wait makes a new one.
func (w *waiter) drop() {
	w.mu.Lock()
	l := w.line
	w.line = nil
	w.mu.Unlock()
	if l != nil {
		l.end()
	}
}

// line is a connection for waiting. It is used by one call at a time, and ended by another.
type line struct {
	s           *Store
	queue, name string

	mu     sync.Mutex
	client *dedicated
	ended  bool
}

// pop waits for the marker and takes it away. Due is when the earliest delayed
// job is due, if the marker is of that one.
func (l *line) pop(ctx context.Context, d time.Duration) (popped bool, due time.Time, err error) {
	c, err := l.connect(ctx)
	if err != nil {
		return false, time.Time{}, explain(err)
	}
	b, err := l.s.base(l.queue)
	if err != nil {
		return false, time.Time{}, err
	}
	cmd := redis.NewZWithKeyCmd(ctx, "bzpopmin", b+"marker", strconv.FormatFloat(d.Seconds(), 'f', 3, 64))
	switch err := c.Process(ctx, cmd); {
	case errors.Is(err, redis.Nil):
		return false, time.Time{}, nil
	case err != nil:
		return false, time.Time{}, namedIn(explain(err), cmd)
	}
	if ms := int64(cmd.Val().Score); ms > 0 {
		due = time.UnixMilli(ms)
	}
	return true, due, nil
}

// masterCheck is how often a waiting connection of a client that follows Sentinel
// is compared with the present master.
const masterCheck = time.Second

// current is the connection, or nil while there is none.
func (l *line) current() *dedicated {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.client
}

// watchMaster calls moved once when another server than that of the current
// connection has become the master, until ctx ends.
func (s *Store) watchMaster(ctx context.Context, current func() *dedicated, moved func()) {
	if c, ok := s.client.(*redis.Client); !ok || c.Options().Addr != followsSentinel {
		return
	}
	tick := time.NewTicker(masterCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if c := current(); c != nil && c.outdated(ctx) {
			moved()
			return
		}
	}
}

// connect makes the connection, if there is none yet, and names it.
func (l *line) connect(ctx context.Context) (*dedicated, error) {
	l.mu.Lock()
	c := l.client
	l.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := l.s.dedicate(ctx, l.queue, "")
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.client = c
	ended := l.ended
	l.mu.Unlock()
	if ended {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	if name := clientName(l.s.prefix, l.queue, l.name); name != "" {
		// Some servers and users may not do this: only a broken connection matters.
		if err := c.Process(ctx, redis.NewStatusCmd(ctx, "client", "setname", name)); err != nil && !isReply(err) {
			return nil, err
		}
	}
	return c, nil
}

// end closes the connection, now or as soon as it is made. A call under way fails.
func (l *line) end() {
	l.mu.Lock()
	c := l.client
	l.ended = true
	l.mu.Unlock()
	if c != nil {
		_ = c.Close()
	}
}

// clientName is the name of a worker's connection, by which peers find the
// workers of a queue. Servers take only printable ASCII: other characters of
// the worker's name are replaced, and a prefix that has some means no name.
func clientName(prefix, queue, worker string) string {
	name := prefix + ":" + base64.StdEncoding.EncodeToString([]byte(queue))
	for _, r := range prefix {
		if r < '!' || r > '~' {
			return ""
		}
	}
	if worker == "" {
		return name
	}
	return name + ":w:" + strings.Map(func(r rune) rune {
		if r < '!' || r > '~' {
			return '_'
		}
		return r
	}, worker)
}
