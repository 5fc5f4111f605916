package agreement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// shape is a Go type, and what JSON values it has.
type shape struct {
	src  string // as Go source has it
	kind kind
	// scalar returns a random value that is neither an object nor an array.
	scalar func(*rand.Rand) string
	elem   *shape
	key    *shape // of maps
	size   int    // of arrays
	fields []*field
	// tag is the ts tag that a field of the type needs, and ts the schema of that
	// TypeScript type.
	tag, ts string
	// quotes is true for scalars, on which ",string" has an effect.
	quotes bool
}

type kind int

const (
	scalar kind = iota
	pointer
	list
	dictionary
	object
)

// nillable is true for types whose values may be absent and null.
func (s *shape) nillable() bool {
	return s.kind == pointer || s.kind == dictionary || s.kind == list && s.size < 0 || slices.Contains([]string{"[]byte", "json.RawMessage", "net.IP", "Labels", "Blob", "*big.Int"}, s.src)
}

type field struct {
	name     string // in JSON; "": embedded
	of       *shape
	optional bool
	quoted   bool
}

func one(of ...string) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return of[r.IntN(len(of))] }
}

func quotable(src string, values ...string) *shape {
	return &shape{src: src, scalar: one(values...), size: -1, quotes: true}
}

func written(src string, values ...string) *shape {
	return &shape{src: src, scalar: one(values...), size: -1}
}

// leaves are the types that random ones are made of.
var leaves = []*shape{
	quotable("bool", "true", "false"),
	quotable("string", `"a"`, `""`, `"\"q\""`, `"é \u2028"`, `"12"`, `"true"`),
	quotable("int", "0", "-1", "9007199254740993", "1e3", "1.0"),
	quotable("int8", "-128", "127", "1"), quotable("int16", "-32768", "32767"), quotable("int32", "-2147483648", "2147483647"),
	quotable("int64", "-9223372036854775808", "9223372036854775807", "5"),
	quotable("uint", "0", "18446744073709551615"), quotable("uint8", "0", "255"), quotable("uint16", "65535", "2e1"),
	quotable("uint32", "4294967295", "7"), quotable("uint64", "18446744073709551615", "3"), quotable("uintptr", "1"),
	quotable("float32", "1.5", "-3.4028235e38", "0"), quotable("float64", "1.7976931348623157e308", "1e21", "-0.1", "3"),
	quotable("json.Number", "1", "-2.50e3"),
	quotable("Color", `"red"`, `"blue"`), quotable("Size", `"any"`, `""`), quotable("Count", "1", "200"),
	written("[]byte", `"aGk="`, `""`, `"AAAA"`, "null"), written("Blob", `"aGk="`),
	written("time.Time", `"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05.123+02:00"`),
	written("netip.Addr", `"10.0.0.1"`, `"::1"`), written("net.IP", `"10.0.0.1"`, "null"), written("Level", `"low"`, `"high"`),
	written("big.Int", "0", "123456789012345678901234567890", "-1e20"), written("*big.Int", "null", "5"),
	{src: "json.RawMessage", scalar: one("1", "null", `"x"`, "false"), size: -1},
	{src: "Cents", scalar: one(`"12"`, `""`), size: -1, tag: "string", ts: `{"type":"string"}`},
	{src: "Maybe", scalar: one("12", "null"), size: -1, tag: "number | null", ts: `{"type":["number","null"]}`},
	{src: "Labels", scalar: one(`"a,b"`), size: -1, tag: "string", ts: `{"type":"string"}`},
	{src: "[4]byte", kind: list, size: 4, elem: quotable("uint8", "0", "255")},
	{src: "struct{}", kind: object, size: -1},
}

