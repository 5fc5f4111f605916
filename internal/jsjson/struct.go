package jsjson

import (
	"reflect"
	"runtime/debug"
)

// field is a member with all that it takes to encode it.
type field struct {
	*Member
	text   string // the name, as in the text, with its colon
	encode encoder
	zero   func(reflect.Value) bool // for OmitZero
}

func structure(t reflect.Type) encoder {
	members := Members(t)
	fields := make([]field, len(members))
	for i, m := range members {
		fields[i] = field{m, string(append(appendString(nil, m.Name), ':')), nil, nil}
		if m.Quoted {
			fields[i].encode = quoted(m.Type)
		} else {
			fields[i].encode = inner(m.Type)
		}
		if m.OmitZero {
			fields[i].zero = zeroOf(m.Type)
		}
	}
	return func(s *state, v reflect.Value) error {
		if err := s.enter(); err != nil {
			return err
		}
		s.text = append(s.text, '{')
		start := len(s.text)
		for i := range fields {
			f := &fields[i]
			value, ok := f.of(v)
			if !ok || f.OmitEmpty && empty(value) || f.zero != nil && f.zero(value) {
				continue
			}
			if len(s.text) > start {
				s.text = append(s.text, ',')
			}
			s.text = append(s.text, f.text...)
			if err := f.encode(s, value); err != nil {
				return below(member(f.Name), err)
			}
		}
		s.text = append(s.text, '}')
		s.depth--
		return nil
	}
}

// of returns the member's value in a struct. There is none behind an embedded
// pointer that is nil.
func (m *Member) of(v reflect.Value) (reflect.Value, bool) {
	v = v.Field(m.Index[0])
	for _, i := range m.Index[1:] {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v, true
}

// empty reports whether omitempty leaves a value out.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Bool, reflect.Pointer, reflect.Interface,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64:
		return v.IsZero()
	}
	return false
}

type zeroer interface{ IsZero() bool }

var zeroType = reflect.TypeFor[zeroer]()

// zeroOf returns the function that reports whether omitzero leaves a value out.
func zeroOf(t reflect.Type) func(reflect.Value) bool {
	switch nillable := t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface; {
	case t.Implements(zeroType):
		return func(v reflect.Value) bool {
			if nillable && (v.IsNil() || v.Elem().Kind() == reflect.Pointer && v.Elem().IsNil()) {
				return true
			}
			return isZero(t, v)
		}
	case reflect.PointerTo(t).Implements(zeroType):
		return func(v reflect.Value) bool { return isZero(t, addressable(v).Addr()) }
	}
	return reflect.Value.IsZero
}

// isZero asks a method, and names it when it panics.
func isZero(t reflect.Type, v reflect.Value) bool {
	defer func() {
		if r := recover(); r != nil {
			panic(&PanicError{"IsZero of " + t.String(), r, string(debug.Stack())})
		}
	}()
	return v.Interface().(zeroer).IsZero()
}
