// Package jsdecode decodes JSON as Node reads it, and as strictly as the JSON
// Schema in the manifest describes it.
//
// The rules for struct tags, embedded structs and the methods of types are those
// of encoding/json, which does the decoding. Before that, one pass compares the
// text with a plan of the type, which is made once. Unlike encoding/json
//
//   - names of members are compared exactly, and the last of several counts;
//   - members without omitempty or omitzero have to be there;
//   - null is a value of pointers, slices, maps and interfaces alone;
//   - arrays have their length;
//   - 1.0 and 1e3 are integers;
//   - strings are text: no invalid UTF-8, no half of a surrogate pair;
//   - errors name the place of the value: $.items[3].id;
//   - a panic of a method is an error.
package jsdecode

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
)

// Decode reads a text that the type of into accepts, at every depth: a zero value
// never stands for a value that is missing. The text is described as what, such as
// "payload", and its mismatch with the type by its JSON path.
func Decode[T any](what string, text []byte, into *T) error {
	p := planOf(reflect.TypeFor[T]())
	checked, err := p.check(text, what)
	if err != nil {
		return err
	}
	if err := unmarshal(checked, into); err != nil {
		return p.locate(checked, what, err)
	}
	return nil
}

// unmarshal is json.Unmarshal, with an error for a panic of a type's own method.
func unmarshal(text []byte, into any) error {
	return guard.Call("decoding", func() error { return json.Unmarshal(text, into) })
}

// locate finds the value that encoding/json could not decode, by decoding each
// value of a type that reads its JSON itself.
func (p *plan) locate(text []byte, what string, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return err
	}
	r := reader{text: text, probe: true}
	if m := r.value(p, 0); m != nil && m != badSyntax {
		return m.error(text, what)
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Errorf("at $.%s: %w", wrong.Field, err)
	}
	return fmt.Errorf("at $: %w", err)
}

// decodesAlone decodes a value by itself.
func decodesAlone(p *plan, text []byte) *mismatch {
	err := unmarshal(text, reflect.New(p.typ).Interface())
	if err == nil {
		return nil
	}
	return &mismatch{reason: fmt.Sprintf("it does not fit %s", p.typ), cause: err}
}

// decodesAsKey decodes the name of a member as a key of a map.
func (p *plan) decodesAsKey(quoted []byte) *mismatch {
	m := reflect.New(reflect.MapOf(p.typ, reflect.TypeFor[struct{}]())).Interface()
	if err := unmarshal(fmt.Appendf(nil, "{%s:{}}", quoted), m); err != nil {
		return &mismatch{reason: fmt.Sprintf("the key does not fit %s", p.typ), cause: err}
	}
	return nil
}

// mismatch is a value that a plan does not accept.
type mismatch struct {
	path   []segment // innermost first
	reason string
	cause  error
	// missing are required members that are not there.
	missing []string
	// null is true when the value is null.
	null bool
}

// badSyntax is the mismatch with text that is not JSON, or that only the second
// pass can read.
var badSyntax = &mismatch{}

// segment leads from a value to one in it: a name, or an index that is not -1.
type segment struct {
	name  string
	index int
}

// below puts the mismatch into a value.
func (m *mismatch) below(s segment) *mismatch {
	if m != badSyntax {
		m.path = append(m.path, s)
	}
	return m
}

// error describes the mismatch with the text.
func (m *mismatch) error(text []byte, what string) error {
	switch {
	case m == badSyntax:
		return syntaxError(text)
	case m.null && len(m.path) == 0 && what == "result":
		return fmt.Errorf("the result is null: its handler returned nothing, and %s", m.reason)
	case m.null && len(m.path) == 0:
		return fmt.Errorf("the %s is null, and %s", what, m.reason)
	case m.missing != nil:
		quoted := make([]string, len(m.missing))
		for i, name := range m.missing {
			quoted[i] = strconv.Quote(name)
		}
		return fmt.Errorf("at %s: the %s lacks %s", m.where(), what, strings.Join(quoted, ", "))
	case m.cause != nil:
		return fmt.Errorf("at %s: %s: %w", m.where(), m.reason, m.cause)
	}
	return fmt.Errorf("at %s: %s", m.where(), m.reason)
}

// where is the JSON path of the value, such as $.lines[2].quantity.
func (m *mismatch) where() string {
	var b strings.Builder
	b.WriteByte('$')
	for i := len(m.path) - 1; i >= 0; i-- {
		switch s := m.path[i]; {
		case s.index >= 0:
			fmt.Fprintf(&b, "[%d]", s.index)
		case isIdentifier(s.name):
			b.WriteString("." + s.name)
		default:
			b.WriteString("[" + strconv.Quote(shortened(s.name)) + "]")
		}
	}
	return b.String()
}

// isIdentifier reports whether a name stands after a dot in a path.
func isIdentifier(name string) bool {
	for i, c := range []byte(name) {
		if !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c == '$' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return name != "" && len(name) <= 100
}

// syntaxError is what encoding/json says about a text that is not JSON.
func syntaxError(text []byte) error {
	var any json.RawMessage
	if err := json.Unmarshal(text, &any); err != nil {
		return err
	}
	return errors.New("it is not JSON that can be read")
}
