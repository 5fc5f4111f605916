package bullmq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Node is a job to be added in a flow, with the jobs that it waits for. Tasks
// make nodes (Task.Node); a program that knows no tasks uses NewNode or fills
// one in.
type Node struct {
	// Queue is the name of the job's queue.
	Queue string
	// Prefix is that of a queue below another key prefix than the storage's;
	// empty: the storage's.
	Prefix string
	// Name of the job.
	Name string
	// Data is the payload as it is stored.
	Data json.RawMessage
	// Opts are the job's options. A JobID makes a job with this id, where there
	// is one already, the child; without it the job gets an id of its own.
	Opts Options
	// Children are the jobs that this one waits for. They begin in this order.
	Children []*Node

	place string // in a slot of its parent, as its id carries it; or empty
	label string // the same, for errors
	code  *coder // of its task, or nil
	spec  *Spec  // of its task, or nil
	err   error  // what is wrong with it

	payload any // a pointer to it, before it was encoded; nil: Data is all there is
}

func (n *Node) node() *Node { return n }

// NewNode makes a node by names, for tools that do not know the queue's tasks.
// Data is encoded as JSON.
func NewNode(queue, name string, data any, opts ...NodeOption) *Node {
	n := &Node{Queue: queue, Name: name}
	n.Data, n.err = encodeJSON(data)
	if n.err != nil {
		n.err = fmt.Errorf("payload: %w", n.err)
	}
	n.apply(opts)
	return n
}

func (n *Node) apply(opts []NodeOption) {
	for _, o := range opts {
		o.applyNode(&n.Opts)
	}
	n.Prefix = n.Opts.prefix
}

// Node makes a job of the task for a flow. It adds nothing; what is wrong with
// it is reported when the flow is added.
func (t *Task[P, R]) Node(p P, opts ...NodeOption) *Node {
	return t.NodeWith(p, nil, opts...)
}

// NodeWith makes a job of the task for a flow, that waits for the children in
// its slots.
func (t *Task[P, R]) NodeWith(p P, children []Slot, opts ...NodeOption) *Node {
	n := &Node{}
	if n.err = t.Err(); n.err != nil {
		return n
	}
	n.Queue, n.Name, n.code, n.spec, n.payload = t.spec.Queue.Name, t.spec.Name, t.code, &t.spec, &p
	n.Data, n.Opts, n.err = t.nodeOf(&p)
	n.apply(opts)
	var problems problems
	n.Children = fill(t.spec.Slots, children, &problems)
	complete(t.spec.Slots, children, &problems)
	n.err = errors.Join(n.err, problems.err())
	return n
}

// nodeOf is the payload's JSON and the options of a job of a flow.
func (t *Task[P, R]) nodeOf(p *P) (data []byte, o Options, err error) {
	o = t.base
	if err := t.applyKeys(&o, p); err != nil {
		return nil, o, err
	}
	if err := validate(p); err != nil {
		return nil, o, err
	}
	data, err = t.encode(p)
	return data, o, err
}

// ErrIncompleteFlow: a flow was not added because a child is missing that its
// parent cannot do without.
var ErrIncompleteFlow = errors.New("the flow is not complete")

// FlowError is why a flow was not added, and because of which job. Nothing of
// the flow was added.
type FlowError struct {
	// Path leads from the root to the job: "build-report.pages[1]".
	Path string
	// Queue, Name and ID are of the job; the id is empty when it has none yet.
	Queue, Name, ID string
	Err             error
}

func (e *FlowError) Error() string {
	if e.ID == "" {
		return fmt.Sprintf("%s (%s/%s): %v", e.Path, e.Queue, e.Name, e.Err)
	}
	return fmt.Sprintf("%s (%s/%s, id %q): %v", e.Path, e.Queue, e.Name, e.ID, e.Err)
}

func (e *FlowError) Unwrap() error { return e.Err }

