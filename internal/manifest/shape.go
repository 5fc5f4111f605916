package manifest

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// difference is one between two schemas.
type difference struct {
	path, what, cure string
	// harmless is true when all values of the old schema are good for the new one.
	harmless bool
}

// shapes compares two schemas. Each type is compared once with each other one.
type shapes struct {
	old, now *Schema
	// required is true when a member that is missing is refused.
	required bool
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
	s.found = append(s.found, difference{path: path, what: fmt.Sprintf(format, args...), harmless: true})
}

// plain is a schema without its reference and its null.
func plain(root, s *Schema) (out *Schema, null bool) {
	for range 100 { // a manifest that was edited by hand may lead in a circle
		switch {
		case s == nil:
			return &Schema{}, true
		case s.Ref == "#":
			s = root
		case s.Ref != "":
			name, _ := url.PathUnescape(strings.TrimPrefix(s.Ref, defs)) // "" has no definition
			s = root.Defs[name]
		case len(s.AnyOf) == 2:
			null, s = true, s.AnyOf[0]
		default:
			return s, null || slices.Contains(s.Type, "null") || s.anything()
		}
	}
	return &Schema{}, true
}

// anything is true for a schema that refuses nothing.
func (s *Schema) anything() bool { return len(s.Type) == 0 && len(s.Enum) == 0 }

// compare looks for what makes a value of old bad for now.
func (s *shapes) compare(path string, old, now *Schema) {
	old, oldNull := plain(s.old, old)
	now, nowNull := plain(s.now, now)
	if s.seen[[2]*Schema{old, now}] {
		return
	}
	s.seen[[2]*Schema{old, now}] = true
	switch {
	case now.anything() && old.anything():
		return
	case now.anything():
		s.harmless(path, "may be anything now")
		return
	case old.anything():
		s.differ(path, "keep json.RawMessage", "was any JSON and is %s now", now.describe())
		return
	}
	if was, is := old.describe(), now.describe(); was != is && !(was == "integer" && is == "number") {
		s.differ(path, "keep its type and add a member of the new one", "was %s and is %s now", was, is)
		return
	}
	switch {
	case oldNull && !nowNull: // Go takes null for everything; other programs may care
		s.harmless(path, "is never null now")
	case nowNull && !oldNull:
		s.harmless(path, "may be null now: deploy workers before producers")
	}
	s.numbers(path, old, now)
	s.parts(path, old, now)
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
	case s.Pattern != "":
		text += " (a number as text)"
	case len(s.Enum) > 0:
		text += " (" + strings.Join(s.Enum, ", ") + ")"
	case s.MinItems != nil:
		text += fmt.Sprintf(" of %d", *s.MinItems)
	}
	return text
}

// numbers compares what integers are in range.
func (s *shapes) numbers(path string, old, now *Schema) {
	tighter := func(old, now *int64, sign int64) bool {
		return now != nil && (old == nil || *old*sign > *now*sign)
	}
	if tighter(old.Maximum, now.Maximum, 1) || tighter(old.Minimum, now.Minimum, -1) {
		s.differ(path, "keep the wider type", "has a smaller range now")
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
	switch {
	case old.Additional == nil && now.Additional != nil:
		s.differ(path, "keep the struct", "was an object with fixed members and is a map now")
		return
	case old.Additional != nil && now.Additional == nil:
		s.differ(path, "keep the map", "was a map and has fixed members now")
		return
	case old.Names != nil != (now.Names != nil):
		s.differ(path, "keep the type of its keys", "has keys of another type now")
	}
	for _, name := range slices.Sorted(maps.Keys(old.Properties)) {
		at := path + "." + name
		if now.Properties[name] == nil {
			lost := ""
			if s.required {
				lost = ", and its value in jobs that are in the queue would be ignored"
			}
			s.differ(at, "keep the member", "is gone%s", lost)
			continue
		}
		s.compare(at, old.Properties[name], now.Properties[name])
		switch was, is := slices.Contains(old.Required, name), slices.Contains(now.Required, name); {
		case is && !was && s.required:
			s.differ(at, "keep omitempty, or the pointer", "is required now, and jobs that are in the queue may lack it")
		case was && !is:
			s.harmless(at, "is optional now: deploy workers before producers")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now.Properties)) {
		switch at := path + "." + name; {
		case old.Properties[name] != nil:
		case s.required && slices.Contains(now.Required, name):
			s.differ(at, "add omitempty", "is new and required, and jobs that are in the queue lack it")
		default:
			s.harmless(at, "is new and optional")
		}
	}
}
