package model

import (
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of a type's values.
type Kind uint8

// The kinds of types.
const (
	Invalid Kind = iota
	Bool
	Int // signed and unsigned, see Type.Basic
	Float
	Complex
	String
	UnsafePointer
	Pointer
	Slice
	Array
	Map
	Struct
	Interface
	Chan
	Func
	TypeParam
)

// Type is a Go type. Types refer to each other in a graph that may have cycles.
type Type struct {
	Kind  Kind
	Basic string // the predeclared type below, such as int64, for kinds that have one

	// Name and Path are set for declared types and aliases; Path is "" for
	// predeclared ones such as error.
	Name, Path string
	// Package is the name of the package at Path.
	Package string
	Args    []*Type // of generic types
	// Alias is what an alias stands for.
	Alias *Type
	// Params is how many type parameters the type lacks arguments for.
	Params int

	Elem, Key *Type
	Len       int64
	// Fields of structs. Those that neither JSON nor a program outside of the
	// package can see have no type.
	Fields []*Field
	// Open is true for interfaces without methods.
	Open bool
	// Raw is true when the type was declared as a copy of json.RawMessage,
	// which does not have its methods.
	Raw bool

	// Consts are the values of the exported constants of a declared string
	// type, sorted by their names.
	Consts []string

	Methods Methods
	// Lock is what makes copying the type wrong, such as "mu sync.Mutex", or "".
	Lock string
	// Why is the type checker's word about an invalid type.
	Why string

	Pos token.Position // of the declaration; only the line is exact outside of the loaded packages
	Doc string
}

// Methods are the methods that JSON encoding looks for, on a type or a pointer to it.
type Methods struct {
	MarshalJSON, UnmarshalJSON bool
	MarshalText, UnmarshalText bool
	// MarshalJSONTo and UnmarshalJSONFrom are called from Go 1.27.
	MarshalJSONTo, UnmarshalJSONFrom bool
	// From is the embedded field whose JSON or text methods became the type's, or "".
	From string
}

// Field is a field of a struct.
type Field struct {
	Name     string
	Embedded bool
	Exported bool
	Type     *Type
	Tag      string // the whole tag, unquoted
	Pos      token.Position
	TagPos   token.Position // of the tag's first byte
	Doc      string
	// Source is true when the field is declared in a loaded package, so that
	// Pos is exact and is a place that the user can change.
	Source bool
	// Words are those of the tag's "bullmq" key.
	Words []Word
}

// TypeScript is what the field's tag says that its value is for Node programs,
// or "".
func (f *Field) TypeScript() string { return reflect.StructTag(f.Tag).Get("ts") }

// Word is one word of a "bullmq" tag.
type Word struct {
	Text string
	Pos  token.Position
}

// Is is true for the declared type of that path and name, or an alias of it.
func (t *Type) Is(path, name string) bool {
	t = t.Actual()
	return t.Path == path && t.Name == name
}

// Actual is what the type is behind all aliases.
func (t *Type) Actual() *Type {
	for t.Alias != nil {
		t = t.Alias
	}
	return t
}

// JSON is true when the type says itself how it is written in JSON.
func (t *Type) JSON() bool {
	m := t.Actual().Methods
	return m.MarshalJSON || m.UnmarshalJSON
}

// Text is true when the type is written in JSON as a string of its own making.
func (t *Type) Text() bool {
	m := t.Actual().Methods
	return m.MarshalText || m.UnmarshalText
}

// SelfMade is true when the type says itself how it is written in JSON, as a
// string or otherwise.
func (t *Type) SelfMade() bool { return t.JSON() || t.Text() }

// HiddenBy returns the embedded field by whose methods a struct encodes itself
// while it has other fields, which are lost, or nil.
func (t *Type) HiddenBy() *Field {
	var from *Field
	others := 0
	for _, f := range t.Fields {
		switch {
		case f.Name == t.Methods.From:
			from = f
		case f.visible() && reflect.StructTag(f.Tag).Get("json") != "-":
			others++
		}
	}
	if t.Methods.From == "" || others == 0 {
		return nil
	}
	return from
}

// Forgotten reports whether a struct of which JSON sees nothing has fields, and
// no json tag that leaves them out on purpose.
func (t *Type) Forgotten() bool {
	found := false
	for _, f := range t.Fields {
		found = found || f.Name != "_"
		if _, tagged := reflect.StructTag(f.Tag).Lookup("json"); tagged {
			return false
		}
	}
	return found
}

// Writer is the type that has the methods by which t writes itself: t, what it
// points to, or a type that it embeds.
func (t *Type) Writer() *Type {
	t = t.Actual()
	for seen := map[*Type]bool{}; !seen[t]; {
		seen[t] = true
		switch {
		case t.Kind == Pointer:
			t = t.Elem.Actual()
			continue
		case t.Methods.From == "":
			return t
		}
		for _, f := range t.Fields {
			if f.Name == t.Methods.From && f.Type != nil {
				t = f.Type.Actual()
				break
			}
		}
	}
	return t
}

// Endless is true for a declared pointer type that leads back to itself through
// types without names alone, such as type Node *struct{ Next Node }. Nothing on
// the way has a name to refer to, in a JSON Schema or in TypeScript.
func (t *Type) Endless() bool {
	t = t.Actual()
	if t.Kind != Pointer || t.Name == "" {
		return false
	}
	seen := map[*Type]bool{}
	var leads func(from *Type) bool
	leads = func(from *Type) bool {
		if from == nil {
			return false
		}
		from = from.Actual()
		if from == t {
			return true
		}
		if seen[from] || from.Name != "" && from.Kind != Pointer {
			return false
		}
		seen[from] = true
		return leads(from.Elem) || leads(from.Key) ||
			slices.ContainsFunc(from.Fields, func(f *Field) bool { return leads(f.Type) })
	}
	return leads(t.Elem)
}

// Bytes is true for slices that encoding/json writes as base64: the elements
// are bytes by kind, and do not write themselves.
func (t *Type) Bytes() bool {
	elem := t.Elem.Actual()
	return elem.Basic == "byte" && !elem.Methods.MarshalJSON && !elem.Methods.MarshalText
}

// String is the type in Go syntax, with package names, for messages.
func (t *Type) String() string {
	if t.Name != "" {
		name := t.Name
		if t.Package != "" {
			name = t.Package + "." + name
		}
		if len(t.Args) > 0 {
			args := make([]string, len(t.Args))
			for i, a := range t.Args {
				args[i] = a.String()
			}
			name += "[" + strings.Join(args, ", ") + "]"
		}
		return name
	}
	return t.literal()
}

// Describe is the type as String has it, and what it is made of when its name
// does not tell.
func (t *Type) Describe() string {
	actual := t.Actual()
	if t.Name != "" && actual.literal() != t.Name && actual.Kind != Struct && actual.Kind != Interface {
		return t.String() + " (" + actual.literal() + ")"
	}
	return t.String()
}

func (t *Type) literal() string {
	switch t.Kind {
	case Pointer:
		return "*" + t.Elem.String()
	case Slice:
		return "[]" + t.Elem.String()
	case Array:
		return "[" + strconv.FormatInt(t.Len, 10) + "]" + t.Elem.String()
	case Map:
		return "map[" + t.Key.String() + "]" + t.Elem.String()
	case Struct:
		return "struct{...}"
	case Interface:
		return "interface{...}"
	case Chan:
		return "chan " + t.Elem.String()
	case Func:
		return "func(...)"
	case Invalid:
		return "an invalid type"
	}
	return t.Basic
}
