package bullmq

import (
	"cmp"
	"context"
	"slices"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// FlowTree is a job of a flow with its children, for people to look at.
type FlowTree struct {
	// Queue is the name of the job's queue, with the prefix before it.
	Queue string
	ID    string
	// Name of the job; empty: there is no such job any more.
	Name string
	// State is where the job is; empty in a picture of a flow that is not one
	// of living jobs.
	State State
	// Label is the job's place among its parent's children, such as "pages.3";
	// empty: it has none.
	Label string
	// Kind is what became of the job, as its parent knows it; empty: it is the root.
	Kind ChildKind
	// Reason is why it failed.
	Reason string
	// Record is the job as it is stored, or nil.
	Record *Record
	// Counts counts all of its children.
	Counts DependencyCounts
	// Children are some or all of them, in the order of their slots.
	Children []*FlowTree
	// More is how many children are left out.
	More int
}

const (
	flowDepth = 10 // what a depth of 0 stands for
	flowWidth = 20 // what a width of 0 stands for
)

// Flow reads a job with its descendants: depth levels in all (0: 10), and up to
// width children of each job (0: 20; below 0: all). Each level is read in a
// few calls, one after the other, while jobs may move on.
func (q *Queue) Flow(ctx context.Context, id string, depth, width int) (*FlowTree, error) {
	if depth == 0 {
		depth = flowDepth
	}
	if width == 0 {
		width = flowWidth
	}
	store := q.client.store
	if err := q.client.store.Usable(q.name); err != nil {
		return nil, err
	}
	root := &FlowTree{}
	r := &treeReader{store: store, width: width, seen: map[string]bool{}}
	level := map[string]*FlowTree{jobKeyOf(store, q.name, id): root}
	keys := []string{jobKeyOf(store, q.name, id)}
	for ; depth > 0 && len(keys) > 0; depth-- {
		if depth == 1 {
			r.width = 0
		}
		var err error
		if keys, level, err = r.read(ctx, keys, level); err != nil {
			return nil, err
		}
		if root.Record == nil {
			return nil, &storage.Error{Op: "read flow", Queue: q.name, Job: id, Err: ErrJobNotFound}
		}
	}
	return root, nil
}

type treeReader struct {
	store storage.FlowReader
	width int
	seen  map[string]bool // jobs that name one another as children do not go round
}

// read fills in the jobs of one level, and returns those of the next.
func (r *treeReader) read(ctx context.Context, keys []string, level map[string]*FlowTree) ([]string, map[string]*FlowTree, error) {
	records, err := r.store.ReadFlow(ctx, r.width, keys...)
	if err != nil {
		return nil, nil, err
	}
	var below []string
	next := map[string]*FlowTree{}
	for i, key := range keys {
		t := level[key]
		t.Queue, t.ID = splitKey(key)
		r.seen[key] = true
		rec := records[i]
		if rec == nil {
			t.State = StateUnknown
			continue
		}
		t.Name, t.State, t.Record, t.Counts = rec.Name, rec.State, &rec.Record, rec.Counts
		if t.Reason == "" {
			t.Reason = rec.FailedReason
		}
		for _, c := range rec.Children {
			child := &FlowTree{Kind: c.Kind, Reason: c.Reason, Label: labelOf(c.Key)}
			child.Queue, child.ID = splitKey(c.Key)
			t.Children = append(t.Children, child)
			if !r.seen[c.Key] && next[c.Key] == nil {
				below = append(below, c.Key)
				next[c.Key] = child
			}
		}
		n := rec.Counts
		t.More = max(0, n.Pending+n.Processed+n.Ignored+n.Failed-len(t.Children))
		sortTrees(t.Children)
	}
	return below, next, nil
}

// labelOf is the place that a child's id carries, or empty.
func labelOf(key string) string {
	_, id := splitKey(key)
	slot, at, ok := placeOf(id)
	if !ok {
		return ""
	}
	return slot + "." + at
}

// sortTrees puts children in the order of their slots, and those without one
// last: what a server keeps of them has no order.
func sortTrees(list []*FlowTree) {
	slices.SortFunc(list, func(a, b *FlowTree) int {
		ka, kb := childOf(a), childOf(b)
		return cmp.Or(cmpBool(ka.Slot == "", kb.Slot == ""), compareChildren(ka, kb))
	})
}

func childOf(t *FlowTree) Child {
	slot, at, _ := placeOf(t.ID)
	return Child{Key: t.Queue + ":" + t.ID, Slot: slot, At: at}
}

// cmpBool puts false before true.
func cmpBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
