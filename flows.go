package bullmqgen

import (
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/manifest"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// Flows are the flows that the tasks of the run's outputs declare, to be drawn:
// one for each task that waits for children and is no child itself, sorted by
// queue and name.
func (r *Result) Flows() (bullmq.FlowTrees, error) {
	documents, err := r.documents()
	if err != nil {
		return nil, err
	}
	g := flowGraph{}
	children := map[taskName]bool{}
	for _, d := range documents {
		for _, p := range d.Packages {
			for _, q := range p.Queues {
				for _, t := range q.Tasks {
					g[taskName{q.Name, t.Name}] = t
					for _, s := range t.Children {
						children[taskName{s.Queue, s.Task}] = true
					}
				}
			}
		}
	}
	var flows bullmq.FlowTrees
	for name, t := range g {
		if len(t.Children) > 0 && !children[name] {
			flows = append(flows, g.tree(name, ""))
		}
	}
	slices.SortFunc(flows, func(a, b *bullmq.FlowTree) int { return strings.Compare(a.Queue+"/"+a.Name, b.Queue+"/"+b.Name) })
	return flows, nil
}

// taskName is a task by its queue and its name there.
type taskName struct{ queue, name string }

// flowGraph are all tasks, of which none is a child of itself at any depth.
type flowGraph map[taskName]*manifest.Task

// tree is a task with those that it waits for. What the manifest says of
// packages that this run did not look at may be old: tasks may be gone from it,
// or lead back to one above.
func (g flowGraph) tree(name taskName, label string, above ...taskName) *bullmq.FlowTree {
	t := &bullmq.FlowTree{Queue: name.queue, Name: name.name, Label: label}
	if g[name] == nil || slices.Contains(above, name) {
		return t
	}
	above = append(slices.Clone(above), name)
	for _, s := range g[name].Children {
		t.Children = append(t.Children, g.tree(taskName{s.Queue, s.Task}, s.Label(), above...))
	}
	return t
}
