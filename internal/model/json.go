package model

import (
	"reflect"

	"github.com/bullmq-gen/bullmq-gen/internal/jsonfield"
)

// Member is one member of the JSON object that a struct is written as.
type Member struct {
	jsonfield.Member
	// Path leads from the struct to the field, through embedded structs.
	Path []*Field
}

// Field is the field that holds the member's value.
func (m *Member) Field() *Field { return m.Path[len(m.Path)-1] }

// Optional is true when the JSON object may lack the member: it can be left
// out, or its value can be null, or it sits behind an embedded pointer.
func (m *Member) Optional() bool {
	return m.OmitEmpty || m.OmitZero || m.BehindPointer || m.Field().Type.CanBeNil()
}

// CanBeNil reports whether values of the type can be nil: a member may be absent
// then, and is null if its type does not write itself.
func (t *Type) CanBeNil() bool {
	switch t.Actual().Kind {
	case Pointer, Map, Interface, Slice: // json.RawMessage is a slice
		return true
	}
	return false
}

// OwnNull reports whether methods of the type alone decide what null is: a tag
// tells it to the generator.
func (t *Type) OwnNull() bool {
	t = t.Actual()
	return t.Kind != Pointer && t.JSON() && !t.Is("encoding/json", "RawMessage") && !t.Is("time", "Time") && !t.Is("math/big", "Int")
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
	found, cancelled := jsonfield.Members(t.Actual(), jsonFields)
	for _, m := range found {
		members = append(members, t.member(m))
	}
	for _, group := range cancelled {
		var fields []*Member
		for _, m := range group {
			fields = append(fields, t.member(m))
		}
		dropped = append(dropped, fields)
	}
	return members, dropped
}

// member is the member with the fields on the way to it.
func (t *Type) member(m jsonfield.Member) *Member {
	out := &Member{Member: m}
	at := t.Actual()
	for _, i := range m.Index {
		f := at.Fields[i]
		out.Path = append(out.Path, f)
		if f.Type != nil {
			at, _ = f.Type.target()
		}
	}
	return out
}

// jsonFields describes the fields of a struct.
func jsonFields(t *Type) []jsonfield.Field[*Type] {
	fields := make([]jsonfield.Field[*Type], len(t.Fields))
	for i, f := range t.Fields {
		fields[i] = jsonfield.Field[*Type]{Name: f.Name, Tag: reflect.StructTag(f.Tag), Exported: f.Exported, Embedded: f.Embedded}
		if f.Type == nil {
			continue // nobody outside sees it
		}
		target, pointer := f.Type.target()
		fields[i].Struct, fields[i].IsStruct, fields[i].Pointer = target, target.Kind == Struct, pointer
		fields[i].Quotable = f.Type.Quotable()
	}
	return fields
}

// target is the type, or what it leads to if it is an unnamed pointer.
func (t *Type) target() (target *Type, pointer bool) {
	t = t.Actual()
	if t.Name == "" && t.Kind == Pointer {
		return t.Elem.Actual(), true
	}
	return t, false
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
	t, _ = t.target()
	switch t.Kind {
	case Bool, Int, Float, String:
		return true
	}
	return false
}
