package jsjson

import (
	"encoding"
	"encoding/json"
	"math/big"
	"reflect"
	"sync"
)

// encoder appends the JSON of a value to the text.
type encoder func(s *state, v reflect.Value) error

var plans sync.Map // of encoder, by reflect.Type

var (
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	rawType         = reflect.TypeFor[json.RawMessage]()
	numberType      = reflect.TypeFor[json.Number]()
	bigIntType      = reflect.TypeFor[big.Int]()
)

// planOf returns the encoder of a type, and makes it the first time.
func planOf(t reflect.Type) encoder {
	if p, ok := plans.Load(t); ok {
		return p.(encoder)
	}
	known, _ := plans.LoadOrStore(t, encoderOf(t))
	return known.(encoder)
}

// inner is the encoder of a type that another leads to. That of a composite type
// is looked up when it is needed, since types may lead to themselves.
func inner(t reflect.Type) encoder {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
	default:
		return encoderOf(t)
	}
	var once sync.Once
	var encode encoder
	return func(s *state, v reflect.Value) error {
		once.Do(func() { encode = planOf(t) })
		return encode(s, v)
	}
}

func encoderOf(t reflect.Type) encoder {
	switch t {
	case rawType:
		return raw
	case numberType:
		return number
	case bigIntType:
		return bigInt
	}
	if has(t, jsonMarshaler) {
		if err := Hidden(t, "MarshalJSON"); err != nil {
			return failing(err)
		}
		return ownJSON(t)
	}
	if has(t, textMarshaler) {
		if err := Hidden(t, "MarshalText"); err != nil {
			return failing(err)
		}
		return ownText(t)
	}
	return kind(t)
}

// failing is the encoder of types whose values cannot be encoded.
func failing(err error) encoder { return func(*state, reflect.Value) error { return err } }

// has reports whether t, or a pointer to it, has the methods of an interface.
// Pointers and interfaces do not count: what they lead to has a plan of its own.
func has(t, methods reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		return false
	}
	return reflect.PointerTo(t).Implements(methods)
}

func kind(t reflect.Type) encoder {
	switch t.Kind() {
	case reflect.Bool:
		return boolean
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return signed
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return unsigned
	case reflect.Float32:
		return float32s
	case reflect.Float64:
		return float64s
	case reflect.String:
		return text
	case reflect.Interface:
		return anything
	case reflect.Pointer:
		return pointer(t)
	case reflect.Slice:
		if isBytes(t) {
			return base64Text
		}
		return slice(t)
	case reflect.Array:
		return list(t)
	case reflect.Map:
		return mapping(t)
	case reflect.Struct:
		return structure(t)
	}
	return failing(noForm(t))
}

// isBytes is true for slices of bytes that do not encode themselves.
func isBytes(t reflect.Type) bool {
	elem := t.Elem()
	return elem.Kind() == reflect.Uint8 && !has(elem, jsonMarshaler) && !has(elem, textMarshaler)
}
