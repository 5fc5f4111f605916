package check

import (
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// flow checks what a task with slots says of its own jobs, and of those in
// the slots.
func flow(t *model.Task, l *diag.List) {
	if !t.Parent() {
		return
	}
	scheduledParent(t, l)
	if t.Dedup != nil || tagged(t, model.WordDedup) != nil {
		pos := t.ChildrenPos
		if t.Dedup != nil {
			pos = t.Dedup.At()
		} else if key := tagged(t, model.WordDedup); key.Field().Source {
			pos = key.Word.Pos
		}
		l.Errorf(pos, "jobs of %s have children, which would be left without it if it yielded to an equal job: remove dedup; a field with the tag %q adds a flow once", t.GoName, model.WordJobID)
	}
	first := map[*model.Task]*model.Slot{}
	for _, s := range t.Slots {
		if s.Task.Dedup != nil || tagged(s.Task, model.WordDedup) != nil {
			l.Errorf(s.Pos, "slot %s is for jobs of %s, which may yield to an equal job by its dedup, and their parent would wait for ever: remove dedup from %s, at %v", s.Field.Name, s.Task.GoName, s.Task.GoName, s.Task.TypePos)
		}
		if other := first[s.Task]; other != nil && tagged(s.Task, model.WordJobID) != nil {
			l.Errorf(s.Pos, "slots %s and %s are both for jobs of %s, which have ids of their own by the tag %q, so that their results could not be told apart: make one slot of them", other.Field.Name, s.Field.Name, s.Task.GoName, model.WordJobID)
		}
		first[s.Task] = s
	}
}

// scheduledParent reports a task with a schedule, whose jobs have no children,
// and a slot that must not be empty.
func scheduledParent(t *model.Task, l *diag.List) {
	i := slices.IndexFunc(t.Slots, func(s *model.Slot) bool { return s.Kind == model.One })
	if len(t.Schedules) == 0 || i < 0 {
		return
	}
	f := t.Slots[i].Field
	l.Errorf(t.Schedules[0].At(), "a schedule adds jobs without children, and slot %s of %s must have one: make it *%s, or schedule a task whose handler adds the flow", f.Name, t.GoName, t.Slots[i].Task.GoName)
}

// tagged is the first field of the payload with the word, or nil.
func tagged(t *model.Task, word string) *model.Key {
	keys := t.Keys()
	if i := slices.IndexFunc(keys, func(k model.Key) bool { return k.Word.Text == word }); i >= 0 {
		return &keys[i]
	}
	return nil
}

// cycles reports tasks whose jobs would wait for jobs of their own kind.
func cycles(packages []*model.Package, l *diag.List) {
	c := &cycleFinder{l: l, done: map[*model.Task]bool{}}
	for _, p := range packages {
		for _, t := range p.Tasks {
			c.visit(t)
		}
	}
}

type cycleFinder struct {
	l    *diag.List
	done map[*model.Task]bool
	path []*model.Task // from where the search began to here
}

func (c *cycleFinder) visit(t *model.Task) {
	if c.done[t] {
		return
	}
	c.path = append(c.path, t)
	for _, s := range t.Slots {
		if at := slices.Index(c.path, s.Task); at >= 0 {
			c.report(c.path[at:], s)
			continue
		}
		c.visit(s.Task)
	}
	c.path = c.path[:len(c.path)-1]
	c.done[t] = true
}

// report reports a way from a task to itself, by the slot that closes it.
func (c *cycleFinder) report(path []*model.Task, s *model.Slot) {
	names := make([]string, 0, len(path)+1)
	for _, t := range append(slices.Clone(path), s.Task) {
		names = append(names, t.GoName)
	}
	c.l.Errorf(s.Pos, "a job of %s would wait for another one of %s (%s), and so on without end: take slot %s out; a handler can add such children itself, with bullmq.ChildOf",
		s.Task.GoName, s.Task.GoName, strings.Join(names, " -> "), s.Field.Name)
}
