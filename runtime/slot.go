package bullmq

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// SlotSpec declares a place for children: what a task waits for, under a name
// by which its handler reads the results.
type SlotSpec struct {
	// Name of the slot: letters, digits, "_" and "-", first a letter or "_".
	Name string
	// Kind is how many children there are; the zero value: exactly one.
	Kind SlotKind
	// Queue and Job are the queue of the children's task, and its name. By them
	// a child finds its slot that was added by a program that knows no slots.
	Queue, Job string
	// Aliases are earlier names of the children's task.
	Aliases []string
	// Codec is that of the children's task, see Spec.Codec. Nil: none.
	Codec func() Codec
	// OnFail is what the job does when a child of the slot fails permanently.
	OnFail OnFail

	code *coder // made of Codec
}

// withCoders are the slots of a task, with what decodes the results in them.
func withCoders(specs []SlotSpec) []SlotSpec {
	specs = slices.Clone(specs)
	for i := range specs {
		specs[i].code = newCoder(specs[i].Codec)
	}
	return specs
}

// SlotKind is how many children a slot has.
type SlotKind int

// The kinds of slot.
const (
	SlotOne      SlotKind = iota // exactly one
	SlotOptional                 // one or none
	SlotMany                     // any number, in an order
	SlotKeyed                    // any number, each under a key of its own
)

// Slot is a place for children with the jobs to be added in it.
type Slot struct {
	name  string
	kind  SlotKind
	nodes []*Node
	keys  []string // of a keyed slot, as the nodes
}

// AnyNode is a *Node, or a struct in which one is embedded.
type AnyNode interface{ node() *Node }

// OneChild is a slot with exactly one child.
func OneChild[N AnyNode](name string, n N) Slot {
	return Slot{name: name, kind: SlotOne, nodes: []*Node{n.node()}}
}

// OptionalChild is a slot with one child, or with none if n is nil.
func OptionalChild[N AnyNode](name string, n *N) Slot {
	s := Slot{name: name, kind: SlotOptional}
	if n != nil {
		s.nodes = []*Node{(*n).node()}
	}
	return s
}

// ManyChildren is a slot with any number of children. Their results keep the order.
func ManyChildren[N AnyNode](name string, ns []N) Slot {
	s := Slot{name: name, kind: SlotMany}
	for _, n := range ns {
		s.nodes = append(s.nodes, n.node())
	}
	return s
}

// KeyedChildren is a slot with any number of children, each under a key.
func KeyedChildren[N AnyNode](name string, ns map[string]N) Slot {
	s := Slot{name: name, kind: SlotKeyed}
	for key := range ns {
		s.keys = append(s.keys, key)
	}
	slices.Sort(s.keys)
	for _, key := range s.keys {
		s.nodes = append(s.nodes, ns[key].node())
	}
	return s
}

// place is the child's place in its slot, as its id carries it.
func (s *Slot) place(i int) string {
	if s.kind == SlotKeyed {
		return s.name + "." + url.QueryEscape(s.keys[i])
	}
	return s.name + "." + strconv.Itoa(i)
}

// label is the child's place as errors show it.
func (s *Slot) label(i int) string {
	switch s.kind {
	case SlotMany:
		return s.name + "[" + strconv.Itoa(i) + "]"
	case SlotKeyed:
		return fmt.Sprintf("%s[%q]", s.name, s.keys[i])
	}
	return s.name
}

var slotName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// check adds what is wrong with a declaration of slots.
func checkSlots(specs []SlotSpec, p *problems) {
	seen := map[string]bool{}
	for _, s := range specs {
		if !slotName.MatchString(s.Name) {
			p.add("slot name %q: use letters, digits, _ and -, and begin with a letter or _", s.Name)
		}
		if seen[s.Name] {
			p.add("two slots are named %q", s.Name)
		}
		seen[s.Name] = true
		if s.Kind < SlotOne || s.Kind > SlotKeyed {
			p.add("slot %q: there is no kind %d", s.Name, s.Kind)
		}
		if s.Queue == "" || s.Job == "" {
			p.add("slot %q needs the queue of its children, and the name of their task", s.Name)
		}
		checkOnFail(s.OnFail, p)
	}
}

