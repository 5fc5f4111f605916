package runner

import (
	"context"
	"sync"
	"time"
)

// jobContext is the context of a job's handler. It is part of the job. What is
// needed to end a context is made when somebody first asks for it: most handlers
// return before anybody does.
type jobContext struct {
	job    *Job
	parent context.Context // of all handlers of the worker

	mu    sync.Mutex
	made  context.Context // nil: nobody has asked yet
	stop  context.CancelCauseFunc
	ended bool
	why   error // of the end; nil: none was given
}

// make returns the context that does the work.
func (c *jobContext) make() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made != nil {
		return c.made
	}
	if !c.ended {
		c.made, c.stop = context.WithCancelCause(c.parent)
		return c.made
	}
	c.made, c.stop = context.WithCancelCause(context.WithoutCancel(c.parent)) // the first cause counts
	c.stop(c.why)
	return c.made
}

// end ends the context, if it has not ended.
func (c *jobContext) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	if c.made == nil && c.parent.Err() != nil {
		why = context.Cause(c.parent) // it has ended before
	}
	c.ended, c.why = true, why
	if c.stop != nil {
		c.stop(why)
	}
}

// cause returns what context.Cause returns for it.
func (c *jobContext) cause() error {
	c.mu.Lock()
	if c.made == nil && !c.ended {
		defer c.mu.Unlock()
		return context.Cause(c.parent)
	}
	c.mu.Unlock()
	return context.Cause(c.make())
}

// Deadline implements [context.Context]. The context of all handlers has none.
func (c *jobContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done implements [context.Context].
func (c *jobContext) Done() <-chan struct{} { return c.make().Done() }

// Err implements [context.Context].
func (c *jobContext) Err() error {
	c.mu.Lock()
	if c.made == nil && !c.ended {
		defer c.mu.Unlock()
		return c.parent.Err()
	}
	c.mu.Unlock()
	return c.make().Err()
}

// Value implements [context.Context]. Context.Cause asks for a value, too.
func (c *jobContext) Value(key any) any {
	if key == (jobKey{}) {
		return c.job
	}
	return c.make().Value(key)
}

type jobKey struct{}

// JobFrom returns the job that a handler's context belongs to, or nil.
func JobFrom(ctx context.Context) *Job {
	j, _ := ctx.Value(jobKey{}).(*Job)
	return j
}
