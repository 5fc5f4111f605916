package jsdecode

import (
	"reflect"
	"strings"
	"unicode"

	"github.com/bullmq-gen/bullmq-gen/internal/jsonfield"
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
	for _, m := range jsonfield.Of(t) {
		f := t.FieldByIndex(m.Index)
		o.names[m.Name] = len(o.members)
		o.folded[fold(m.Name)] = true
		o.members = append(o.members, planMember{
			name:     m.Name,
			plan:     c.tagged(f.Type, told{tag: strings.TrimSpace(f.Tag.Get("ts"))}, m.Quoted),
			required: !m.OmitEmpty && !m.OmitZero && !m.BehindPointer && !takesNull(f.Type),
		})
	}
	return o
}
