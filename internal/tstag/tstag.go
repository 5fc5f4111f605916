// Package tstag reads the struct tag ts, which holds the TypeScript type of a
// field. The generator and the runtime must read it alike.
package tstag

import (
	"strings"
	"unicode"
)

// TakesNull reports whether null is a value of the TypeScript type, or, below a
// number of lists and maps, of what those hold: (string | null)[] takes null at
// depth 1. The types any and unknown take it at every depth.
func TakesNull(tag string, depth int) bool {
	r := []rune(tag)
	depths := depthsOf(r)
	for i := 0; i < len(r); {
		switch {
		case strings.ContainsRune("\"'`", r[i]):
			i = literalEnd(r, i)
		case isWord(r[i]):
			end := i
			for end < len(r) && isWord(r[end]) {
				end++
			}
			at := depths[i] + lists(r, end)
			switch string(r[i:end]) {
			case "null":
				if at == depth {
					return true
				}
			case "any", "unknown":
				if at <= depth {
					return true
				}
			}
			i = end
		default:
			i++
		}
	}
	return false
}

func isWord(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) || c == '_' || c == '$' }

// literalEnd is the place after the text in quotes that begins at a place.
func literalEnd(r []rune, at int) int {
	quote := r[at]
	for at++; at < len(r); at++ {
		if r[at] == quote {
			return at + 1
		}
	}
	return at
}

// lists is how many [] follow at a place.
func lists(r []rune, at int) (n int) {
	text := strings.ReplaceAll(string(r[at:]), " ", "")
	for strings.HasPrefix(text, "[]") {
		text = text[2:]
		n++
	}
	return n
}

// depthsOf returns below how many lists and maps each place is. Braces, square and
// pointed brackets hold one each, and parentheses only what follows them.
func depthsOf(r []rune) []int {
	depths := make([]int, len(r))
	var open []int
	for i := 0; i < len(r); i++ {
		switch c := r[i]; {
		case strings.ContainsRune("\"'`", c):
			i = literalEnd(r, i) - 1
		case strings.ContainsRune("([{<", c):
			open = append(open, i)
		case c == '>' && i > 0 && r[i-1] == '=':
		case strings.ContainsRune(")]}>", c) && len(open) > 0:
			from := open[len(open)-1]
			open = open[:len(open)-1]
			more := lists(r, i+1)
			if c != ')' {
				more++
			}
			for k := from; k < i; k++ {
				depths[k] += more
			}
		}
	}
	return depths
}
