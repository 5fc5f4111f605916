package bullmq

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
)

// Hooks are called when something happens on a worker, one at a time. Active is
// called before the job's handler, which waits for it; the others are called
// beside the work: a slow hook delays other hooks, Active included, and nothing
// else. A hook that panics, or ends its goroutine as testing.T.FailNow does, is
// logged, and the others are called all the same. When a worker stops, it waits
// for the hooks as long as for handlers; Run returns nil only when all were called.
// Fields may be nil.
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
	one   sync.Mutex // held while a hook is called

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

func newHookQueue(h Hooks, log *slog.Logger) *hookQueue {
	q := &hookQueue{hooks: h, log: log, ended: make(chan struct{})}
	q.wake = sync.NewCond(&q.mu)
	return q
}

func (q *hookQueue) push(name string, call func()) {
	q.mu.Lock()
	q.calls = append(q.calls, hookCall{name, call})
	q.mu.Unlock()
	q.wake.Signal()
}

// run calls what is pushed, until the queue is closed and empty. A hook that ends
// this goroutine leaves the rest to another one.
func (q *hookQueue) run() {
	over := false
	defer func() {
		if over {
			close(q.ended)
			return
		}
		go q.run()
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

// next waits for the next call. It is false when there will be none.
func (q *hookQueue) next() (hookCall, bool) {
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
func (q *hookQueue) call(h hookCall) {
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

// close lets the calls that are pending be made, and waits for them as long as ctx
// lasts. It returns how many are left.
func (q *hookQueue) close(ctx context.Context) int {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake.Signal()
	select {
	case <-q.ended:
		return 0
	case <-ctx.Done():
	}
	return q.pending()
}

// pending is how many calls have not ended.
func (q *hookQueue) pending() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.calls) + q.calling
}

// active calls the hook before the handler, and on a goroutine of its own: the
// handler's must not end with it.
func (q *hookQueue) active(j *ActiveJob) {
	if f := q.hooks.Active; f != nil {
		_ = guard.Apart("the hook Active", func() error { q.call(hookCall{"Active", func() { f(j) }}); return nil })
	}
}

func (q *hookQueue) completed(j *ActiveJob, result []byte) {
	if f := q.hooks.Completed; f != nil {
		q.push("Completed", func() { f(j, result) })
	}
}

func (q *hookQueue) failed(j *ActiveJob, err error, final bool) {
	if f := q.hooks.Failed; f != nil {
		q.push("Failed", func() { f(j, err, final) })
	}
}

func (q *hookQueue) progress(j *ActiveJob, text []byte) {
	if f := q.hooks.Progress; f != nil {
		q.push("Progress", func() { f(j, text) })
	}
}

func (q *hookQueue) stalled(id string) {
	if f := q.hooks.Stalled; f != nil {
		q.push("Stalled", func() { f(id) })
	}
}

func (q *hookQueue) lockLost(j *ActiveJob) {
	if f := q.hooks.LockLost; f != nil {
		q.push("LockLost", func() { f(j) })
	}
}

func (q *hookQueue) error(err error) {
	if f := q.hooks.Error; f != nil {
		q.push("Error", func() { f(err) })
	}
}