// support declares the types of the leaves, and Knot, which is recursive.
const support = `package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"time"
)

var (
	_ time.Time
	_ netip.Addr
	_ net.IP
	_ big.Int
)

type Color string

const (
	Red  Color = "red"
	Blue Color = "blue"
)

type Size string
type Count uint8
type Blob []byte

// Level writes itself as text.
type Level int8

func (l Level) MarshalText() ([]byte, error) { return []byte([]string{"low", "high"}[l]), nil }

func (l *Level) UnmarshalText(text []byte) error {
	switch string(text) {
	case "low":
		*l = 0
	case "high":
		*l = 1
	default:
		return errors.New("no level")
	}
	return nil
}

// Cents writes itself as a JSON string, and ignores null.
type Cents struct{ text string }

func (c Cents) MarshalJSON() ([]byte, error) { return json.Marshal(c.text) }

func (c *Cents) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	return json.Unmarshal(text, &c.text)
}

// Maybe is a number or null.
type Maybe struct{ n *float64 }

func (m Maybe) MarshalJSON() ([]byte, error) { return json.Marshal(m.n) }

func (m *Maybe) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &m.n) }

// Labels is a map that writes itself as a string, also when it is nil.
type Labels map[string]bool

func (l Labels) MarshalJSON() ([]byte, error) {
	var names []string
	for name := range l {
		names = append(names, name)
	}
	return json.Marshal(strings.Join(names, ","))
}

func (l *Labels) UnmarshalJSON(text []byte) error {
	var names string
	if bytes.HasPrefix(text, []byte("n")) {
		return nil
	}
	if err := json.Unmarshal(text, &names); err != nil {
		return err
	}
	*l = Labels{}
	for name := range strings.SplitSeq(names, ",") {
		(*l)[name] = true
	}
	return nil
}

type Pair[A, B any] struct {
	Left  A ` + "`json:\"left\"`" + `
	Right []B
}

type Knot struct {
	V    int8             ` + "`json:\"v\"`" + `
	Next *Knot            ` + "`json:\"next,omitempty\"`" + `
	Kids []Knot           ` + "`json:\"kids\"`" + `
	By   map[string]*Knot ` + "`json:\"by\"`" + `
}

`

var knot = func() *shape {
	k := &shape{src: "Knot", kind: object, size: -1}
	k.fields = []*field{
		{name: "v", of: quotable("int8", "1")}, {name: "next", of: &shape{kind: pointer, elem: k, size: -1}, optional: true},
		{name: "kids", of: &shape{kind: list, elem: k, size: -1}}, {name: "by", of: &shape{kind: dictionary, key: keys[0], elem: &shape{kind: pointer, elem: k, size: -1}, size: -1}},
	}
	return k
}()

// keys are the types of the keys of maps.
var keys = []*shape{
	written("string", `"a"`, `""`, `"é b"`), written("Color", `"red"`, `"other"`), written("int8", `"-128"`, `"5"`),
	written("uint64", `"18446744073709551615"`, `"0"`), written("netip.Addr", `"10.0.0.1"`, `"::1"`), written("Level", `"low"`),
}

// maker makes random types, and declares the structs among them.
type maker struct {
	*rand.Rand
	source strings.Builder
	n      int
}

func (m *maker) next() int {
	m.n++
	return m.n
}

// shape returns a type that is at most so deep.
func (m *maker) shape(depth int) *shape {
	if depth == 0 || m.IntN(3) == 0 {
		if m.IntN(20) == 0 {
			return knot
		}
		return leaves[m.IntN(len(leaves))]
	}
	if m.IntN(3) == 0 {
		return m.declared(depth)
	}
	elem := m.shape(depth - 1)
	s := &shape{elem: elem, size: -1, tag: elem.tag, ts: elem.ts}
	switch m.IntN(5) {
	case 0:
		s.kind, s.src = pointer, "*"+elem.src
		if strings.HasPrefix(elem.src, "*") {
			return elem
		}
		s.ts = orNull(s.ts)
	case 1:
		if elem.src == "uint8" || elem.src == "Count" {
			return elem // a list of them is base64
		}
		s.kind, s.src = list, "[]"+elem.src
		s.wrap("%s[]", `{"type":["array","null"],"items":%s}`)
	case 2:
		s.kind, s.size = list, []int{0, 1, 2, 9}[m.IntN(4)]
		s.src = fmt.Sprintf("[%d]%s", s.size, elem.src)
		s.wrap("%s[]", `{"type":"array","items":%s}`)
	case 3:
		s.kind, s.key = dictionary, keys[m.IntN(len(keys))]
		s.src = "map[" + s.key.src + "]" + elem.src
		s.wrap("{ [key: string]: %s }", `{"type":["object","null"],"additionalProperties":%s}`)
	case 4:
		if elem.tag != "" || elem.src == "Knot" {
			return elem
		}
		return &shape{kind: object, size: -1, src: "Pair[string, " + elem.src + "]", fields: []*field{
			{name: "left", of: leaves[1]}, {name: "Right", of: m.pairList(elem)},
		}}
	}
	return s
}

