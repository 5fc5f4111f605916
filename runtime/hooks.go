package bullmq

import (
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/hookqueue"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/runner"
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
	// Recovered: an outage of the storage is over, which lasted for the time given.
	Recovered func(away time.Duration)
}

// observer calls the hooks of a worker, beside the work.
type observer struct {
	hooks Hooks
	queue *hookqueue.Queue
}

// Active calls the hook before the handler.
func (o observer) Active(j *runner.Job) {
	if f := o.hooks.Active; f != nil {
		o.queue.Call("Active", func() { f(typed(j)) })
	}
}

func (o observer) Completed(j *runner.Job, result []byte) {
	if f := o.hooks.Completed; f != nil {
		o.queue.Push("Completed", func() { f(typed(j), result) })
	}
}

func (o observer) Failed(j *runner.Job, err error, final bool) {
	if f := o.hooks.Failed; f != nil {
		o.queue.Push("Failed", func() { f(typed(j), err, final) })
	}
}

func (o observer) progress(j *ActiveJob, text []byte) {
	if f := o.hooks.Progress; f != nil {
		o.queue.Push("Progress", func() { f(j, text) })
	}
}

func (o observer) Stalled(id string) {
	if f := o.hooks.Stalled; f != nil {
		o.queue.Push("Stalled", func() { f(id) })
	}
}

func (o observer) LockLost(j *runner.Job) {
	if f := o.hooks.LockLost; f != nil {
		o.queue.Push("LockLost", func() { f(typed(j)) })
	}
}

func (o observer) Recovered(away time.Duration) {
	if f := o.hooks.Recovered; f != nil {
		o.queue.Push("Recovered", func() { f(away) })
	}
}

func (o observer) Error(err error) {
	if f := o.hooks.Error; f != nil {
		o.queue.Push("Error", func() { f(err) })
	}
}
