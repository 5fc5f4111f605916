package vectors

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

var (
	number  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	integer = regexp.MustCompile(`^-?[0-9]+$`)
)

// jsonFields are the hash and event fields whose text is JSON.
var jsonFields = map[string]bool{
	"opts": true, "data": true, "parent": true, "returnvalue": true,
	"progress": true, "stacktrace": true,
}

// sameField compares two values of a hash field or event field by its name.
func sameField(name, want, got string) bool {
	return sameText(want, got) || jsonFields[name] && sameJSON(want, got)
}

// sameText compares texts, and numbers as numbers.
func sameText(want, got string) bool {
	return want == got || sameNumber(want, got)
}

// sameNumber compares two JSON numbers. Integers are compared by their digits,
// so that none is rounded.
func sameNumber(a, b string) bool {
	if !number.MatchString(a) || !number.MatchString(b) {
		return false
	}
	if integer.MatchString(a) && integer.MatchString(b) {
		return a == b
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

// sameJSON compares two JSON texts: keys in any order, escapes resolved,
// numbers as numbers.
func sameJSON(a, b string) bool {
	x, okX := parse(a)
	y, okY := parse(b)
	return okX && okY && sameTree(x, y)
}

func parse(text string) (any, bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return nil, false
	}
	return v, true
}

func sameTree(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && sameText(x.String(), y.String())
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !sameTree(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k := range x {
			if v, ok := y[k]; !ok || !sameTree(x[k], v) {
				return false
			}
		}
		return true
	}
	return a == b
}
