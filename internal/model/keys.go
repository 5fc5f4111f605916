package model

import (
	"math"
	"slices"
	"strings"
)

// Key is a field of a payload whose value becomes an option of the job.
type Key struct {
	Word Word
	// Path leads to the field, through structs that are embedded.
	Path []*Field
}

// Field is the tagged field.
func (k *Key) Field() *Field { return k.Path[len(k.Path)-1] }

// Keys are the tagged fields of the payload and of the structs that it
// embeds, in the order of the source. Those that are tagged in a package that
// is not loaded have the position of what leads there.
func (t *Task) Keys() []Key {
	keys := keysIn(t.Payload, nil)
	for i := range keys {
		pos := t.TypePos
		for _, f := range keys[i].Path {
			if f.Source {
				pos = f.Pos
			}
		}
		if !keys[i].Field().Source {
			keys[i].Word.Pos = pos
		}
	}
	return keys
}

func keysIn(t *Type, path []*Field) []Key {
	var keys []Key
	t = t.Actual()
	for _, f := range t.Fields {
		here := append(path[:len(path):len(path)], f)
		for _, w := range f.Words {
			keys = append(keys, Key{w, here})
		}
		if inner := f.EmbeddedStruct(); inner != nil && len(f.Words) == 0 && !embeds(path, inner) {
			keys = append(keys, keysIn(inner, here)...)
		}
	}
	return keys
}

// Find returns the path to the field of that name of a struct or of what it
// embeds, as a Go selector does: the shallowest one counts. It is nil when
// there is none, or more than one.
func (t *Type) Find(name string) []*Field {
	found, depth, several := []*Field(nil), math.MaxInt, false
	var look func(t *Type, path []*Field)
	look = func(t *Type, path []*Field) {
		if len(path) >= depth {
			return
		}
		for _, f := range t.Actual().Fields {
			here := append(path[:len(path):len(path)], f)
			switch inner := f.EmbeddedStruct(); {
			case f.Name == name && len(here) < depth:
				found, depth, several = here, len(here), false
			case f.Name == name && len(here) == depth:
				several = true
			case inner != nil && !embeds(path, inner):
				look(inner, here)
			}
		}
	}
	look(t, nil)
	if several {
		return nil
	}
	return found
}

// embeds is true when the struct is embedded by a field on the path: it ends
// structs that embed pointers to themselves.
func embeds(path []*Field, s *Type) bool {
	return slices.ContainsFunc(path, func(f *Field) bool { return f.EmbeddedStruct() == s })
}

// EmbeddedStruct is the struct that the field embeds, by value or by pointer, or nil.
func (f *Field) EmbeddedStruct() *Type {
	if !f.Embedded || f.Type == nil {
		return nil
	}
	t := f.Type.Actual()
	if t.Kind == Pointer {
		t = t.Elem.Actual()
	}
	if t.Kind != Struct {
		return nil
	}
	return t
}

// Scope is what keeps the keys of a word, WordJobID or WordDedup, apart from
// those of others: the name in a field's tag, or the task's.
func (t *Task) Scope(word string) string {
	for _, k := range t.Keys() {
		if scope, ok := k.scope(); ok && k.Has(word) {
			return scope
		}
	}
	return t.Name
}

// Has is true when the field has the word too.
func (k *Key) Has(word string) bool {
	return slices.ContainsFunc(k.Field().Words, func(w Word) bool { return w.Text == word })
}

// scope is the name in a word such as scope=orders.
func (k *Key) scope() (string, bool) { return strings.CutPrefix(k.Word.Text, WordScope) }

// Words of the tag that make keys.
const (
	WordDedup    = "dedup"
	WordPriority = "priority"
	WordDelay    = "delay"
	WordJobID    = "jobid"
	WordScope    = "scope=" // with a name: of the keys that the field is for
)
