package jsjson

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// orNull encodes what a pointer leads to, or null.
func orNull(encode encoder) encoder {
	return func(s *state, v reflect.Value) error {
		if v.IsNil() {
			s.text = append(s.text, "null"...)
			return nil
		}
		if err := s.hop(); err != nil {
			return err
		}
		err := encode(s, v.Elem())
		s.hops--
		return err
	}
}

func pointer(t reflect.Type) encoder { return orNull(inner(t.Elem())) }

// anything encodes what is in an interface.
func anything(s *state, v reflect.Value) error {
	if v.IsNil() {
		s.text = append(s.text, "null"...)
		return nil
	}
	if err := s.hop(); err != nil {
		return err
	}
	value := v.Elem()
	err := planOf(value.Type())(s, value)
	s.hops--
	return err
}

// slice encodes a slice, which is null when it is nil.
func slice(t reflect.Type) encoder {
	encode := list(t)
	return func(s *state, v reflect.Value) error {
		if v.IsNil() {
			s.text = append(s.text, "null"...)
			return nil
		}
		return encode(s, v)
	}
}

func list(t reflect.Type) encoder {
	encode := inner(t.Elem())
	return func(s *state, v reflect.Value) error {
		if err := s.enter(); err != nil {
			return err
		}
		s.text = append(s.text, '[')
		for i := range v.Len() {
			if i > 0 {
				s.text = append(s.text, ',')
			}
			if err := encode(s, v.Index(i)); err != nil {
				return below(element(i), err)
			}
		}
		s.text = append(s.text, ']')
		s.depth--
		return nil
	}
}

// entry is a key of a map as text, and its value.
type entry struct {
	key   string
	value reflect.Value
}

// mapping encodes a map with its keys sorted.
func mapping(t reflect.Type) encoder {
	keyText := keyOf(t.Key())
	if keyText == nil {
		return failing(checkKey(t.Key()))
	}
	encode := inner(t.Elem())
	return func(s *state, v reflect.Value) error {
		if v.IsNil() {
			s.text = append(s.text, "null"...)
			return nil
		}
		if err := s.enter(); err != nil {
			return err
		}
		entries := make([]entry, 0, v.Len())
		for it := v.MapRange(); it.Next(); {
			text, err := keyText(it.Key())
			if err != nil {
				return err
			}
			entries = append(entries, entry{text, it.Value()})
		}
		slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
		if err := s.entries(entries, encode); err != nil {
			return err
		}
		s.depth--
		return nil
	}
}

func (s *state) entries(entries []entry, encode encoder) error {
	s.text = append(s.text, '{')
	for i, e := range entries {
		if i > 0 {
			if e.key == entries[i-1].key {
				return fmt.Errorf("two keys of the map are %q as text", e.key)
			}
			s.text = append(s.text, ',')
		}
		s.text = append(appendString(s.text, e.key), ':')
		if err := encode(s, e.value); err != nil {
			return below(key(e.key), err)
		}
	}
	s.text = append(s.text, '}')
	return nil
}

var errKeyUTF8 = errors.New("a key is not valid UTF-8")

// keyOf returns the function that makes text of the keys of a map, or nil when
// the type has no text.
func keyOf(t reflect.Type) func(reflect.Value) (string, error) {
	k := t.Kind()
	switch {
	case has(t, textMarshaler):
		return func(v reflect.Value) (string, error) {
			text, err := marshalText(t, v)
			return string(text), err
		}
	case k == reflect.String:
		return func(v reflect.Value) (string, error) {
			if key := v.String(); utf8.ValidString(key) {
				return key, nil
			}
			return "", errKeyUTF8
		}
	case k >= reflect.Int && k <= reflect.Int64:
		return func(v reflect.Value) (string, error) { return strconv.FormatInt(v.Int(), 10), nil }
	case k >= reflect.Uint && k <= reflect.Uintptr:
		return func(v reflect.Value) (string, error) { return strconv.FormatUint(v.Uint(), 10), nil }
	}
	return nil
}
