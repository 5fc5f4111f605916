package bullmq

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// Hooks are called when something happens on a worker, one after the other and
// beside its work: a slow hook delays later calls of hooks and nothing else,
// and none is left out. Fields may be nil.
type Hooks struct {
	// Active: a job's handler is about to run.
	Active func(job *ActiveJob)
	// Completed: a job was completed with the result given, JSON text as it is stored.
	Completed func(job *ActiveJob, result []byte)
	// Failed: an attempt failed; final when there will be no other.
	Failed func(job *ActiveJob, err error, final bool)
	// Progress: a handler reported progress, JSON text.
	Progress func(job *ActiveJob, progress []byte)
	// Stalled: a job of a vanished worker was put back.
	Stalled func(id string)
	// LockLost: a job is not this worker's any more; what its handler returns is dropped.
	LockLost func(job *ActiveJob)
	// Error: something failed beside the handlers. An outage of the storage is
	// reported once, when it begins.
	Error func(err error)
}

// hookQueue calls hooks from one goroutine, and holds what is to be called.
type hookQueue struct {
	hooks Hooks
	log   *slog.Logger

	mu     sync.Mutex
	wake   *sync.Cond
	calls  []func()
	closed bool
	ended  chan struct{}
}

func newHookQueue(h Hooks, log *slog.Logger) *hookQueue {
	q := &hookQueue{hooks: h, log: log, ended: make(chan struct{})}
	q.wake = sync.NewCond(&q.mu)
	return q
}

func (q *hookQueue) push(call func()) {
	q.mu.Lock()
	q.calls = append(q.calls, call)
	q.mu.Unlock()
	q.wake.Signal()
}

// run calls what is pushed, until the queue is closed and empty.
func (q *hookQueue) run() {
	defer close(q.ended)
	for {
		q.mu.Lock()
		for len(q.calls) == 0 && !q.closed {
			q.wake.Wait()
		}
		calls := q.calls
		q.calls = nil
		q.mu.Unlock()
		if len(calls) == 0 {
			return
		}
		for _, call := range calls {
			q.call(call)
		}
	}
}

func (q *hookQueue) call(f func()) {
	defer func() {
		if r := recover(); r != nil {
			q.log.Error("bullmq: a hook panicked", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	f()
}

// close lets the calls that are pending be made, and waits for them as long as ctx lasts.
func (q *hookQueue) close(ctx context.Context) {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake.Signal()
	select {
	case <-q.ended:
	case <-ctx.Done():
	}
}

func (q *hookQueue) active(j *ActiveJob) {
	if f := q.hooks.Active; f != nil {
		q.push(func() { f(j) })
	}
}

func (q *hookQueue) completed(j *ActiveJob, result []byte) {
	if f := q.hooks.Completed; f != nil {
		q.push(func() { f(j, result) })
	}
}

func (q *hookQueue) failed(j *ActiveJob, err error, final bool) {
	if f := q.hooks.Failed; f != nil {
		q.push(func() { f(j, err, final) })
	}
}

func (q *hookQueue) progress(j *ActiveJob, text []byte) {
	if f := q.hooks.Progress; f != nil {
		q.push(func() { f(j, text) })
	}
}

func (q *hookQueue) stalled(id string) {
	if f := q.hooks.Stalled; f != nil {
		q.push(func() { f(id) })
	}
}

func (q *hookQueue) lockLost(j *ActiveJob) {
	if f := q.hooks.LockLost; f != nil {
		q.push(func() { f(j) })
	}
}

func (q *hookQueue) error(err error) {
	if f := q.hooks.Error; f != nil {
		q.push(func() { f(err) })
	}
}