func checkOnFail(policy OnFail, p *problems) {
	switch policy {
	case OnFailWait, OnFailFail, OnFailContinue, OnFailIgnore, OnFailRemove:
	default:
		p.add("there is no policy %q for children that fail: use one of the OnFail constants", policy)
	}
}

func findSlot(specs []SlotSpec, name string) *SlotSpec {
	for i := range specs {
		if specs[i].Name == name {
			return &specs[i]
		}
	}
	return nil
}

// fill makes the children of a job out of slots, each with its place, and adds
// what is wrong with them. Declared are the slots of the job's task; a task
// that declares none takes any.
func fill(declared []SlotSpec, slots []Slot, p *problems) []*Node {
	var children []*Node
	given := map[string]bool{}
	for i := range slots {
		s := &slots[i]
		spec := s.declaration(declared, p)
		if given[s.name] {
			p.add("slot %q is given twice", s.name)
			continue
		}
		given[s.name] = true
		for k, n := range s.nodes {
			if n == nil {
				p.add("%w: slot %q has no child at %s", ErrIncompleteFlow, s.name, s.label(k))
				continue
			}
			child := *n // a node may stand in more than one place
			child.place, child.label = s.place(k), s.label(k)
			if spec != nil {
				spec.admit(&child, declared, p)
			}
			children = append(children, &child)
		}
	}
	return children
}

// complete adds the slots with exactly one child that are missing.
func complete(declared []SlotSpec, slots []Slot, p *problems) {
	for _, s := range declared {
		if s.Kind == SlotOne && !slices.ContainsFunc(slots, func(g Slot) bool { return g.name == s.Name }) {
			p.add("%w: slot %q is missing", ErrIncompleteFlow, s.Name)
		}
	}
}

// declaration finds the slot among those that are declared.
func (s *Slot) declaration(declared []SlotSpec, p *problems) *SlotSpec {
	if !slotName.MatchString(s.name) {
		p.add("slot name %q: use letters, digits, _ and -, and begin with a letter or _", s.name)
	}
	if len(declared) == 0 {
		return nil
	}
	spec := findSlot(declared, s.name)
	switch {
	case spec == nil:
		p.add("the task declares no slot %q", s.name)
	case spec.Kind != s.kind:
		p.add("slot %q is declared as %s and given as %s", s.name, spec.Kind, s.kind)
	}
	return spec
}

// admit gives a child the policy of its slot, and refuses one of another task.
func (s *SlotSpec) admit(n *Node, declared []SlotSpec, p *problems) {
	if n.Queue != s.Queue || n.Name != s.Job {
		p.add("slot %q is for %s/%s, not for %s/%s", s.Name, s.Queue, s.Job, n.Queue, n.Name)
	}
	if n.Opts.JobID != "" && twin(declared, s) != nil {
		p.add("slots %q and %q are for the same task, whose jobs have ids of their own: their results could not be told apart", s.Name, twin(declared, s).Name)
	}
	switch n.Opts.onFail {
	case s.OnFail, OnFailFail: // a parent that fails has nothing to read
	case OnFailWait:
		n.Opts.onFail = s.OnFail
	default:
		p.add("slot %q has a policy of its own for children that fail: leave WhenFails out", s.Name)
	}
}

// twin finds another slot for the same task.
func twin(declared []SlotSpec, s *SlotSpec) *SlotSpec {
	for i := range declared {
		if d := &declared[i]; d.Name != s.Name && d.Queue == s.Queue && d.Job == s.Job {
			return d
		}
	}
	return nil
}

func (k SlotKind) String() string {
	switch k {
	case SlotOne:
		return "exactly one child"
	case SlotOptional:
		return "an optional child"
	case SlotMany:
		return "any number of children"
	case SlotKeyed:
		return "children by key"
	}
	return fmt.Sprintf("kind %d", int(k))
}

// placeOf reads the place that a child's id carries: "<slot>.<index or
// key>.<uuid>". The third answer is false for ids of another form.
func placeOf(id string) (slot, at string, ok bool) {
	slot, rest, ok := strings.Cut(id, ".")
	end := strings.LastIndexByte(rest, '.')
	if !ok || end < 0 || !slotName.MatchString(slot) {
		return "", "", false
	}
	if err := uuid.Validate(rest[end+1:]); err != nil || len(rest[end+1:]) != 36 {
		return "", "", false
	}
	at, err := url.QueryUnescape(rest[:end])
	return slot, at, err == nil
}
