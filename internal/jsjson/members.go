package jsjson

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// Member is a member of the JSON object that a struct is encoded as.
type Member struct {
	Name string
	// Index leads to the field, through embedded structs.
	Index []int
	Type  reflect.Type
	// OmitEmpty and OmitZero leave the member out for some values.
	OmitEmpty, OmitZero bool
	// Quoted encodes a scalar as a string: the option ",string".
	Quoted bool

	tagged bool
}

// Members returns what encoding/json encodes of a struct, in its order. Fields
// that claim one name with equal right are left out.
func Members(t reflect.Type) []*Member {
	byName := map[string][]*Member{}
	for _, m := range candidates(t) {
		byName[m.Name] = append(byName[m.Name], m)
	}
	var members []*Member
	for _, group := range byName {
		slices.SortStableFunc(group, byRight)
		if len(group) == 1 || byRight(group[0], group[1]) != 0 {
			members = append(members, group[0])
		}
	}
	slices.SortFunc(members, func(a, b *Member) int { return slices.Compare(a.Index, b.Index) })
	return members
}

// byRight sorts fields of one name: a shallower one wins, then a tagged one.
func byRight(a, b *Member) int {
	if c := cmp.Compare(len(a.Index), len(b.Index)); c != 0 || a.tagged == b.tagged {
		return c
	}
	if a.tagged {
		return -1
	}
	return 1
}

// level is an embedded struct to look into.
type level struct {
	typ   reflect.Type
	index []int
}

// candidates walks embedded structs breadth first and returns the fields of all
// depths. Those of a type that is embedded twice at one depth are there twice,
// so that they cancel each other.
func candidates(t reflect.Type) []*Member {
	var found []*Member
	visited := map[reflect.Type]bool{}
	next, count := []level{{typ: t}}, map[reflect.Type]int{}
	for len(next) > 0 {
		current, here := next, count
		next, count = nil, map[reflect.Type]int{}
		for _, l := range current {
			if visited[l.typ] {
				continue
			}
			visited[l.typ] = true
			for i := range l.typ.NumField() {
				m, embedded := memberOf(l, i)
				switch {
				case m != nil:
					found = append(found, m)
					if here[l.typ] > 1 {
						found = append(found, m)
					}
				case embedded != nil:
					if count[embedded]++; count[embedded] == 1 {
						next = append(next, level{embedded, append(slices.Clone(l.index), i)})
					}
				}
			}
		}
	}
	return found
}

// memberOf returns the field as a member, or the struct type whose fields stand
// for it, or neither.
func memberOf(l level, i int) (*Member, reflect.Type) {
	f := l.typ.Field(i)
	tag := f.Tag.Get("json")
	if tag == "-" || !visible(f) {
		return nil, nil
	}
	name, options, _ := strings.Cut(tag, ",")
	if !ValidName(name) {
		name = ""
	}
	target := f.Type
	if target.Name() == "" && target.Kind() == reflect.Pointer {
		target = target.Elem()
	}
	if name == "" && f.Anonymous && target.Kind() == reflect.Struct {
		return nil, target
	}
	m := &Member{Name: cmp.Or(name, f.Name), Index: append(slices.Clone(l.index), i), Type: f.Type, tagged: name != ""}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			m.OmitEmpty = true
		case "omitzero":
			m.OmitZero = true
		case "string":
			m.Quoted = quotable(target.Kind())
		}
	}
	return m, nil
}

// visible is true for exported fields, and for embedded structs even when they
// are not, for their exported fields.
func visible(f reflect.StructField) bool {
	if f.IsExported() || !f.Anonymous {
		return f.IsExported()
	}
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

func quotable(k reflect.Kind) bool {
	return k == reflect.Bool || k >= reflect.Int && k <= reflect.Float64 || k == reflect.String
}
