package model

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/jsjson"
)

// Member is one member of the JSON object that a struct is written as.
type Member struct {
	Name string
	// Path leads from the struct to the field, through embedded structs.
	Path []*Field
	// OmitEmpty and OmitZero leave the member out for some values.
	OmitEmpty, OmitZero bool
	// Quoted writes the value as a string: the option ",string".
	Quoted bool

	tagged bool
	order  []int
}

// Field is the field that holds the member's value.
func (m *Member) Field() *Field { return m.Path[len(m.Path)-1] }

// Optional is true when the JSON object may lack the member: it can be left
// out, or its value can be null, or it sits behind an embedded pointer.
func (m *Member) Optional() bool {
	if m.OmitEmpty || m.OmitZero || m.behindPointer() {
		return true
	}
	switch t := m.Field().Type; t.Actual().Kind {
	case Pointer, Map, Interface, Slice: // json.RawMessage is a slice
		return true
	}
	return false
}

func (m *Member) behindPointer() bool {
	return slices.ContainsFunc(m.Path[:len(m.Path)-1], func(f *Field) bool {
		return f.Type.Actual().Kind == Pointer
	})
}

// Required are the members that the payload of every job of the task has.
func (t *Task) Required() []string { return t.Payload.required() }

// required are the members without which JSON is no payload of the type.
func (t *Type) required() []string {
	actual := t.Actual()
	if actual.Kind != Struct || actual.JSON() || actual.Text() {
		return nil
	}
	var names []string
	members, _ := actual.Members()
	for _, m := range members {
		if !m.Optional() {
			names = append(names, m.Name)
		}
	}
	return names
}

// Members returns what encoding/json writes of a struct, in its order, and the
// groups of fields that it writes none of, because they claim one name with
// equal right.
func (t *Type) Members() (members []*Member, dropped [][]*Member) {
	found := t.candidates()
	names := map[string][]*Member{}
	for _, m := range found {
		names[m.Name] = append(names[m.Name], m)
	}
	for _, group := range names {
		slices.SortStableFunc(group, byRight)
		if len(group) > 1 && sameRight(group[0], group[1]) {
			n := 2
			for n < len(group) && sameRight(group[0], group[n]) {
				n++
			}
			dropped = append(dropped, group[:n])
			continue
		}
		members = append(members, group[0])
	}
	slices.SortFunc(members, func(a, b *Member) int { return slices.Compare(a.order, b.order) })
	slices.SortFunc(dropped, func(a, b []*Member) int { return slices.Compare(a[0].order, b[0].order) })
	return members, dropped
}

// byRight sorts members of one name: a shallower one wins, then a tagged one.
func byRight(a, b *Member) int {
	if c := cmp.Compare(len(a.Path), len(b.Path)); c != 0 || a.tagged == b.tagged {
		return cmp.Or(c, slices.Compare(a.order, b.order))
	}
	if a.tagged {
		return -1
	}
	return 1
}

func sameRight(a, b *Member) bool { return len(a.Path) == len(b.Path) && a.tagged == b.tagged }

// level is an embedded struct to look into, and how one gets there.
type level struct {
	typ   *Type
	path  []*Field
	order []int
}

// candidates walks embedded structs breadth first, as encoding/json does, and
// returns the fields of all depths before one wins over another.
func (t *Type) candidates() []*Member {
	var found []*Member
	visited := map[*Type]bool{}
	next := []level{{typ: t.Actual()}}
	count := map[*Type]int{}
	for len(next) > 0 {
		current, here := next, count
		next, count = nil, map[*Type]int{}
		for _, l := range current {
			if visited[l.typ] {
				continue
			}
			visited[l.typ] = true
			for i, f := range l.typ.Fields {
				m, embedded := f.member(l, i)
				switch {
				case m != nil:
					found = append(found, m)
					if here[l.typ] > 1 { // the type is embedded twice: its fields cancel each other
						again := *m
						found = append(found, &again)
					}
				case embedded != nil:
					if count[embedded]++; count[embedded] == 1 {
						next = append(next, level{embedded, append(slices.Clone(l.path), f), append(slices.Clone(l.order), i)})
					}
				}
			}
		}
	}
	return found
}

// member returns the field as a member, or the struct type whose fields stand
// for it, or neither.
func (f *Field) member(l level, index int) (*Member, *Type) {
	tag := reflect.StructTag(f.Tag).Get("json")
	if tag == "-" || !f.visible() {
		return nil, nil
	}
	name, options, _ := strings.Cut(tag, ",")
	if !jsjson.ValidName(name) {
		name = ""
	}
	target := f.Type.Actual()
	if target.Name == "" && target.Kind == Pointer {
		target = target.Elem.Actual()
	}
	if name == "" && f.Embedded && target.Kind == Struct {
		return nil, target
	}
	m := &Member{
		Name: cmp.Or(name, f.Name), tagged: name != "",
		Path: append(slices.Clone(l.path), f), order: append(slices.Clone(l.order), index),
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			m.OmitEmpty = true
		case "omitzero":
			m.OmitZero = true
		case "string":
			m.Quoted = f.Type.Quotable()
		}
	}
	return m, nil
}

// visible is true for fields that JSON can see: exported ones, and embedded
// structs even when they are not, for their exported fields.
func (f *Field) visible() bool {
	if f.Exported || !f.Embedded {
		return f.Exported
	}
	t := f.Type.Actual()
	if t.Kind == Pointer {
		t = t.Elem.Actual()
	}
	return t.Kind == Struct
}

// Quotable is true for types that the option ",string" works on: scalars, and
// pointers to them.
func (t *Type) Quotable() bool {
	t = t.Actual()
	if t.Name == "" && t.Kind == Pointer {
		t = t.Elem.Actual()
	}
	switch t.Kind {
	case Bool, Int, Float, String:
		return true
	}
	return false
}
