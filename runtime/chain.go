package bullmq

import (
	"context"
	"errors"
	"fmt"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Chain is a job and all that runs before it, each handing its result to the
// next. It is a flow: a job waits for the one before it, which is its child.
// When one of them fails, so do all after it.
//
//	pages := bullmq.Each(renderPage, []Page{{1}, {2}, {3}})     // three jobs, side by side
//	book := bullmq.ThenAll(pages, bind, Binding{Cover: "blue"}) // whose handler gets a []Rendered
//	sent := bullmq.Then(book, send, Letter{To: "ann"})          // whose handler gets a Book
//	h, err := sent.Add(ctx, client)
type Chain[R any] struct{ last *Node }

// beforeSlot holds what runs before a job of a chain.
const beforeSlot = "before"

// Begin is a chain of one job.
func Begin[P, R any](t *Task[P, R], p P, opts ...NodeOption) Chain[R] {
	return Chain[R]{t.Node(p, opts...)}
}

// Each is a chain of one job for each payload: what ThenAll joins.
func Each[P, R any](t *Task[P, R], ps []P, opts ...NodeOption) []Chain[R] {
	chains := make([]Chain[R], len(ps))
	for i, p := range ps {
		chains[i] = Begin(t, p, opts...)
	}
	return chains
}

// Then is a chain with one more job, which runs when the others are done and
// gets the result of the last. Results are decoded with the codec of the job
// that gets them: tasks that hand results on have one codec, or none.
func Then[A, P, R any](c Chain[A], t *ChainTask[A, P, R], p P, opts ...NodeOption) Chain[R] {
	n := t.NodeWith(p, []Slot{OneChild(beforeSlot, c.link())}, opts...)
	n.reads(c.last)
	return Chain[R]{n}
}

// ThenAll joins chains by a job, which runs when all of them are done and gets
// their results in their order.
func ThenAll[A, P, R any](cs []Chain[A], t *JoinTask[A, P, R], p P, opts ...NodeOption) Chain[R] {
	nodes := make([]*Node, len(cs))
	for i, c := range cs {
		nodes[i] = c.link()
	}
	n := t.NodeWith(p, []Slot{ManyChildren(beforeSlot, nodes)}, opts...)
	for _, c := range cs {
		n.reads(c.last)
	}
	return Chain[R]{n}
}

// reads notes that the results of a job that runs before cannot be read.
func (n *Node) reads(before *Node) {
	if before != nil && before.code != nil && n.code == nil {
		n.err = errors.Join(n.err, fmt.Errorf("it gets the result of %s/%s, whose task has a codec: give its own task the same one", before.Queue, before.Name))
	}
}

// link is the chain's last job as one that another waits for.
func (c Chain[R]) link() *Node {
	if c.last == nil {
		return nil
	}
	n := *c.last
	if n.Opts.onFail == OnFailWait {
		n.Opts.onFail = OnFailFail
	}
	return &n
}

// Add adds all jobs of the chain in one step, and returns a handle of the last.
// The options are those of the last job.
func (c Chain[R]) Add(ctx context.Context, client *Client, opts ...AddOption) (*JobHandle[R], error) {
	if client == nil {
		return nil, errNoClient
	}
	if c.last == nil {
		return nil, storage.Invalid("bullmq: add a chain: it has no jobs: make one with Begin")
	}
	root := *c.last
	for _, o := range opts {
		o.applyAdd(&root.Opts)
	}
	added, err := client.addFlow(ctx, &root)
	if err != nil {
		return nil, fmt.Errorf("bullmq: add a chain: %w", err)
	}
	if err := root.spec.owns(added.ID, added.Name); err != nil {
		return nil, fmt.Errorf("bullmq: add a chain: nothing was added: %w", err)
	}
	return &JobHandle[R]{ID: added.ID, Queue: root.Queue, Existing: added.Existing, client: client, code: root.code}, nil
}

// ChainTask is a task whose handler gets, beside its payload, the result of the
// job that ran before it.
type ChainTask[A, P, R any] struct{ *Task[P, R] }

// NewChainTask declares a task that runs after a job with a result of type A,
// see Then. It has no other children: the Slots of the Spec are not used.
func NewChainTask[A, P, R any](s Spec, keys func(*P) PayloadOptions) *ChainTask[A, P, R] {
	s.Slots = nil
	return &ChainTask[A, P, R]{NewTask[P, R](s, keys)}
}

// Handle makes w run the task's jobs with h.
func (t *ChainTask[A, P, R]) Handle(w *Worker, h func(context.Context, *Job[P], A) (R, error)) {
	HandleFlow(t.Task, w, func(c *ChildSet) (a A, err error) {
		err = ReadOne(c, beforeSlot, &a)
		return a, err
	}, h)
}

// JoinTask is a task whose handler gets, beside its payload, the results of any
// number of jobs that ran before it.
type JoinTask[A, P, R any] struct{ *Task[P, R] }

// NewJoinTask declares a task that runs after jobs with results of type A, see
// ThenAll. It has no other children: the Slots of the Spec are not used.
func NewJoinTask[A, P, R any](s Spec, keys func(*P) PayloadOptions) *JoinTask[A, P, R] {
	s.Slots = nil
	return &JoinTask[A, P, R]{NewTask[P, R](s, keys)}
}

// Handle makes w run the task's jobs with h.
func (t *JoinTask[A, P, R]) Handle(w *Worker, h func(context.Context, *Job[P], []A) (R, error)) {
	HandleFlow(t.Task, w, func(c *ChildSet) (as []A, err error) {
		err = ReadMany(c, beforeSlot, &as)
		return as, err
	}, h)
}