// pairList is a list, which is base64 if its items are bytes.
func (m *maker) pairList(elem *shape) *shape {
	if elem.src == "uint8" || elem.src == "Count" {
		return written("[]byte", `"aGk="`, "null")
	}
	return &shape{kind: list, elem: elem, size: -1}
}

// wrap makes the TypeScript type of a list or map of that of what it holds.
func (s *shape) wrap(tag, ts string) {
	if s.tag == "" {
		return
	}
	inner := s.tag
	if s.elem.nillable() && s.elem.src != "Labels" {
		inner += " | null"
	}
	if strings.Contains(tag, "[]") && strings.Contains(inner, "|") {
		inner = "(" + inner + ")"
	}
	s.tag, s.ts = fmt.Sprintf(tag, inner), fmt.Sprintf(ts, s.ts)
}

func orNull(ts string) string {
	if ts == "" {
		return ""
	}
	return `{"anyOf":[` + ts + `,{"type":"null"}]}`
}

// declared declares a struct, and now and then a type that is made of others.
func (m *maker) declared(depth int) *shape {
	name := fmt.Sprintf("T%d", m.next())
	if inner := m.shape(depth - 1); m.IntN(4) == 0 && inner.tag == "" && (inner.kind == list || inner.kind == dictionary) && inner.src != "" {
		fmt.Fprintf(&m.source, "type %s %s\n\n", name, inner.src)
		named := *inner
		named.src = name
		return &named
	}
	return m.structure(name, depth)
}

func (m *maker) structure(name string, depth int) *shape {
	s := &shape{src: name, kind: object, size: -1}
	var fields strings.Builder
	for range 1 + m.IntN(5) {
		m.field(s, &fields, depth)
	}
	fmt.Fprintf(&m.source, "type %s struct {\n%s\thidden int\n\tLeft chan int `json:\"-\"`\n}\n\n", name, fields.String())
	return s
}

func (m *maker) field(s *shape, fields *strings.Builder, depth int) {
	n := m.next()
	if depth > 1 && m.IntN(6) == 0 {
		inner := m.structure(fmt.Sprintf("E%d", n), depth-1)
		star := []string{"", "*"}[m.IntN(2)]
		fmt.Fprintf(fields, "\t%s%s\n", star, inner.src)
		for _, f := range inner.fields {
			again := *f
			again.optional = again.optional || star != ""
			s.fields = append(s.fields, &again)
		}
		return
	}
	f := &field{name: fmt.Sprintf("F%d", n), of: m.shape(depth - 1)}
	options := ""
	if m.IntN(2) == 0 {
		f.name = fmt.Sprintf([]string{"f%d", "f-%d", "é %d", "F_%d"}[m.IntN(4)], n)
		options = f.name
	}
	if m.IntN(4) == 0 {
		options, f.optional = options+[]string{",omitempty", ",omitzero"}[m.IntN(2)], true
	}
	scalar := f.of
	if scalar.kind == pointer {
		scalar = scalar.elem
	}
	if scalar.quotes && m.IntN(4) == 0 {
		options, f.quoted = options+",string", true
	}
	tag := ""
	if options != "" {
		tag = `json:"` + options + `"`
	}
	if f.of.tag != "" {
		tag = strings.TrimSpace(tag + ` ts:"` + f.of.tag + `"`)
		fmt.Fprintf(fields, "\t// ts: %s\n", f.of.ts)
	}
	if tag != "" {
		tag = " `" + tag + "`"
	}
	fmt.Fprintf(fields, "\tF%d %s%s\n", n, f.of.src, tag)
	s.fields = append(s.fields, f)
}
