package manifest

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
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
	Minimum     *int64             `json:"minimum,omitempty"`
	Maximum     *int64             `json:"maximum,omitempty"`
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
	s, null := b.value(t, false)
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

// value returns the schema of t without null, and whether t can be null.
// Quoted is the option ",string".
func (b *builder) value(t *model.Type, quoted bool) (s *Schema, null bool) {
	actual := t.Actual()
	switch {
	case actual.Kind == model.Pointer:
		s, null := b.value(actual.Elem, quoted)
		if null {
			s = nullable(s)
		}
		return s, true
	case actual.Is(model.RuntimePath, "Millis"):
		return &Schema{Type: Types{"integer"}, Description: "milliseconds"}, false
	case actual.SelfMade() || actual.Kind == model.Interface || actual.Is("encoding/json", "Number"):
		return selfMade(actual.Writer(), quoted), false
	}
	null = actual.Kind == model.Slice || actual.Kind == model.Map
	if actual.Name == "" || actual.Path == "" || !composed(actual.Kind) {
		return b.structure(actual, quoted), null
	}
	if actual == b.root && !b.started {
		b.started = true
		return b.structure(actual, quoted), null
	}
	key := b.key(actual)
	if b.defs[key] == nil {
		s := &Schema{}
		b.defs[key] = s
		*s = *b.structure(actual, quoted)
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

// selfMade is the schema of types that say themselves how they are written.
func selfMade(t *model.Type, quoted bool) *Schema {
	switch {
	case t.Is("time", "Time"):
		return &Schema{Type: Types{"string"}, Format: "date-time"}
	case t.Is("math/big", "Int"):
		return &Schema{Type: Types{"integer"}}
	case t.Is("encoding/json", "Number") && !quoted:
		return &Schema{Type: Types{"number"}}
	case t.Is("encoding/json", "Number"), t.Methods.MarshalText && t.Methods.UnmarshalText && !t.JSON():
		return &Schema{Type: Types{"string"}}
	}
	return &Schema{}
}

func (b *builder) structure(t *model.Type, quoted bool) *Schema {
	s := &Schema{Description: strings.TrimSpace(t.Doc)}
	switch t.Kind {
	case model.Bool, model.Int, model.Float, model.String:
		s = basic(t, quoted)
	case model.Slice, model.Array:
		if t.Kind == model.Slice && t.Bytes() {
			s.Type, s.Encoding, s.Pattern = Types{"string"}, "base64", base64Pattern
			break
		}
		s.Type, s.Items = Types{"array"}, b.element(t.Elem)
		if t.Kind == model.Array {
			s.MinItems, s.MaxItems = &t.Len, &t.Len
		}
	case model.Map:
		s.Type, s.Additional = Types{"object"}, b.element(t.Elem)
		if key := t.Key.Actual(); key.Kind == model.Int && !key.Text() {
			s.Names = &Schema{Pattern: basic(key, true).Pattern}
		}
	case model.Struct:
		b.object(t, s)
	}
	return s
}

// element is what a slice, array or map holds.
func (b *builder) element(t *model.Type) *Schema {
	s, null := b.value(t, false)
	if null {
		return nullable(s)
	}
	return s
}

func basic(t *model.Type, quoted bool) *Schema {
	switch {
	case t.Kind == model.String:
		return &Schema{Type: Types{"string"}, Examples: t.Consts}
	case t.Kind == model.Bool && quoted:
		return &Schema{Type: Types{"string"}, Enum: []string{"false", "true"}}
	case t.Kind == model.Bool:
		return &Schema{Type: Types{"boolean"}}
	case t.Kind == model.Float && quoted:
		return &Schema{Type: Types{"string"}, Pattern: floatText}
	case t.Kind == model.Float:
		return &Schema{Type: Types{"number"}}
	case quoted && strings.HasPrefix(t.Basic, "u") || quoted && t.Basic == "byte":
		return &Schema{Type: Types{"string"}, Pattern: unsignedText}
	case quoted:
		return &Schema{Type: Types{"string"}, Pattern: signedText}
	}
	s := &Schema{Type: Types{"integer"}}
	if r, ok := ranges[t.Basic]; ok {
		s.Minimum, s.Maximum = r[0], r[1]
	}
	return s
}

// What strings hold that are no text.
const (
	unsignedText  = "^(0|[1-9][0-9]*)$"
	signedText    = "^-?(0|[1-9][0-9]*)$"
	floatText     = `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`
	base64Pattern = `^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`
)

func to(n int64) *int64 { return &n }

// ranges are those of integers that JSON numbers hold.
var ranges = map[string][2]*int64{
	"int8":    {to(math.MinInt8), to(math.MaxInt8)},
	"int16":   {to(math.MinInt16), to(math.MaxInt16)},
	"int32":   {to(math.MinInt32), to(math.MaxInt32)},
	"byte":    {to(0), to(math.MaxUint8)},
	"uint16":  {to(0), to(math.MaxUint16)},
	"uint32":  {to(0), to(math.MaxUint32)},
	"uint":    {to(0), nil},
	"uint64":  {to(0), nil},
	"uintptr": {to(0), nil},
}

// object fills in the members of a struct.
func (b *builder) object(t *model.Type, s *Schema) {
	s.Type = Types{"object"}
	members, _ := t.Members()
	for _, m := range members {
		f := m.Field()
		member, null := b.value(f.Type, m.Quoted)
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
	case len(s.Enum) > 0:
		return &Schema{AnyOf: []*Schema{s, {Type: Types{"null"}}}}
	}
	s.Type = append(s.Type, "null")
	return s
}
