package jsdecode

import (
	"encoding"
	"encoding/json"
	"math/big"
	"reflect"
	"sync"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/internal/tstag"
)

// plan describes the JSON values that a Go type accepts. It is made once for
// each type, and is the same as the JSON Schema in the manifest.
type plan struct {
	kind planKind
	typ  reflect.Type
	// null is true when null is a value of the type.
	null bool
	// quoted is the option ",string": the value stands in a string.
	quoted bool
	// bits is the size of an integer or a float; 0: an integer of any size.
	bits int
	// elem is what a pointer, list or map holds, and key the keys of a map.
	elem, key *plan
	// size is the length of an array; -1: a slice.
	size int
	object
}

type planKind uint8

const (
	planAny   planKind = iota // any value; strings in it must be text
	planOwn                   // the type reads its JSON itself
	planText                  // a string that the type reads itself
	planNever                 // no value, as of a channel
	planBool
	planInt
	planUint
	planFloat
	planNumber // a number that keeps its digits: json.Number
	planString
	planBytes // base64
	planPointer
	planList
	planMap
	planObject
)

var (
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	marshalerType       = reflect.TypeFor[json.Marshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	timeType            = reflect.TypeFor[time.Time]()
	bigIntType          = reflect.TypeFor[big.Int]()
	numberType          = reflect.TypeFor[json.Number]()
	rawType             = reflect.TypeFor[json.RawMessage]()
)

// plans holds the plan of each reflect.Type that was decoded.
var plans sync.Map

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	c := planner{}
	p := c.plan(t)
	for t, p := range c { // all of them are complete now
		plans.LoadOrStore(t, p)
	}
	return p
}

// planner makes plans of types that may refer to each other.
type planner map[reflect.Type]*plan

func (c planner) plan(t reflect.Type) *plan {
	if p := c[t]; p != nil {
		return p
	}
	p := &plan{typ: t, size: -1}
	c[t] = p
	c.fill(p, told{})
	return p
}

// told is what the ts tag of a field says of null, for values that are so deep in
// unnamed lists and maps.
type told struct {
	tag   string // "": there is none
	depth int
}

func (a told) null() bool { return tstag.TakesNull(a.tag, a.depth) }

// fill sets all of p but its type.
func (c planner) fill(p *plan, tag told) {
	t := p.typ
	p.null = takesNull(t)
	switch {
	case t.Kind() == reflect.Pointer:
		p.kind, p.elem = planPointer, c.part(t, tag)
	case t == timeType:
		p.kind = planText
	case t == bigIntType:
		p.kind = planInt
	case reflect.PointerTo(t).Implements(unmarshalerType):
		p.kind = planOwn
		if t != rawType {
			p.null = ownNull(t, tag)
		}
	case reflect.PointerTo(t).Implements(textUnmarshalerType):
		p.kind = planText
	default:
		c.fillKind(p, tag)
	}
}

// takesNull reports whether values of the type can be nil.
func takesNull(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return true
	}
	return false
}

// ownNull reports whether null is a value of a type with an UnmarshalJSON of its
// own, which most often ignores null. The field's tag decides; without one, its
// values must be able to be nil, or the zero value must be written as null.
func ownNull(t reflect.Type, tag told) bool {
	if tag.tag != "" {
		return tag.null()
	}
	if takesNull(t) {
		return true
	}
	null := false
	_ = guard.Call("MarshalJSON", func() error { // a zero value that cannot be written is not null
		text, err := json.Marshal(reflect.New(t).Interface())
		null = err == nil && string(text) == "null"
		return nil
	})
	return null
}

// part is the plan of what t, which has no name, holds. The tag of a field counts
// for the values in its unnamed pointers, lists and maps.
func (c planner) part(t reflect.Type, tag told) *plan {
	if tag.tag == "" || t.Name() != "" {
		return c.plan(t.Elem())
	}
	if t.Kind() != reflect.Pointer {
		tag.depth++
	}
	return c.tagged(t.Elem(), tag, false)
}

// tagged is the plan of the type in a field with a tag of its own.
func (c planner) tagged(t reflect.Type, tag told, quoted bool) *plan {
	if tag.tag == "" && !quoted || t.Name() != "" && !quoted && !reflect.PointerTo(t).Implements(unmarshalerType) {
		return c.plan(t)
	}
	p := &plan{typ: t, size: -1, quoted: quoted}
	c.fill(p, tag)
	switch p.kind {
	case planPointer:
		p.quoted, p.elem = false, c.tagged(t.Elem(), tag, quoted)
	case planOwn, planText:
		p.quoted = false
	}
	return p
}

func (c planner) fillKind(p *plan, tag told) {
	t := p.typ
	switch t.Kind() {
	case reflect.Bool:
		p.kind = planBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.kind, p.bits = planInt, t.Bits()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		p.kind, p.bits = planUint, t.Bits()
	case reflect.Float32, reflect.Float64:
		p.kind, p.bits = planFloat, t.Bits()
	case reflect.String:
		p.kind = planString
		if t == numberType {
			p.kind = planNumber
		}
	case reflect.Interface:
		p.kind = planOwn
		if t.NumMethod() == 0 {
			p.kind, p.elem, p.key = planAny, p, textKeys
		}
	case reflect.Slice:
		p.kind, p.elem = planList, c.part(t, tag)
		if isBytes(t.Elem()) {
			p.kind = planBytes
		}
	case reflect.Array:
		p.kind, p.elem, p.size = planList, c.part(t, tag), t.Len()
	case reflect.Map:
		p.kind, p.elem, p.key = planMap, c.part(t, tag), keyPlan(t.Key())
	case reflect.Struct:
		p.kind = planObject
		p.object = c.object(t)
	default:
		p.kind = planNever
	}
}

// isBytes reports whether encoding/json writes a slice of the type as base64.
func isBytes(elem reflect.Type) bool {
	p := reflect.PointerTo(elem)
	return elem.Kind() == reflect.Uint8 && !p.Implements(marshalerType) && !p.Implements(textMarshalerType)
}

var textKeys = &plan{kind: planString, typ: reflect.TypeFor[string](), size: -1}

// keyPlan is the plan of the keys of a map.
func keyPlan(t reflect.Type) *plan {
	p := &plan{typ: t, size: -1}
	switch {
	case reflect.PointerTo(t).Implements(textUnmarshalerType):
		p.kind = planText
	case t.Kind() == reflect.String:
		return textKeys
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		p.kind, p.bits = planInt, t.Bits()
	case t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uintptr:
		p.kind, p.bits = planUint, t.Bits()
	default:
		p.kind = planNever
	}
	return p
}
