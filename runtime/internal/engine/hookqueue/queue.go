// Package hookqueue calls functions of the program that must not delay the work:
// one at a time, in order, from a goroutine of their own.
package hookqueue

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
)

// Queue holds the calls that are pending.
type Queue struct {
	log *slog.Logger
	one sync.Mutex // held while a hook is called

	mu      sync.Mutex
	wake    *sync.Cond
	calls   []hookCall
	calling int // 1 while the queue calls one
	closed  bool
	ended   chan struct{}
}

type hookCall struct {
	name string
	call func()
}

// New returns a queue that logs to log what a hook does instead of returning.
func New(log *slog.Logger) *Queue {
	q := &Queue{log: log, ended: make(chan struct{})}
	q.wake = sync.NewCond(&q.mu)
	return q
}

// Push adds a call. It does not wait for it.
func (q *Queue) Push(name string, call func()) {
	q.mu.Lock()
	q.calls = append(q.calls, hookCall{name, call})
	q.mu.Unlock()
	q.wake.Signal()
}

// Call makes a call now and waits for it, on a goroutine of its own: the caller's
// must not end with it. Other calls wait meanwhile.
func (q *Queue) Call(name string, call func()) {
	_ = guard.Apart("the hook "+name, func() error { q.call(hookCall{name, call}); return nil })
}

// Run makes the calls that are pushed, until the queue is closed and empty. A
// hook that ends this goroutine leaves the rest to another one.
func (q *Queue) Run() {
	over := false
	defer func() {
		if over {
			close(q.ended)
			return
		}
		go q.Run()
	}()
	for {
		next, ok := q.next()
		if !ok {
			over = true
			return
		}
		q.call(next)
	}
}

// next waits for the next call. It returns false when there will be none.
func (q *Queue) next() (hookCall, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calling = 0
	for len(q.calls) == 0 {
		if q.closed {
			return hookCall{}, false
		}
		q.wake.Wait()
	}
	next := q.calls[0]
	q.calls[0] = hookCall{}
	q.calls, q.calling = q.calls[1:], 1
	return next, true
}

// call calls a hook. It logs what the hook does instead of returning.
func (q *Queue) call(h hookCall) {
	q.one.Lock()
	returned := false
	defer func() {
		q.one.Unlock()
		if r := recover(); r != nil || !returned {
			err := &guard.Panic{What: "the hook " + h.name, Value: r, Stack: string(debug.Stack())}
			q.log.Error("bullmq: a hook failed", "hook", h.name, "error", err.Error(), "stack", err.Stack)
		}
	}()
	h.call()
	returned = true
}

// Close waits until the pending calls are made, as long as ctx lasts. It returns
// how many are left.
func (q *Queue) Close(ctx context.Context) int {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake.Signal()
	select {
	case <-q.ended:
		return 0
	case <-ctx.Done():
	}
	return q.Pending()
}

// Pending returns how many calls have not returned.
func (q *Queue) Pending() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.calls) + q.calling
}
