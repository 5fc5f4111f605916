package agreement

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// value is a JSON value.
type value struct {
	text string // of a scalar
	// open is '[' or '{' for what holds others.
	open  byte
	names []string // as JSON strings
	items []*value
}

func (v *value) String() string { return v.write(false) }

// write writes the value as JSON, or as a literal type of TypeScript, which has
// each name once.
func (v *value) write(once bool) string {
	if v.open == 0 {
		return v.text
	}
	var parts []string
	for i, item := range v.items {
		part := item.write(once)
		if v.open == '{' {
			if once && slices.Contains(v.names[i+1:], v.names[i]) {
				continue
			}
			part = v.names[i] + ":" + part
		}
		parts = append(parts, part)
	}
	return string(v.open) + strings.Join(parts, ",") + map[byte]string{'[': "]", '{': "}"}[v.open]
}

// valueOf returns a random value of a type.
func valueOf(r *rand.Rand, s *shape, quoted bool, depth int) *value {
	switch s.kind {
	case pointer:
		if depth <= 0 || r.IntN(4) == 0 {
			return &value{text: "null"}
		}
		return valueOf(r, s.elem, quoted, depth-1)
	case list:
		if s.size < 0 && r.IntN(6) == 0 {
			return &value{text: "null"}
		}
		v := &value{open: '['}
		n := s.size
		if n < 0 {
			n = r.IntN(3)
			if depth <= 0 {
				n = 0
			}
		}
		for range n {
			v.items = append(v.items, valueOf(r, s.elem, false, depth-1))
		}
		return v
	case dictionary:
		if r.IntN(6) == 0 {
			return &value{text: "null"}
		}
		v := &value{open: '{'}
		for range r.IntN(3) {
			if name := s.key.scalar(r); depth > 0 && !slices.Contains(v.names, name) {
				v.names, v.items = append(v.names, name), append(v.items, valueOf(r, s.elem, false, depth-1))
			}
		}
		return v
	case object:
		v := &value{open: '{'}
		for _, f := range s.fields {
			if (f.optional || f.of.nillable()) && r.IntN(3) == 0 {
				continue
			}
			v.names, v.items = append(v.names, strconv.Quote(f.name)), append(v.items, valueOf(r, f.of, f.quoted, depth-1))
		}
		return v
	}
	text := s.scalar(r)
	if quoted {
		text = inString(s, text)
	}
	return &value{text: text}
}

// inString is a scalar below the option ",string".
func inString(s *shape, text string) string {
	if text[0] == '"' {
		return strconv.Quote(text)
	}
	if strings.Contains(s.src, "int") && strings.ContainsAny(text, ".e") {
		text = "20" // such numbers are no integers in strings
	}
	return `"` + text + `"`
}

// others are values to put in the place of right ones.
var others = []string{
	"null", "null", "{}", "[]", `""`, `"x"`, "0", "-1", "1", "1.0", "1e3", "1.5", "-0", "300", "70000", "5000000000",
	"9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e300", "1e400",
	"true", "false", `"1"`, `"-1"`, `"300"`, `"01"`, `"1.0"`, `"1e400"`, `"99999999999999999999"`, `"true"`, `"null"`, `"\"x\""`, `"\"x"`, `"\"\\ud800\""`,
	`"aGk"`, `"aGk="`, `"***"`, `"red"`, `"RED"`, `"2026-01-02"`, `"2026-01-02T03:04:05Z"`, `"10.0.0"`, `"low"`, `"\ud800"`, `"\ud83d\ude00"`,
	"[null]", "[1]", "[1,2]", "[1,2,3,4]", `["x"]`, `{"x":1}`, `{"5":null}`, `{"300":1}`, `{"low":true}`, `{"v":1}`, `{"left":"x"}`,
}

// parse makes a value of one of others.
func parse(text string) *value {
	if text[0] != '[' && text[0] != '{' {
		return &value{text: text}
	}
	v := &value{open: text[0]}
	if inner := text[1 : len(text)-1]; inner != "" {
		for part := range strings.SplitSeq(inner, ",") {
			name, item, ok := strings.Cut(part, ":")
			if ok {
				v.names, part = append(v.names, name), item
			}
			v.items = append(v.items, &value{text: part})
		}
	}
	return v
}

// mutate changes a value in one place.
func mutate(r *rand.Rand, v *value) {
	if len(v.items) > 0 && r.IntN(4) > 0 {
		mutate(r, v.items[r.IntN(len(v.items))])
		return
	}
	other := parse(others[r.IntN(len(others))])
	switch i := 0; {
	case len(v.items) == 0 || r.IntN(5) == 0:
		*v = *other
	case v.open == '[':
		if r.IntN(2) == 0 {
			v.items = v.items[1:]
		} else {
			v.items = append(v.items, v.items[0])
		}
	default:
		i = r.IntN(len(v.items))
		v.member(r, i, other)
	}
}

// member changes a member of an object.
func (v *value) member(r *rand.Rand, i int, other *value) {
	names, items := slices.Clone(v.names), slices.Clone(v.items)
	switch r.IntN(5) {
	case 0:
		names, items = slices.Delete(names, i, i+1), slices.Delete(items, i, i+1)
	case 1:
		names[i] = otherCase(names[i])
	case 2:
		names, items = append(names, otherCase(names[i])), append(items, other)
	case 3:
		names, items = append(names, `"unknown"`), append(items, other)
	case 4: // twice; the last one counts
		names, items = append(names, names[i]), append(items, items[i])
		items[i] = other
	}
	v.names, v.items = names, items
}

func otherCase(name string) string {
	if upper := strings.ToUpper(name); upper != name {
		return upper
	}
	return strings.ToLower(name)
}
