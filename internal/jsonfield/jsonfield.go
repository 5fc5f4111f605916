// Package jsonfield finds the fields of a struct that encoding/json reads and
// writes, for types that the generator has read from source and for those of a
// running program.
package jsonfield

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// Field describes one field of a struct. T identifies a struct type.
type Field[T comparable] struct {
	Name     string
	Tag      reflect.StructTag
	Exported bool
	Embedded bool
	// Pointer is true for an unnamed pointer. What follows then describes the type
	// that it leads to.
	Pointer bool
	// Struct is set if IsStruct is true.
	Struct   T
	IsStruct bool
	// Quotable is true for a scalar, on which the option ",string" has an effect.
	Quotable bool
}

// Member is a field that is a member of the JSON object of a struct.
type Member struct {
	Name string
	// Index leads to the field, through embedded structs.
	Index []int
	// OmitEmpty and OmitZero leave the member out for some values.
	OmitEmpty, OmitZero bool
	// Quoted writes a scalar as a string: the option ",string".
	Quoted bool
	// BehindPointer is true if an embedded struct on the way is a pointer.
	BehindPointer bool

	tagged bool
}

// Members returns the members of a struct in the order in which encoding/json
// writes them, and the groups of fields that it leaves out because they claim
// one name with equal right.
func Members[T comparable](root T, fields func(T) []Field[T]) (members []Member, dropped [][]Member) {
	byName := map[string][]Member{}
	for _, m := range candidates(root, fields) {
		byName[m.Name] = append(byName[m.Name], m)
	}
	for _, group := range byName {
		slices.SortStableFunc(group, byRight)
		n := 1
		for n < len(group) && byRight(group[0], group[n]) == 0 {
			n++
		}
		if n > 1 {
			dropped = append(dropped, group[:n])
		} else {
			members = append(members, group[0])
		}
	}
	slices.SortFunc(members, byPlace)
	slices.SortFunc(dropped, func(a, b []Member) int { return byPlace(a[0], b[0]) })
	return members, dropped
}

func byPlace(a, b Member) int { return slices.Compare(a.Index, b.Index) }

// byRight sorts fields of one name: a shallower one wins, then a tagged one.
func byRight(a, b Member) int {
	if c := cmp.Compare(len(a.Index), len(b.Index)); c != 0 || a.tagged == b.tagged {
		return c
	}
	if a.tagged {
		return -1
	}
	return 1
}

// level is a struct whose fields count as those of the one that embeds it.
type level[T comparable] struct {
	typ           T
	index         []int
	behindPointer bool
}

// candidates walks embedded structs breadth first and returns the fields of all
// depths. A type that is embedded twice at one depth has its fields there twice,
// so that they cancel each other.
func candidates[T comparable](root T, fields func(T) []Field[T]) []Member {
	var found []Member
	visited := map[T]bool{}
	next, count := []level[T]{{typ: root}}, map[T]int{}
	for len(next) > 0 {
		current, here := next, count
		next, count = nil, map[T]int{}
		for _, l := range current {
			if visited[l.typ] {
				continue
			}
			visited[l.typ] = true
			for i, f := range fields(l.typ) {
				m, embedded := l.member(i, f)
				switch {
				case m != nil:
					found = append(found, *m)
					if here[l.typ] > 1 {
						found = append(found, *m)
					}
				case embedded != nil:
					if count[embedded.typ]++; count[embedded.typ] == 1 {
						next = append(next, *embedded)
					}
				}
			}
		}
	}
	return found
}

// member returns the field as a member, or the struct whose fields stand for it,
// or neither.
func (l level[T]) member(i int, f Field[T]) (*Member, *level[T]) {
	tag := f.Tag.Get("json")
	if tag == "-" || !f.Exported && !(f.Embedded && f.IsStruct) {
		return nil, nil
	}
	name, options, _ := strings.Cut(tag, ",")
	if !ValidName(name) {
		name = ""
	}
	index := append(slices.Clone(l.index), i)
	if name == "" && f.Embedded && f.IsStruct {
		return nil, &level[T]{f.Struct, index, l.behindPointer || f.Pointer}
	}
	m := &Member{Name: cmp.Or(name, f.Name), Index: index, BehindPointer: l.behindPointer, tagged: name != ""}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			m.OmitEmpty = true
		case "omitzero":
			m.OmitZero = true
		case "string":
			m.Quoted = f.Quotable
		}
	}
	return m, nil
}

// ValidName reports whether encoding/json takes the name of a json tag in every
// Go version. Up to Go 1.26 it uses the field's name instead of any other.
func ValidName(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return name != ""
}

// Of returns the members of a struct type of the running program.
func Of(t reflect.Type) []Member {
	members, _ := Members(t, fieldsOf)
	return members
}

func fieldsOf(t reflect.Type) []Field[reflect.Type] {
	fields := make([]Field[reflect.Type], t.NumField())
	for i := range fields {
		f := t.Field(i)
		target, pointer := f.Type, false
		if target.Name() == "" && target.Kind() == reflect.Pointer {
			target, pointer = target.Elem(), true
		}
		fields[i] = Field[reflect.Type]{
			Name: f.Name, Tag: f.Tag, Exported: f.IsExported(), Embedded: f.Anonymous, Pointer: pointer,
			Struct: target, IsStruct: target.Kind() == reflect.Struct, Quotable: quotable(target.Kind()),
		}
	}
	return fields
}

func quotable(k reflect.Kind) bool {
	return k == reflect.Bool || k >= reflect.Int && k <= reflect.Float64 || k == reflect.String
}
