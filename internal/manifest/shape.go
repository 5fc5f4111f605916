package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// difference is one between two schemas.
type difference struct {
	path, what, cure string
	// harmless is true when all values of the old schema are good for the new one.
	harmless bool
}

// shapes compares two schemas: whether values of the one can be read by the other.
// Each type is compared once with each other one.
type shapes struct {
	old, now *Schema
	// where are the values that were made before, in words, and lost is what it
	// means for them that a member is gone.
	where, lost string
	// reversed is true when it is the values of the new schema that are read by
	// programs of the old version, so that old is the new one here.
	reversed bool
	seen     map[[2]*Schema]bool
	found    []difference
}

func newShapes(old, now *Schema) *shapes {
	return &shapes{old: old, now: now, seen: map[[2]*Schema]bool{}}
}

func (s *shapes) differ(path, cure, format string, args ...any) {
	s.found = append(s.found, difference{path: path, what: fmt.Sprintf(format, args...), cure: cure})
}

func (s *shapes) harmless(path, format string, args ...any) {
	if !s.reversed { // it is told once
		s.found = append(s.found, difference{path: path, what: fmt.Sprintf(format, args...), harmless: true})
	}
}

// become says what a value was and is now.
func (s *shapes) become(path, cure string, old, now string) {
	if s.reversed {
		old, now = now, old
	}
	s.differ(path, cure, "was %s and is %s now", old, now)
}

// plain is a schema without its reference and its null.
func plain(root, s *Schema) (out *Schema, null bool) {
	for range 100 { // a manifest that was edited by hand may lead in a circle
		switch {
		case s == nil:
			return &Schema{}, true
		case s.Ref != "":
			s = root.Defs[referred(s.Ref)]
		case len(s.AnyOf) == 2:
			null, s = true, s.AnyOf[0]
		default:
			return s, null || slices.Contains(s.Type, "null") || len(s.Type)+len(s.Enum) == 0
		}
	}
	return &Schema{}, true
}

// anything is true for a schema that refuses nothing, but for null.
func (s *Schema) anything() bool {
	return len(s.Type) == 0 && len(s.Enum) == 0 || slices.Equal(s.Type, notNull)
}

// compare looks for what makes a value of old bad for now.
func (s *shapes) compare(path string, old, now *Schema) {
	old, oldNull := plain(s.old, old)
	now, nowNull := plain(s.now, now)
	if s.seen[[2]*Schema{old, now}] {
		return
	}
	s.seen[[2]*Schema{old, now}] = true
	was, is := old.describe(), now.describe()
	switch {
	case now.anything() && old.anything():
		return
	case now.anything():
		s.harmless(path, "may be anything now")
		return
	case old.anything():
		s.become(path, "keep json.RawMessage", "any JSON", is)
		return
	case old.Additional != nil && now.Additional == nil && slices.Contains(now.Type, "object"):
		s.become(path, "keep the map", "a map", "an object with fixed members")
		return
	case was == is:
	case old.within(now):
		s.harmless(path, "was %s and is %s now, which takes that too: deploy workers before producers", was, is)
	default:
		s.become(path, "keep its type and add a member of the new one", was, is)
		return
	}
	switch {
	case oldNull && !nowNull && now.Items == nil && now.Additional == nil && !s.reversed:
		s.differ(path, "keep the pointer", "is never null now, and %s may have null there", s.where)
	case oldNull && !nowNull && now.Items == nil && now.Additional == nil:
		s.differ(path, "leave the pointer out", "may be null now")
	case oldNull && !nowNull:
		s.harmless(path, "is never null now")
	case nowNull && !oldNull:
		s.harmless(path, "may be null now: deploy workers before producers")
	}
	s.numbers(path, old, now)
	s.constants(path, old, now)
	s.parts(path, old, now)
}

// within is true when the values of s are good for now too, as far as the schemas
// themselves say, without what is below.
func (s *Schema) within(now *Schema) bool {
	for _, t := range s.Type {
		if t != "null" && !slices.Contains(now.Type, t) && !(t == "integer" && slices.Contains(now.Type, "number")) {
			return false
		}
	}
	bounds := func(was, is *int64) bool { return is == nil || was != nil && *was == *is }
	return (now.Format == "" || now.Format == s.Format) &&
		now.Encoding == s.Encoding && // the text of bytes means something else
		slices.Index(numerals, now.Pattern) >= slices.Index(numerals, s.Pattern) &&
		(len(now.Enum) == 0 || slices.Equal(now.Enum, s.Enum)) &&
		(now.Names == nil || s.Names != nil && s.Names.within(now.Names)) &&
		bounds(s.MinItems, now.MinItems) && bounds(s.MaxItems, now.MaxItems)
}

