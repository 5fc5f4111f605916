package jsjson

import (
	"bytes"
	"errors"
	"reflect"
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
	p := planOf(value.Type())
	s := states.Get().(*state)
	var err error
	if p.foreign {
		err = s.apart(func() error { return p.encode(s, value) })
	} else {
		err = p.encode(s, value)
	}
	if err != nil {
		s.release()
		return nil, whole(err)
	}
	text := bytes.Clone(s.text)
	s.release()
	return text, nil
}

// state is one call of Marshal. It is used again.
type state struct {
	text   []byte
	depth  int  // of arrays and objects
	hops   int  // through pointers and interfaces
	inside bool // the goroutine may end by runtime.Goexit
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

// apart calls f, which runs methods of the user's types, in a goroutine of its
// own, so that a call of runtime.Goexit there is an error and does not end the
// caller's goroutine.
func (s *state) apart(f func() error) error {
	s.inside = true
	err := errors.New("a method that encodes ended its goroutine with runtime.Goexit")
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = f()
	}()
	<-done
	s.inside = false
	return err
}
