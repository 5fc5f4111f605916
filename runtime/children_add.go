package bullmq

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
)

// AddChildren adds children to the running job, in slots of its
// task, all or none. It is a step of the handler (see Step): under one name they
// are added once, however often the job runs. The handler then reads their
// results, which makes the job wait for those that are not finished, and runs
// again when they are:
//
//	if err := job.AddChildren(ctx, "split", bullmq.ManyChildren("pages", nodes)); err != nil {
//		return Report{}, err
//	}
//	pages, err := bullmq.Results[Page](ctx, job, "pages")
//	if err != nil {
//		return Report{}, err
//	}
//
// The slots need not be all that the task declares. Children may also be added
// one by one, with ChildOf(job.AsParent(...)).
func (j *ActiveJob) AddChildren(ctx context.Context, step string, slots ...Slot) error {
	return Do(ctx, j, step, func(ctx context.Context) error { return j.addChildren(ctx, step, slots) })
}

// AddChildrenTo is AddChildren and then the results of all of the job's children,
// as read reads them. While some are not finished it returns an error with which
// the handler makes its job wait for them.
func AddChildrenTo[P, C any](ctx context.Context, job *Job[P], step string, children []Slot, read func(*ChildSet) (C, error)) (C, error) {
	var none C
	if err := job.AddChildren(ctx, step, children...); err != nil {
		return none, err
	}
	all, err := job.Children(ctx)
	if err != nil {
		return none, err
	}
	in, err := read(all)
	if err != nil {
		return none, err
	}
	return in, nil
}

func (j *ActiveJob) addChildren(ctx context.Context, step string, slots []Slot) error {
	var p problems
	nodes := fill(j.slots, slots, &p)
	if err := p.wrap("add children to job %q", j.ID); err != nil || len(nodes) == 0 {
		return err
	}
	return j.insist(ctx, outage.AddChildren, false, func(ctx context.Context) error { return j.addNodes(ctx, step, slices.Clone(nodes)) })
}

// addNodes adds those of the nodes that are not there. It can be called again.
func (j *ActiveJob) addNodes(ctx context.Context, step string, nodes []*Node) error {
	known, err := j.knownChildren(ctx)
	if err != nil {
		return err
	}
	c := j.worker.client
	// The same ids at each try: if a worker vanishes before the step is kept, the
	// next one finds the children that are there already.
	self := jobKeyOf(c.store, j.Queue, j.ID) + "\x00" + step + "\x00"
	id := func(trail string) string { return uuid.NewSHA1(uuid.NameSpaceURL, []byte(self+trail)).String() }
	nodes = slices.DeleteFunc(nodes, func(n *Node) bool {
		return known[c.qualify(n.Prefix, n.Queue)+":"+cmp.Or(n.Opts.JobID, n.placed(id(n.place)))]
	})
	for _, n := range nodes {
		parent := j.AsParent(n.Opts.onFail)
		n.Opts.Parent = &parent
	}
	f := newLayout(c, nodes)
	f.once, f.newID = true, func(at int) string { return id(f.trail(at)) }
	if _, err := c.addLayout(ctx, f); err != nil {
		return fmt.Errorf("bullmq: add children to job %q: %w", j.ID, err)
	}
	return nil
}

// knownChildren are the keys of children that the job has by now. One that is
// done may itself be gone: it is not to be added again.
func (j *ActiveJob) knownChildren(ctx context.Context) (map[string]bool, error) {
	c := j.worker.client
	list, err := readChildren(ctx, c.store, jobKeyOf(c.store, j.Queue, j.ID))
	known := make(map[string]bool, len(list))
	for i := range list {
		known[list[i].Key] = true
	}
	return known, err
}

// trail leads from the root to a node, and is the same each time the flow is
// laid out.
func (f *layout) trail(at int) string {
	in := f.info[at]
	step := strconv.Itoa(in.index)
	if in.node != nil && in.node.place != "" {
		step = in.node.place
	}
	if in.parent < 0 {
		return step
	}
	return f.trail(in.parent) + "\x00" + step
}
