package jsjson

import (
	"bytes"
	"errors"
	"reflect"
	"runtime/debug"
	"sync"
)

// Marshal returns the JSON text of v. The error is an *Error.
func Marshal(v any) ([]byte, error) {
	value := reflect.ValueOf(v)
	if value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	if !value.IsValid() {
		return []byte("null"), nil
	}
	s := states.Get().(*state)
	defer s.release()
	if err := s.encode(value); err != nil {
		return nil, whole(err)
	}
	return bytes.Clone(s.text), nil
}

// encode appends a value, and makes an error of a panic.
func (s *state) encode(v reflect.Value) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *PanicError:
			err = r
		default:
			err = &PanicError{"encoding " + v.Type().String(), r, string(debug.Stack())}
		}
	}()
	return planOf(v.Type())(s, v)
}

// state is one call of Marshal. It is used again.
type state struct {
	text  []byte
	depth int // of arrays and objects
	hops  int // through pointers and interfaces
}

var states = sync.Pool{New: func() any { return &state{text: make([]byte, 0, 512)} }}

// maxKept is the largest buffer that is kept for the next call.
const maxKept = 64 << 10

func (s *state) release() {
	if cap(s.text) <= maxKept {
		*s = state{text: s.text[:0]}
		states.Put(s)
	}
}

// maxDepth is how deep arrays and objects may be nested: encoding/json decodes
// no more. A value that contains itself meets it too.
const maxDepth = 10000

var errDeep = errors.New("the value is nested deeper than 10000 levels, or contains itself")

func (s *state) enter() error {
	if s.depth++; s.depth > maxDepth {
		return errDeep
	}
	return nil
}

// hop is enter for pointers and interfaces, which may lead round in a circle
// without an array or object.
func (s *state) hop() error {
	if s.hops++; s.hops > 2*maxDepth {
		return errDeep
	}
	return nil
}
