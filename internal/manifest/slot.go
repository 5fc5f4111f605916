package manifest

import (
	"slices"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// Slot is a place for children of a task's jobs, which wait for them.
type Slot struct {
	Name string `json:"name"`
	// Kind is how many children there are: "one", "optional" (one or none),
	// "many", or "keyed" (any number, each under a key).
	Kind string `json:"kind"`
	// Queue and Task are those of the children.
	Queue string `json:"queue"`
	Task  string `json:"task"`
	// OnFail is the option that children have, of those that say what the job
	// does when one fails; empty: none, and the job goes on waiting.
	OnFail string `json:"onFail,omitempty"`
}

var slotKinds = map[model.SlotKind]string{model.One: "one", model.Optional: "optional", model.Many: "many", model.Keyed: "keyed"}

// slots are those of a task, in the order of their declaration.
func slots(t *model.Task) []*Slot {
	var out []*Slot
	for _, s := range t.Slots {
		out = append(out, &Slot{Name: s.Name, Kind: slotKinds[s.Kind], Queue: s.Queue.Name, Task: s.Task.Name, OnFail: s.OnFail.Option()})
	}
	return out
}

// Label is the slot as people read it: "pages[]", "logo, may fail".
func (s *Slot) Label() string {
	label := s.Name + map[string]string{"optional": "?", "many": "[]", "keyed": "{}"}[s.Kind]
	switch model.PolicyOf(s.OnFail) {
	case model.Ignore, model.Remove:
		label += ", may fail"
	case model.Continue:
		label += ", ends the wait when it fails"
	case model.Fail:
	default:
		label += ", holds the job up when it fails"
	}
	return label
}

func (t *Task) slot(name string) *Slot {
	if i := slices.IndexFunc(t.Children, func(s *Slot) bool { return s.Name == name }); i >= 0 {
		return t.Children[i]
	}
	return nil
}

// slots compares what two versions of a task wait for. Jobs that wait already
// have the children of the old version, and the new handler reads their results.
func (c *comparison) slots(queue string, was, now *Task) {
	for _, s := range was.Children {
		is := now.slot(s.Name)
		if is == nil {
			c.add(Breaking, queue, was.Name, "the slot %s is gone, and what children of jobs that are in the queues return would be ignored: keep it, %s", s.Name, renaming)
			continue
		}
		if s.Kind != is.Kind && !widens(s.Kind, is.Kind) {
			c.add(Breaking, queue, was.Name, "the slot %s had %s and has %s now, and jobs that are in the queues have children of the old kind: keep it and add another one, %s", s.Name, howMany[s.Kind], howMany[is.Kind], renaming)
		} else if s.Kind != is.Kind {
			c.add(Safe, queue, was.Name, "the slot %s has %s now: deploy workers before producers", s.Name, howMany[is.Kind])
		}
		if !c.sameChildren(s, is) {
			c.add(Breaking, queue, was.Name, "the slot %s is for %s/%s now, and jobs that are in the queues have children of %s/%s there: keep it and add another one, %s", s.Name, is.Queue, is.Task, s.Queue, s.Task, renaming)
		}
		if s.OnFail != is.OnFail {
			c.add(Safe, queue, was.Name, "what happens when a child in slot %s fails has changed for new jobs", s.Name)
		}
	}
	for _, s := range now.Children {
		switch {
		case was.slot(s.Name) != nil:
		case s.Kind == slotKinds[model.One]:
			c.add(Breaking, queue, was.Name, "the slot %s is new, and jobs that are in the queues have no child there: make it a pointer or a slice, %s", s.Name, renaming)
		default:
			c.add(Safe, queue, was.Name, "the slot %s is new: deploy workers before producers", s.Name)
		}
	}
}

// howMany are the kinds in words.
var howMany = map[string]string{"one": "exactly one child", "optional": "at most one child", "many": "any number of children", "keyed": "children by key"}

// widens is true when the children of a slot of the old kind can be read from one
// of the new kind.
func widens(old, now string) bool {
	switch now {
	case "optional":
		return old == "one"
	case "many":
		return old != "keyed"
	}
	return false
}

// sameChildren is true when two versions of a slot are for the same task, or
// for one that took its name over.
func (c *comparison) sameChildren(old, now *Slot) bool {
	if old.Queue != now.Queue {
		return false
	}
	if old.Task == now.Task {
		return true
	}
	heir, _ := c.now[now.Queue].heir(old.Task)
	return heir != nil && heir.Name == now.Task
}
