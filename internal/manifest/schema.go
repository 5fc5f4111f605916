package manifest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/tstag"
)

// dialect is JSON Schema 2020-12.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// Schema is a JSON Schema, as far as it is needed. The zero value takes
// anything.
type Schema struct {
	Dialect     string             `json:"$schema,omitempty"`
	Ref         string             `json:"$ref,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        Types              `json:"type,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Examples    []string           `json:"examples,omitempty"` // the constants of a string type, which takes other texts too
	Format      string             `json:"format,omitempty"`
	Encoding    string             `json:"contentEncoding,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Minimum     json.Number        `json:"minimum,omitempty"`
	Maximum     json.Number        `json:"maximum,omitempty"`
	AnyOf       []*Schema          `json:"anyOf,omitempty"`
	Items       *Schema            `json:"items,omitempty"`
	MinItems    *int64             `json:"minItems,omitempty"`
	MaxItems    *int64             `json:"maxItems,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"` // sorted
	Names       *Schema            `json:"propertyNames,omitempty"`
	Additional  *Schema            `json:"additionalProperties,omitempty"`
	Defs        map[string]*Schema `json:"$defs,omitempty"`
}

// schemaOf is the schema of what encoding/json makes of values of t. Members
// are required if a payload without them is refused.
func schemaOf(t *model.Type) *Schema {
	b := &builder{root: t.Actual(), keys: map[*model.Type]string{}, defs: map[string]*Schema{}}
	s, null := b.value(t, false, told{})
	if key, recursive := b.keys[b.root]; recursive {
		s = &Schema{Ref: reference(key)}
	}
	if null {
		s = nullable(s)
	}
	s.Dialect = dialect
	if len(b.defs) > 0 {
		s.Defs = b.defs
	}
	return s
}

// builder makes one schema. Each declared type that is made of others becomes
// a definition, so that recursive types end; the root does only if it is part of
// itself.
type builder struct {
	root    *model.Type
	started bool
	keys    map[*model.Type]string // of definitions
	defs    map[string]*Schema
}

// key is the name of a type's definition, which no other type of the schema has.
func (b *builder) key(t *model.Type) string {
	if key, ok := b.keys[t]; ok {
		return key
	}
	key := qualified(t)
	for n := 2; b.defs[key] != nil; n++ {
		key = qualified(t) + strconv.Itoa(n)
	}
	b.keys[t] = key
	return key
}

// qualified is a declared type with the path of its package.
func qualified(t *model.Type) string {
	t = t.Actual()
	if t.Name == "" || t.Path == "" {
		return t.String()
	}
	name := t.Path + "." + t.Name
	for i, a := range t.Args {
		name += []string{"[", ","}[min(i, 1)] + qualified(a)
	}
	if len(t.Args) > 0 {
		name += "]"
	}
	return name
}

// told is the TypeScript type that a field's tag tells, for a value that is so deep
// in unnamed lists and maps.
type told struct {
	text  string
	depth int
}

// value returns the schema of t without null, and whether t can be null. Quoted is
// the option ",string", and tag the TypeScript type of the field that the value is
// in, with nothing but unnamed types between them.
func (b *builder) value(t *model.Type, quoted bool, tag told) (s *Schema, null bool) {
	actual := t.Actual()
	if actual.Name != "" && !actual.JSON() {
		tag = told{} // it says nothing of what is in a declared type
	}
	switch {
	case actual.Kind == model.Pointer:
		s, null := b.value(actual.Elem, quoted, tag)
		if null {
			s = nullable(s)
		}
		return s, true
	case actual.Is(model.RuntimePath, "Millis"):
		return &Schema{Type: Types{"integer"}, Description: "milliseconds"}, false
	case actual.SelfMade() || actual.Kind == model.Interface || actual.Is("encoding/json", "Number"):
		never := actual.OwnNull() && tag.text != "" && !tstag.TakesNull(tag.text, tag.depth)
		return selfMade(actual.Writer(), quoted, never), actual.CanBeNil() && !actual.OwnNull()
	}
	null = actual.CanBeNil()
	if actual.Name == "" || actual.Path == "" || !composed(actual.Kind) {
		return b.structure(actual, quoted, tag), null
	}
	if actual == b.root && !b.started {
		b.started = true
		return b.structure(actual, quoted, told{}), null
	}
	key := b.key(actual)
	if b.defs[key] == nil {
		s := &Schema{}
		b.defs[key] = s
		*s = *b.structure(actual, quoted, told{})
	}
	return &Schema{Ref: reference(key)}, null
}

func composed(k model.Kind) bool {
	switch k {
	case model.Struct, model.Slice, model.Array, model.Map:
		return true
	}
	return false
}

// selfMade is the schema of types that say themselves how they are written. If
// they read JSON of any kind, never is true when null is none of their values.
func selfMade(t *model.Type, quoted, never bool) *Schema {
	switch {
	case t.Is("time", "Time"):
		return &Schema{Type: Types{"string"}, Format: "date-time"}
	case t.Is("math/big", "Int"):
		return &Schema{Type: Types{"integer"}}
	case t.Is("encoding/json", "Number") && !quoted:
		return &Schema{Type: Types{"number"}}
	case t.Is("encoding/json", "Number"):
		return &Schema{Type: Types{"string"}, Pattern: floatText}
	case t.Methods.MarshalText && t.Methods.UnmarshalText && !t.JSON():
		return &Schema{Type: Types{"string"}}
	case never:
		return &Schema{Type: slices.Clone(notNull)}
	}
	return &Schema{}
}

// notNull are the types of all values but null.
var notNull = Types{"array", "boolean", "number", "object", "string"}

func (b *builder) structure(t *model.Type, quoted bool, tag told) *Schema {
	s := &Schema{Description: strings.TrimSpace(t.Doc)}
	switch t.Kind {
	case model.Bool, model.Int, model.Float, model.String:
		s = basic(t, quoted)
	case model.Slice, model.Array:
		if t.Kind == model.Slice && t.Bytes() {
			s.Type, s.Encoding, s.Pattern = Types{"string"}, "base64", base64Pattern
			break
		}
		s.Type, s.Items = Types{"array"}, b.element(t.Elem, tag)
		if t.Kind == model.Array {
			s.MinItems, s.MaxItems = &t.Len, &t.Len
		}
	case model.Map:
		s.Type, s.Additional = Types{"object"}, b.element(t.Elem, tag)
		if key := t.Key.Actual(); key.Kind == model.Int && !key.Text() {
			s.Names = &Schema{Pattern: basic(key, true).Pattern}
		}
	case model.Struct:
		b.object(t, s)
	}
	return s
}

// element is what a slice, array or map holds.
func (b *builder) element(t *model.Type, tag told) *Schema {
	tag.depth++
	s, null := b.value(t, false, tag)
	if null {
		return nullable(s)
	}
	return s
}

func basic(t *model.Type, quoted bool) *Schema {
	switch {
	case t.Kind == model.String && quoted:
		return &Schema{Type: Types{"string"}, Pattern: stringText}
	case t.Kind == model.String:
		return &Schema{Type: Types{"string"}, Examples: t.Consts}
	case t.Kind == model.Bool && quoted:
		return &Schema{Type: Types{"string"}, Enum: []string{"false", "true"}}
	case t.Kind == model.Bool:
		return &Schema{Type: Types{"boolean"}}
	case t.Kind == model.Float && quoted:
		return &Schema{Type: Types{"string"}, Pattern: floatText}
	case t.Kind == model.Float:
		return &Schema{Type: Types{"number"}, Minimum: ranges[t.Basic][0], Maximum: ranges[t.Basic][1]}
	case quoted && strings.HasPrefix(t.Basic, "u") || quoted && t.Basic == "byte":
		return &Schema{Type: Types{"string"}, Pattern: unsignedText}
	case quoted:
		return &Schema{Type: Types{"string"}, Pattern: signedText}
	}
	return &Schema{Type: Types{"integer"}, Minimum: ranges[t.Basic][0], Maximum: ranges[t.Basic][1]}
}

// What strings hold that are no text.
const (
	unsignedText  = "^(0|[1-9][0-9]*)$"
	signedText    = "^-?(0|[1-9][0-9]*)$"
	floatText     = `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`
	stringText    = `^"([^"\\\x00-\x1f]|\\(["\\/bfnrt]|u[0-9a-fA-F]{4}))*"$`
	base64Pattern = `^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`
)

// ranges are those of numbers. An int is taken for one of 64 bits.
var ranges = map[string][2]json.Number{
	"int8":    {"-128", "127"},
	"int16":   {"-32768", "32767"},
	"int32":   {"-2147483648", "2147483647"},
	"int64":   {"-9223372036854775808", "9223372036854775807"},
	"int":     {"-9223372036854775808", "9223372036854775807"},
	"byte":    {"0", "255"},
	"uint16":  {"0", "65535"},
	"uint32":  {"0", "4294967295"},
	"uint64":  {"0", "18446744073709551615"},
	"uint":    {"0", "18446744073709551615"},
	"uintptr": {"0", "18446744073709551615"},
	"float32": {"-3.4028235e38", "3.4028235e38"},
}

// object fills in the members of a struct.
func (b *builder) object(t *model.Type, s *Schema) {
	s.Type = Types{"object"}
	members, _ := t.Members()
	for _, m := range members {
		f := m.Field()
		member, null := b.value(f.Type, m.Quoted, told{text: strings.TrimSpace(f.TypeScript())})
		if null {
			member = nullable(member)
		}
		member.Description = cmp.Or(strings.TrimSpace(f.Doc), member.Description)
		if s.Properties == nil {
			s.Properties = map[string]*Schema{}
		}
		s.Properties[m.Name] = member
		if !m.Optional() {
			s.Required = append(s.Required, m.Name)
		}
	}
	slices.Sort(s.Required)
}

// nullable also takes null.
func nullable(s *Schema) *Schema {
	switch {
	case s.Ref != "":
		return &Schema{AnyOf: []*Schema{s, {Type: Types{"null"}}}}
	case len(s.Type) == 0 || slices.Contains(s.Type, "null"):
		return s
	case slices.Equal(s.Type, notNull):
		return &Schema{Description: s.Description}
	case len(s.Enum) > 0:
		return &Schema{AnyOf: []*Schema{s, {Type: Types{"null"}}}}
	}
	s.Type = append(s.Type, "null")
	return s
}
