package bullmq

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// HandleFunc processes a job: it decodes the payload, runs the handler and
// encodes the result.
type HandleFunc func(ctx context.Context, job *ActiveJob) error

// HandleMiddleware wraps the processing of jobs. It sees each job before its
// handler runs and the handler's error afterwards, and may change the context or
// the error:
//
//	func logged(next bullmq.HandleFunc) bullmq.HandleFunc {
//		return func(ctx context.Context, job *bullmq.ActiveJob) error {
//			start := time.Now()
//			err := next(ctx, job)
//			job.Logger().InfoContext(ctx, "job processed", "took", time.Since(start), "error", err)
//			return err
//		}
//	}
//
// A middleware that returns nil must have called next, since the job's result
// comes from there; otherwise the job fails without a retry. Calling next again
// runs the handler again within the same attempt. A panic of the handler passes
// through the middleware like a panic of any function.
type HandleMiddleware func(next HandleFunc) HandleFunc

// AddFunc adds the jobs of a call.
type AddFunc func(ctx context.Context, call *AddCall) error

// AddMiddleware wraps the calls that add jobs: generated Enqueue functions and
// flows, Queue.Add, and children that a handler adds. It sees the jobs before they
// are stored and may change their options or refuse the call with an error. After
// next has returned, it sees their ids. Schedules are not added through it.
//
// A middleware that returns nil must have called next once; otherwise the call
// returns an error.
type AddMiddleware func(next AddFunc) AddFunc

// AddCall is one call that adds jobs.
type AddCall struct {
	Kind AddKind
	// Jobs are the jobs of the call. In a flow, a job follows its parent.
	// Middleware must not change the list itself.
	Jobs []*AddedJob
}

// AddKind is how the jobs of a call are added.
type AddKind int

// The kinds of calls that add jobs.
const (
	AddOne  AddKind = iota // one job
	AddMany                // many jobs of one task
	AddFlow                // one or more trees of jobs
)

// AddedJob is a job that a call adds.
type AddedJob struct {
	Queue, Name string
	// Payload is a pointer to the payload. Middleware must not change it: the
	// payload is encoded already.
	Payload any
	// Options are the job's options, taken from the task, the payload and the call.
	// Middleware may change them.
	Options *Options
	// Parent is the index of the job's parent among the jobs of the call, or -1.
	Parent int
	// ID is the job's id, once it is added. Existing reports that it is the id of a
	// job that was there before.
	ID       string
	Existing bool
}

// WithAddMiddleware makes a client add jobs through middleware, in the order
// given: the first one is the outermost.
func WithAddMiddleware(m ...AddMiddleware) ClientOption {
	return clientOption(func(c *Client) { c.addMiddleware = append(c.addMiddleware, m...) })
}

// WithHandleMiddleware makes workers process jobs through middleware, in the order
// given: the first one is the outermost. As an option of a client it is for all
// workers made from that client, and goes around the middleware of each worker.
func WithHandleMiddleware(m ...HandleMiddleware) interface {
	ClientOption
	WorkerOption
} {
	return handleMiddleware(m)
}

type handleMiddleware []HandleMiddleware

func (m handleMiddleware) applyClient(c *Client) {
	c.handleMiddleware = append(c.handleMiddleware, m...)
}

func (m handleMiddleware) applyWorker(c *workerConfig) { c.middleware = append(c.middleware, m...) }

// WithTaskMiddleware makes a worker process the jobs of one task through typed
// middleware, which sees the payload and the result. It runs inside all
// HandleMiddleware. It is an error if the worker's queue is not the task's.
func WithTaskMiddleware[P, R any](t *Task[P, R], m func(next func(context.Context, *Job[P]) (R, error)) func(context.Context, *Job[P]) (R, error)) WorkerOption {
	return workerOption(func(c *workerConfig) {
		c.taskMiddleware = append(c.taskMiddleware, taskMiddleware{t.spec.Queue.Name, t.spec.Name, m})
	})
}

