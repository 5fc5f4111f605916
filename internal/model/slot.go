package model

import (
	"go/token"
	"slices"
)

// Slot is a place for children of a task: a field of the struct that the
// task's children= names.
type Slot struct {
	// Name is what the storage and peers know the slot by.
	Name  string
	Field *Field
	Kind  SlotKind
	// Type is the type that is written for a child, and Task the task of it;
	// both are nil when the field is no slot, which is reported then.
	Type *Type
	Task *Task
	// Queue and Package are those of Task.
	Queue   *Queue
	Package *Package
	// OnFail is what the tag says of children that fail, or "".
	OnFail Policy
	// Pos is that of the field, or of children= when the field cannot be changed.
	Pos token.Position
}

// SlotKind is how many children a slot has.
type SlotKind uint8

// The kinds of slots.
const (
	One      SlotKind = iota // T: exactly one
	Optional                 // *T: one or none
	Many                     // []T: any number, in an order
	Keyed                    // map[string]T: any number, by a key
)

// WordOnFail is what the word of a slot's tag begins with.
const WordOnFail = "onfail="

// Policy is what a job does when one of its children fails for good.
type Policy string

// The policies.
const (
	Wait     Policy = "wait"     // go on waiting; so it does without a word too
	Fail     Policy = "fail"     // fail too
	Continue Policy = "continue" // begin at once
	Ignore   Policy = "ignore"   // count the child as done, and keep why it failed
	Remove   Policy = "remove"   // count the child as done, and keep nothing
)

// Policies are all policies, by their words.
var Policies = []string{string(Fail), string(Continue), string(Ignore), string(Remove), string(Wait)}

// options are what peers call the policies.
var options = map[Policy]string{
	Fail: "failParentOnFailure", Continue: "continueParentOnFailure",
	Ignore: "ignoreDependencyOnFailure", Remove: "removeDependencyOnFailure",
}

// Option is the option of a child that says so, under BullMQ's name; empty: none.
func (p Policy) Option() string { return options[p] }

// PolicyOf is the policy of an option of a child.
func PolicyOf(option string) Policy {
	for p, o := range options {
		if o == option {
			return p
		}
	}
	return Wait
}

// Parent is true when jobs of the task wait for children.
func (t *Task) Parent() bool { return len(t.Slots) > 0 }

// Grows is true when a handler of the task can add children to its own job with
// their types: when none of its slots is full from the beginning, and it waits
// for all that are added.
func (t *Task) Grows() bool {
	return t.Parent() && !t.Early() && !slices.ContainsFunc(t.Slots, func(s *Slot) bool { return s.Kind == One })
}

// Node is true when jobs of the task can be parts of flows, so that there is a
// type for them there. It does not depend on whether some task has a slot for
// them, which a run that does not read its package would not know. A job that may
// give way to an equal one cannot be a child.
func (t *Task) Node() bool {
	return t.Parent() || t.Dedup == nil && !slices.ContainsFunc(t.Keys(), func(k Key) bool { return k.Word.Text == WordDedup })
}

// Early is true when a job of the task may begin before all its children are
// finished.
func (t *Task) Early() bool {
	return slices.ContainsFunc(t.Slots, func(s *Slot) bool { return s.OnFail == Continue })
}

// Outcome is true when a handler of t gets an outcome for each child in the
// slot, since there may be no result of one.
func (t *Task) Outcome(s *Slot) bool {
	return t.Early() || s.OnFail == Ignore || s.OnFail == Remove && s.Kind == One
}

// Silent is true when a handler of t has nothing to learn from a slot: its
// children have no results, and none of them may fail without t.
func (t *Task) Silent(s *Slot) bool { return s.Task.Result == nil && !t.Outcome(s) }
