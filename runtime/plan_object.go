package bullmq

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// object is the part of a plan that describes the members of a struct.
type object struct {
	members []planMember
	names   map[string]int // their places
	// folded are their names as loosely as any version of encoding/json
	// compares them. Here names are compared exactly.
	folded map[string]bool
}

type planMember struct {
	name     string
	plan     *plan
	required bool
}

// find returns the place of the member of that name, or -1. Most often it is the
// next one.
func (o *object) find(name []byte, next int) int {
	if next < len(o.members) && o.members[next].name == string(name) {
		return next
	}
	if i, ok := o.names[string(name)]; ok {
		return i
	}
	return -1
}

// confused reports whether encoding/json may take the name, which is none of a
// member, for one.
func (o *object) confused(name []byte) bool { return o.folded[fold(string(name))] }

// fold makes names alike that differ in case, underscores or dashes alone.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		least := r // the smallest of the letters that are the same but for case
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

func (c planner) object(t reflect.Type) object {
	o := object{names: map[string]int{}, folded: map[string]bool{}}
	for _, f := range jsonFields(t) {
		o.names[f.name] = len(o.members)
		o.folded[fold(f.name)] = true
		o.members = append(o.members, planMember{
			name:     f.name,
			plan:     c.tagged(f.field.Type, tagOf(f.field), f.quoted),
			required: !f.optional && !takesNull(f.field.Type),
		})
	}
	return o
}

// jsonField is a field of a struct, or of one that it embeds, that encoding/json
// reads.
type jsonField struct {
	name   string
	field  reflect.StructField
	index  []int
	tagged bool
	// optional is true for fields with omitempty or omitzero, and for those
	// behind an embedded pointer.
	optional bool
	quoted   bool
}

// jsonFields returns the fields of a struct as encoding/json sees them, in its
// order. Fields that claim one name with equal right are left out.
func jsonFields(t reflect.Type) []jsonField {
	names := map[string][]jsonField{}
	for _, f := range fieldsOfAllDepths(t) {
		names[f.name] = append(names[f.name], f)
	}
	var out []jsonField
	for _, group := range names {
		slices.SortStableFunc(group, byRight)
		if len(group) == 1 || byRight(group[0], group[1]) != 0 {
			out = append(out, group[0])
		}
	}
	slices.SortFunc(out, func(a, b jsonField) int { return slices.Compare(a.index, b.index) })
	return out
}

// byRight sorts fields of one name: a shallower one wins, then a tagged one.
func byRight(a, b jsonField) int {
	if c := cmp.Compare(len(a.index), len(b.index)); c != 0 || a.tagged == b.tagged {
		return c
	}
	if a.tagged {
		return -1
	}
	return 1
}

// embeddedStruct is a struct whose fields count as those of the one that embeds it.
type embeddedStruct struct {
	typ           reflect.Type
	index         []int
	behindPointer bool
}

// fieldsOfAllDepths walks embedded structs breadth first, each type once.
func fieldsOfAllDepths(t reflect.Type) []jsonField {
	var found []jsonField
	visited := map[reflect.Type]bool{}
	count := map[reflect.Type]int{}
	for level := []embeddedStruct{{typ: t}}; len(level) > 0; {
		var next []embeddedStruct
		here := count
		count = map[reflect.Type]int{}
		for _, e := range level {
			if visited[e.typ] {
				continue
			}
			visited[e.typ] = true
			for i := range e.typ.NumField() {
				f, inner := e.field(i)
				switch {
				case f != nil:
					found = append(found, *f)
					if here[e.typ] > 1 { // embedded twice: its fields cancel each other
						found = append(found, *f)
					}
				case inner != nil:
					if count[inner.typ]++; count[inner.typ] == 1 {
						next = append(next, *inner)
					}
				}
			}
		}
		level = next
	}
	return found
}

// field returns a field, or the struct whose fields stand for it, or neither.
func (e *embeddedStruct) field(i int) (*jsonField, *embeddedStruct) {
	f := e.typ.Field(i)
	target := f.Type
	if target.Name() == "" && target.Kind() == reflect.Pointer {
		target = target.Elem()
	}
	tag := f.Tag.Get("json")
	if tag == "-" || !f.IsExported() && (!f.Anonymous || target.Kind() != reflect.Struct) {
		return nil, nil
	}
	name, options, _ := strings.Cut(tag, ",")
	if !validMemberName(name) {
		name = ""
	}
	index := append(slices.Clone(e.index), i)
	if name == "" && f.Anonymous && target.Kind() == reflect.Struct {
		return nil, &embeddedStruct{target, index, e.behindPointer || f.Type.Kind() == reflect.Pointer}
	}
	out := &jsonField{name: cmp.Or(name, f.Name), field: f, index: index, tagged: name != "", optional: e.behindPointer}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty", "omitzero":
			out.optional = true
		case "string":
			out.quoted = isBasic(target)
		}
	}
	return out, nil
}

// isBasic reports whether the option ",string" works on the type.
func isBasic(t reflect.Type) bool {
	return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Float64 || t.Kind() == reflect.String
}

func validMemberName(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return name != ""
}
