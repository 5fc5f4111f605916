package jsjson

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// Error reports a value that cannot be encoded and where it is.
type Error struct {
	// Path leads to the value from the whole one, which is $: $.items[3].id.
	Path string
	Err  error
}

func (e *Error) Error() string { return "at " + e.Path + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// below adds the step from a value to the part of it that err is about.
func below(step string, err error) error {
	if err == nil {
		return nil
	}
	p, ok := err.(*place)
	if !ok {
		p = &place{err: err}
	}
	p.steps = append(p.steps, step)
	return p
}

// place is an error on its way up, with the steps that it has come.
type place struct {
	steps []string
	err   error
}

func (p *place) Error() string { return p.err.Error() }

// in says whose text an error is about.
func in(what string, err error) error {
	if err == nil {
		return nil
	}
	if p, ok := err.(*place); ok {
		p.err = fmt.Errorf("%s: %w", what, p.err)
		return p
	}
	return fmt.Errorf("%s: %w", what, err)
}

// maxSteps is how much of a path an error shows.
const maxSteps = 20

// whole makes an Error of what came up to the top.
func whole(err error) error {
	p, ok := err.(*place)
	if !ok {
		return &Error{"$", err}
	}
	path := "$"
	for i, step := range slices.Backward(p.steps) {
		if len(p.steps)-i > maxSteps {
			path += "..."
			break
		}
		path += step
	}
	return &Error{path, p.err}
}

// member is the step to a member of a JSON object.
func member(name string) string {
	for i, r := range name {
		if r != '_' && r != '$' && !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') && (i == 0 || r < '0' || r > '9') {
			return key(name)
		}
	}
	if name == "" {
		return key(name)
	}
	return "." + name
}

// key is the step to the value of a map's key.
func key(name string) string { return "[" + strconv.Quote(name) + "]" }

// element is the step to an element of a list.
func element(i int) string { return "[" + strconv.Itoa(i) + "]" }

// PanicError reports a panic of a method that encodes.
type PanicError struct {
	Method string // such as "MarshalJSON of tasks.Price"
	Value  any
	stack  string
}

func (e *PanicError) Error() string { return fmt.Sprintf("%s panicked: %v", e.Method, e.Value) }

// Stack is the stack of the goroutine when the method panicked.
func (e *PanicError) Stack() string { return e.stack }

// noForm is the error for a type whose values JSON has no form for.
func noForm(t reflect.Type) error {
	return fmt.Errorf("%s has no form in JSON: leave it out with `json:\"-\"`, or send what it is made from", t)
}