// AddFlow adds a job of the task that waits for the children in its slots, and
// them, in one step: all or none. The job begins when they are done.
//
// With a JobID that is there already, in any state, nothing is added and the
// handle refers to that job: so a flow whose add ended with ErrUncertain can be
// added again. If it is a job of another task, the error is ErrOtherTask. Without any child the job is a plain one.
func (t *Task[P, R]) AddFlow(ctx context.Context, c *Client, p P, children []Slot, opts ...AddOption) (*JobHandle[R], error) {
	if err := t.usable(c); err != nil {
		return nil, err
	}
	root := t.NodeWith(p, children)
	if root.err == nil && len(root.Children) == 0 {
		return t.Add(ctx, c, p, opts...)
	}
	for _, o := range opts {
		o.applyAdd(&root.Opts)
	}
	added, err := c.addFlow(ctx, root)
	if err != nil {
		return nil, t.wrap(err)
	}
	h, err := t.handle(c, added)
	return h, t.wrap(err)
}

// FlowHandle refers to a job of a flow that was added, and to those below it.
type FlowHandle struct {
	*JobHandle[json.RawMessage]
	// Children are those that the job was added with, in their order; none, if
	// nothing was added below it because it was there already.
	Children []*FlowHandle
}

// AddFlows adds trees of jobs in one step, on any number of queues: all or
// none. It returns a handle of each root. A root with a JobID that is there
// already is left as it is, and nothing below it is added. When something is
// wrong with a job, or the storage refuses one, the error is a *FlowError, or
// several joined, and nothing is added.
func (c *Client) AddFlows(ctx context.Context, roots ...*Node) ([]*FlowHandle, error) {
	f := newLayout(c, roots)
	added, err := c.addLayout(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("bullmq: add flows: %w", err)
	}
	handles := make([]*FlowHandle, len(added))
	for i, a := range added {
		if a.ID == "" {
			continue // below a job that was there
		}
		handles[i] = &FlowHandle{JobHandle: &JobHandle[json.RawMessage]{ID: a.ID, Queue: f.info[i].node.Queue, Existing: a.Existing, client: c, code: f.info[i].node.code}}
		if p := f.info[i].parent; p >= 0 {
			handles[p].Children = append(handles[p].Children, handles[i])
		}
	}
	return handles[:len(roots)], nil
}

// addFlow adds a tree, and returns the answer for its root.
func (c *Client) addFlow(ctx context.Context, root *Node) (storage.Added, error) {
	added, err := c.addLayout(ctx, newLayout(c, []*Node{root}))
	if err != nil {
		return storage.Added{}, err
	}
	return added[0], nil
}

// addLayout adds a forest, and returns the answers for all of its jobs.
func (c *Client) addLayout(ctx context.Context, f *layout) ([]storage.Added, error) {
	if len(f.info) == 0 {
		return nil, nil
	}
	f.walk()
	if len(c.addMiddleware) == 0 || len(f.problems.list) > 0 {
		return c.storeLayout(ctx, f)
	}
	call := f.call()
	var added []storage.Added
	err := c.intercept(ctx, call, func(ctx context.Context) (err error) {
		for at := range f.info {
			f.info[at].opts = *call.Jobs[at].Options
		}
		added, err = c.storeLayout(ctx, f)
		call.added(added)
		return err
	})
	return added, err
}

// storeLayout makes the jobs of a forest and stores them.
func (c *Client) storeLayout(ctx context.Context, f *layout) ([]storage.Added, error) {
	f.fill()
	if err := f.problems.err(); err != nil {
		return nil, err
	}
	added, err := c.store.AddFlow(ctx, c.now(), f.nodes)
	if err != nil {
		return nil, f.explain(err)
	}
	for queue := range f.queues {
		// Nothing depends on it, and the flow is stored: an error is no reason to
		// say that it is not. The next add says it again.
		if err := c.announce(ctx, queue); err != nil {
			c.log.DebugContext(ctx, "bullmq: announce", "queue", queue, "error", err)
		}
	}
	return added, nil
}
