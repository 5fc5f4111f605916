package jsdecode

import (
	"bytes"
	"encoding/json"
)

// EachMember calls f with the name of each member of the top-level object, as
// long as f wants more. Text that is no object has none.
func EachMember(text []byte, f func(name []byte) bool) {
	depth, name := 0, false // name: the next string at depth 1 is a name
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
			name = depth == 1 && text[i] == '{'
			if depth == 1 && !name {
				return
			}
		case '}', ']':
			depth--
		case ',':
			name = depth == 1
		case '"':
			end := stringEnd(text, i)
			if depth == 0 || name && !f(unquoted(text[i:end])) {
				return
			}
			name = false
			i = end - 1
		}
	}
}

// stringEnd is the place after the string that begins at a place.
func stringEnd(text []byte, from int) int {
	for i := from + 1; ; {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return len(text)
		}
		i += n + 1
		slashes := 0
		for text[i-2-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 { // else the quote is part of the string
			return i
		}
	}
}

// unquoted is what a JSON string says.
func unquoted(quoted []byte) []byte {
	for _, c := range quoted {
		if c == '\\' {
			var s string
			_ = json.Unmarshal(quoted, &s) // a string in text that was decoded before
			return []byte(s)
		}
	}
	return quoted[1 : len(quoted)-1]
}