// constants compares the values that the constants of a string type have.
func (s *shapes) constants(path string, old, now *Schema) {
	if s.reversed || len(old.Examples) == 0 || len(now.Examples) == 0 {
		return // a type without constants takes any text
	}
	without := func(all, others []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(v string) bool { return slices.Contains(others, v) })
	}
	if lost := without(old.Examples, now.Examples); len(lost) > 0 {
		s.differ(path, "keep the constants", "has no constant %q any more, and %s may have that", strings.Join(lost, ", "), s.where)
	}
	if gained := without(now.Examples, old.Examples); len(gained) > 0 {
		s.harmless(path, "has the constant %q now: deploy workers before producers", strings.Join(gained, ", "))
	}
}

// describe is the type of a schema in words, as far as one type differs from another.
func (s *Schema) describe() string {
	types := slices.DeleteFunc(slices.Clone(s.Type), func(t string) bool { return t == "null" })
	text := strings.Join(types, " or ")
	for _, more := range []string{s.Format, s.Encoding} {
		if more != "" {
			text += " (" + more + ")"
		}
	}
	switch {
	case s.Pattern != "" && s.Encoding == "":
		text += " (a number as text, " + s.Pattern + ")"
	case len(s.Enum) > 0:
		text += " (" + strings.Join(s.Enum, ", ") + ")"
	case s.MinItems != nil:
		text += fmt.Sprintf(" of %d", *s.MinItems)
	case s.Names != nil:
		text += " with numbers for keys (" + s.Names.Pattern + ")"
	}
	return text
}

// numerals are the patterns of numbers as text: each takes what those before it
// take. The last one takes any text.
var numerals = []string{unsignedText, signedText, floatText, ""}

// numbers compares what integers are in range.
func (s *shapes) numbers(path string, old, now *Schema) {
	tighter := func(old, now json.Number, sign int) bool {
		if old == "" || now == "" {
			return now != ""
		}
		was, _ := new(big.Rat).SetString(old.String())
		is, _ := new(big.Rat).SetString(now.String())
		return was == nil || is == nil || was.Cmp(is)*sign > 0
	}
	if tighter(old.Maximum, now.Maximum, 1) || tighter(old.Minimum, now.Minimum, -1) {
		size := "smaller"
		if s.reversed {
			size = "greater"
		}
		s.differ(path, "keep its type", "has a %s range now", size)
	}
}

// parts compares what is below.
func (s *shapes) parts(path string, old, now *Schema) {
	if old.Items != nil && now.Items != nil {
		s.compare(path+"[]", old.Items, now.Items)
	}
	if old.Additional != nil && now.Additional != nil {
		s.compare(path+"[]", old.Additional, now.Additional)
	}
	if old.Additional == nil && now.Additional != nil {
		for _, name := range slices.Sorted(maps.Keys(old.Properties)) {
			s.compare(path+"."+name, old.Properties[name], now.Additional)
		}
		return
	}
	s.members(path, old, now)
}

// members compares the members of objects.
func (s *shapes) members(path string, old, now *Schema) {
	for _, name := range slices.Sorted(maps.Keys(old.Properties)) {
		at := path + "." + name
		if now.Properties[name] == nil {
			if !s.reversed { // new members are ignored where they are not known
				s.differ(at, "keep the member", "is gone, and %s", s.lost)
			}
			continue
		}
		s.compare(at, old.Properties[name], now.Properties[name])
		switch was, is := slices.Contains(old.Required, name), slices.Contains(now.Required, name); {
		case is && !was && s.reversed:
			s.differ(at, "keep it in all of them", "is optional now")
		case is && !was:
			s.differ(at, "keep omitempty, or the pointer", "is required now, and %s may lack it", s.where)
		case was && !is:
			s.harmless(at, "is optional now: deploy workers before producers")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now.Properties)) {
		switch at := path + "." + name; {
		case old.Properties[name] != nil || s.reversed: // one that is gone was told the first time
		case slices.Contains(now.Required, name):
			s.differ(at, "add omitempty", "is new and required, and %s lack it", s.where)
		default:
			s.harmless(at, "is new and optional")
		}
	}
}
