package jsjson

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
)

var checked sync.Map // of result, by reflect.Type

type result struct{ err error }

// Check reports what of a type cannot be encoded, or not be decoded again by
// encoding/json. Each type is looked at once. The error is an *Error.
func Check(t reflect.Type) error {
	if known, ok := checked.Load(t); ok {
		return known.(result).err
	}
	c := &checker{seen: map[reflect.Type]bool{}}
	err := forgotten(t)
	if err == nil {
		err = c.value(t)
	}
	if err != nil {
		err = whole(err)
	}
	checked.Store(t, result{err})
	return err
}

// checker walks a type. It looks at each type that it meets once.
type checker struct{ seen map[reflect.Type]bool }

func (c *checker) value(t reflect.Type) error {
	if c.seen[t] || t == bigIntType || t == numberType { // json.Number has methods from Go 1.27, and the same JSON
		return nil
	}
	c.seen[t] = true
	if t.Kind() == reflect.Pointer {
		return c.value(t.Elem())
	}
	m := methodsOf(t)
	if err := m.Problem(t.String(), false); err != nil {
		return err
	}
	if m.JSON() || m.Text() {
		return m.hidden(t)
	}
	return c.kind(t)
}

// hidden reports a struct that encodes or decodes itself by a method of a type
// that it embeds.
func (m Methods) hidden(t reflect.Type) error {
	encodes, decodes := "MarshalText", "UnmarshalText"
	if m.MarshalJSON {
		encodes = "MarshalJSON"
	}
	if m.UnmarshalJSON {
		decodes = "UnmarshalJSON"
	}
	if err := Hidden(t, encodes); err != nil {
		return err
	}
	return Hidden(t, decodes)
}

func (c *checker) kind(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Complex64, reflect.Complex128, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return noForm(t)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Errorf("%s is an interface, and nothing says which type to decode: use a concrete type, or json.RawMessage for any JSON", t)
		}
	case reflect.Slice, reflect.Array:
		return below("[]", c.value(t.Elem()))
	case reflect.Map:
		if err := checkKey(t.Key()); err != nil {
			return err
		}
		return below("[]", c.value(t.Elem()))
	case reflect.Struct:
		return c.fields(t)
	}
	return nil
}

// checkKey checks the type of a map's keys.
func checkKey(t reflect.Type) error {
	if m := methodsOf(t); m.Text() {
		if err := Hidden(t, "MarshalText"); err != nil {
			return err
		}
		return m.Problem("the key "+t.String(), true)
	}
	if keyOf(t) == nil {
		return fmt.Errorf("%s cannot be the key of a JSON object: use a string, an integer, or a type with MarshalText and UnmarshalText", t)
	}
	return nil
}

func (c *checker) fields(t reflect.Type) error {
	if err := checkTags(t, map[reflect.Type]bool{}); err != nil {
		return err
	}
	for _, m := range Members(t) {
		if err := unsettable(t, m); err != nil {
			return err
		}
		if err := c.value(m.Type); err != nil {
			return below(member(m.Name), err)
		}
	}
	return nil
}

// forgotten reports a struct that is encoded as {} although it has fields, and no
// tag that leaves them out on purpose. Only the whole value is looked at: types
// that others declare may hold such structs.
func forgotten(t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	m := methodsOf(t)
	if t.Kind() != reflect.Struct || m.JSON() || m.Text() || len(Members(t)) > 0 {
		return nil
	}
	found := false
	for i := range t.NumField() {
		f := t.Field(i)
		found = found || f.Name != "_"
		if _, tagged := f.Tag.Lookup("json"); tagged {
			return nil
		}
	}
	if !found {
		return nil
	}
	return fmt.Errorf("%s has no exported fields, and is encoded as {}: export them, or leave them out with `json:\"-\"`", t)
}

// unsettable reports a member that can be encoded and never decoded.
func unsettable(t reflect.Type, m *Member) error {
	for _, i := range m.Index[:len(m.Index)-1] {
		f := t.Field(i)
		t = f.Type
		if t.Kind() != reflect.Pointer {
			continue
		}
		if !f.IsExported() {
			return below(member(m.Name), fmt.Errorf("it cannot be decoded: it is in an embedded pointer to the unexported type %s; embed it by value", t.Elem()))
		}
		t = t.Elem()
	}
	return nil
}

// checkTags checks the json tags of a struct and of what it embeds.
func checkTags(t reflect.Type, seen map[reflect.Type]bool) error {
	seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		if visible(f) {
			if err := CheckTag(f.Tag.Get("json")); err != nil {
				return below(member(f.Name), err)
			}
		}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if f.Anonymous && inner.Kind() == reflect.Struct && !seen[inner] {
			if err := checkTags(inner, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// Methods are those of a type, or of a pointer to it, by which encoding/json
// encodes and decodes it.
type Methods struct {
	MarshalJSON, UnmarshalJSON bool
	MarshalText, UnmarshalText bool
	// MarshalJSONTo and UnmarshalJSONFrom are called from Go 1.27.
	MarshalJSONTo, UnmarshalJSONFrom bool
}

func methodsOf(t reflect.Type) Methods {
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return Methods{}
	}
	p := reflect.PointerTo(t)
	m := Methods{
		MarshalJSON: p.Implements(jsonMarshaler), UnmarshalJSON: p.Implements(jsonUnmarshaler),
		MarshalText: p.Implements(textMarshaler), UnmarshalText: p.Implements(textUnmarshaler),
	}
	_, m.MarshalJSONTo = p.MethodByName("MarshalJSONTo")
	_, m.UnmarshalJSONFrom = p.MethodByName("UnmarshalJSONFrom")
	return m
}

// JSON reports whether the type encodes or decodes itself as any JSON.
func (m Methods) JSON() bool { return m.MarshalJSON || m.UnmarshalJSON }

// Text reports whether the type encodes or decodes itself as a string.
func (m Methods) Text() bool { return m.MarshalText || m.UnmarshalText }

// Problem reports a type whose text is not read as it is written: it has one of
// two methods that belong together, or has them for some Go versions only. For
// the keys of maps only those for text count.
func (m Methods) Problem(name string, key bool) error {
	if key {
		m = Methods{MarshalText: m.MarshalText, UnmarshalText: m.UnmarshalText}
	}
	lacks := func(has, lacks string) error {
		return fmt.Errorf("%s has %s but not %s, so that it is not read as it is written: add %s", name, has, lacks, lacks)
	}
	switch {
	case m.MarshalJSON && !m.UnmarshalJSON && !m.UnmarshalText:
		return lacks("MarshalJSON", "UnmarshalJSON")
	case m.UnmarshalJSON && !m.MarshalJSON && !m.MarshalText:
		return lacks("UnmarshalJSON", "MarshalJSON")
	case m.MarshalText && !m.UnmarshalText && !m.JSON():
		return lacks("MarshalText", "UnmarshalText")
	case m.UnmarshalText && !m.MarshalText && !m.JSON():
		return lacks("UnmarshalText", "MarshalText")
	case m.MarshalJSONTo && !m.MarshalJSON, m.UnmarshalJSONFrom && !m.UnmarshalJSON:
		return errors.New(name + " has a method that encoding/json calls from Go 1.27 and not before: add MarshalJSON and UnmarshalJSON")
	}
	return nil
}
