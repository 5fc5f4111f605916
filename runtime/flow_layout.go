package bullmq

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// maxFlow is how many jobs a flow has at most. A node that contains itself
// never ends, and is found by it.
const maxFlow = 100_000

// layout is a forest of nodes as the storage takes it: level by level, parents
// before their children.
type layout struct {
	c        *Client
	now      time.Time
	nodes    []storage.FlowNode
	info     []laidNode
	queues   map[string]bool // with the storage's own prefix
	problems problems
	newID    func(at int) string
	once     bool // nothing is added below a root that is there already
}

// laidNode is what errors say of a node.
type laidNode struct {
	node   *Node
	parent int // place of the parent; -1: a root
	index  int // among its parent's children
	opts   Options
}

func newLayout(c *Client, roots []*Node) *layout {
	f := &layout{c: c, now: c.now(), queues: map[string]bool{}, newID: func(int) string { return uuid.NewString() }}
	for i, n := range roots {
		f.list(n, -1, i)
	}
	return f
}

// list adds a node to the layout, with options that are its own.
func (f *layout) list(n *Node, parent, index int) {
	in := laidNode{node: n, parent: parent, index: index}
	if n != nil {
		in.opts = n.Opts
	}
	f.info = append(f.info, in)
}

// walk lists the descendants of the nodes that are listed, level by level.
func (f *layout) walk() {
	for at := 0; at < len(f.info); at++ {
		n := f.info[at].node
		if n == nil {
			f.problems.list = append(f.problems.list, f.wrap(at, errors.New("there is no node")))
			continue
		}
		if len(f.info)+len(n.Children) > maxFlow {
			f.problems.add("a flow has at most %d jobs: does a node contain itself? Add more from the handler of their parent", maxFlow)
			return
		}
		for i, child := range n.Children {
			f.list(child, at, i)
		}
	}
}

// fill makes the jobs of all nodes that are listed.
func (f *layout) fill() {
	for at := range f.info {
		if f.info[at].node == nil {
			f.nodes = append(f.nodes, storage.FlowNode{})
			continue
		}
		f.add(at)
	}
}

func (f *layout) add(at int) {
	n, parent := f.info[at].node, f.info[at].parent
	o := f.info[at].opts
	if parent >= 0 {
		p := f.info[parent].node
		if o.Parent != nil {
			f.problems.list = append(f.problems.list, f.wrap(at, errors.New("a child within a flow has its parent there: leave ChildOf out")))
		}
		o.Parent = &Parent{Queue: p.Queue, Prefix: p.Prefix, ID: f.nodes[parent].ID, OnFail: o.onFail}
	}
	job, err := f.c.newJob(n.Name, n.Data, &o, f.now)
	if err == nil {
		err = n.check()
	}
	if err = errors.Join(n.err, err); err != nil {
		f.problems.list = append(f.problems.list, f.wrap(at, err))
	}
	switch {
	case job.ID == "":
		job.ID = n.placed(f.newID(at))
	case n.spec != nil:
		job.Names = slices.Collect(n.spec.names)
	}
	if n.Prefix == "" {
		f.queues[n.Queue] = true
	}
	f.nodes = append(f.nodes, storage.FlowNode{
		Queue: f.c.qualify(n.Prefix, n.Queue), NewJob: job, Once: parent < 0 && (f.once || o.JobID != ""),
	})
}

// call returns the flow as middleware sees it.
func (f *layout) call() *AddCall {
	call := &AddCall{Kind: AddFlow, Jobs: make([]*AddedJob, len(f.info))}
	for at := range f.info {
		in := &f.info[at]
		o := in.opts
		job := &AddedJob{Queue: in.node.Queue, Name: in.node.Name, Payload: in.node.payload, Options: &o, Parent: in.parent}
		if job.Payload == nil {
			job.Payload = &in.node.Data
		}
		call.Jobs[at] = job
	}
	return call
}

// placed is a job's id with its place in a slot before it, if it has one.
func (n *Node) placed(id string) string {
	if n.place == "" {
		return id
	}
	return n.place + "." + id
}

// check finds what is wrong with a node beside its options.
func (n *Node) check() error {
	var p problems
	if n.err == nil { // else its names may be missing because of that
		p.queueName(n.Queue)
		p.jobName("name", n.Name)
		if !json.Valid(n.Data) {
			p.add("its payload is not JSON: encode it with json.Marshal")
		}
	}
	checkOnFail(n.Opts.onFail, &p)
	if n.Opts.Dedup != nil && len(n.Children) > 0 {
		p.add("a job that waits for children cannot be deduplicated")
	}
	return p.err()
}

// qualify is the name by which jobs refer to a queue; an empty prefix is the
// storage's.
func (c *Client) qualify(prefix, queue string) string {
	if prefix == "" {
		return c.store.Qualify(queue)
	}
	return prefix + ":" + queue
}

// path leads from the root to a node.
func (f *layout) path(at int) string {
	in := f.info[at]
	if in.parent < 0 {
		switch {
		case in.node != nil && in.node.Name != "":
			return in.node.Name
		default:
			return fmt.Sprintf("root %d", in.index+1)
		}
	}
	label := fmt.Sprintf("children[%d]", in.index)
	if in.node != nil && in.node.label != "" {
		label = in.node.label
	}
	return f.path(in.parent) + "." + label
}

// wrap is an error with the node that it is about.
func (f *layout) wrap(at int, err error) error {
	e := &FlowError{Path: f.path(at), Err: err}
	if n := f.info[at].node; n != nil {
		e.Queue, e.Name = n.Queue, n.Name
	}
	if at < len(f.nodes) {
		e.ID = f.nodes[at].ID
	}
	return e
}

// explain puts the path of a refused job before the storage's error.
func (f *layout) explain(err error) error {
	var refused *storage.FlowError
	if !errors.As(err, &refused) || refused.Node < 0 || refused.Node >= len(f.info) {
		return err
	}
	cause := refused.Err
	var inner *storage.Error
	if errors.As(cause, &inner) {
		cause = inner.Err // queue and id are said before it
	}
	return f.wrap(refused.Node, cause)
}