// taskMiddleware is typed middleware of a task, a func(next H) H for the type H of
// the task's handlers.
type taskMiddleware struct {
	queue, task string
	wrap        any
}

// wrapTyped returns a task's handler with the typed middleware that the worker has
// for it.
func wrapTyped[H any](w *Worker, task string, h H) (H, error) {
	err := guard.Call("the middleware of task "+task, func() error {
		for i := len(w.cfg.taskMiddleware) - 1; i >= 0; i-- {
			m := &w.cfg.taskMiddleware[i]
			if m.task != task {
				continue
			}
			wrap, ok := m.wrap.(func(H) H)
			if !ok {
				return fmt.Errorf("the middleware of task %q is for another declaration of it", task)
			}
			h = wrap(h)
		}
		return nil
	})
	return h, err
}

// errNotHandled: a middleware completed a job whose handler did not run.
var errNotHandled = errors.New("a middleware returned without an error and without calling next: there is no result")

// wrap returns a handler with all middleware of the client and the worker around
// it.
func (w *Worker) wrap(h handler) (handler, error) {
	all := slices.Concat(w.client.handleMiddleware, w.cfg.middleware)
	if len(all) == 0 || h == nil {
		return h, nil
	}
	next := HandleFunc(func(ctx context.Context, job *ActiveJob) (err error) {
		job.result, err = h(ctx, job)
		job.handled = err == nil
		return err
	})
	err := guard.Call("a middleware", func() error {
		for i := len(all) - 1; i >= 0; i-- {
			if next = all[i](next); next == nil {
				return errors.New("a middleware returned a nil function")
			}
		}
		return nil
	})
	return func(ctx context.Context, job *ActiveJob) ([]byte, error) {
		if err := next(ctx, job); err != nil {
			return nil, err
		}
		if !job.handled {
			return nil, Unrecoverable(errNotHandled)
		}
		return job.result, nil
	}, err
}

// checkMiddleware adds what is wrong with the middleware of a worker.
func (c *workerConfig) checkMiddleware(queue string, p *problems) {
	for _, m := range c.middleware {
		if m == nil {
			p.add("a middleware is nil")
		}
	}
	for _, m := range c.taskMiddleware {
		if m.queue != queue {
			p.add("there is middleware for task %q, which belongs to queue %q", m.task, m.queue)
		}
		if reflect.ValueOf(m.wrap).IsNil() {
			p.add("the middleware of task %q is nil", m.task)
		}
	}
}

// intercept calls the client's middleware around add, which stores the jobs of the
// call and sets their ids.
func (c *Client) intercept(ctx context.Context, call *AddCall, add func(context.Context) error) error {
	calls := 0
	next := AddFunc(func(ctx context.Context, _ *AddCall) error {
		if calls++; calls > 1 {
			return storage.Invalid("a middleware called next twice: the jobs were added by the first call")
		}
		for _, j := range call.Jobs {
			if j.Options == nil {
				return storage.Invalid("a middleware removed the options of job %q", j.Name)
			}
		}
		return add(ctx)
	})
	err := guard.Call("a middleware", func() error {
		next := next
		for i := len(c.addMiddleware) - 1; i >= 0; i-- {
			if next = c.addMiddleware[i](next); next == nil {
				return storage.Invalid("a middleware returned a nil function")
			}
		}
		return next(ctx, call)
	})
	if err == nil && calls == 0 {
		return storage.Invalid("a middleware returned without an error and without calling next: nothing was added")
	}
	return err
}

// added sets the ids of the jobs that were added.
func (call *AddCall) added(added []storage.Added) {
	for i, a := range added {
		if a.Err == nil {
			call.Jobs[i].ID, call.Jobs[i].Existing = a.ID, a.Existing
		}
	}
}

// checkMiddleware adds what is wrong with the middleware of a client.
func (c *Client) checkMiddleware(p *problems) {
	for _, m := range c.addMiddleware {
		if m == nil {
			p.add("a middleware is nil")
		}
	}
	for _, m := range c.handleMiddleware {
		if m == nil {
			p.add("a middleware is nil")
		}
	}
}
