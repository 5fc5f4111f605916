package jsjson

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime/debug"
	"unicode/utf8"
)

// addressable returns v, or a copy of it that has an address, so that methods
// with pointer receivers can be called.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}

// ownJSON encodes values of a type with the method MarshalJSON.
func ownJSON(t reflect.Type) encoder {
	method := "MarshalJSON of " + t.String()
	return func(s *state, v reflect.Value) error {
		text, err := call(method, addressable(v).Addr().Interface().(json.Marshaler).MarshalJSON)
		if err != nil {
			return err
		}
		return in(method, s.appendJSON(text, true))
	}
}

// ownText encodes values of a type with the method MarshalText.
func ownText(t reflect.Type) encoder {
	return func(s *state, v reflect.Value) error {
		text, err := marshalText(t, v)
		if err != nil {
			return err
		}
		s.text = appendString(s.text, text)
		return nil
	}
}

func marshalText(t reflect.Type, v reflect.Value) ([]byte, error) {
	method := "MarshalText of " + t.String()
	text, err := call(method, addressable(v).Addr().Interface().(encoding.TextMarshaler).MarshalText)
	if err == nil && !utf8.Valid(text) {
		return nil, fmt.Errorf("%s: %w", method, errUTF8)
	}
	return text, err
}

// call calls a method of the user's, and makes an error of a panic.
func call(method string, f func() ([]byte, error)) (text []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{method, r, string(debug.Stack())}
		}
	}()
	if text, err = f(); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return text, nil
}

// raw encodes a json.RawMessage, whose text stays as it is but for white space.
func raw(s *state, v reflect.Value) error {
	if v.IsNil() {
		s.text = append(s.text, "null"...)
		return nil
	}
	return in("json.RawMessage", s.appendJSON(v.Bytes(), false))
}
