// Package tstag reads the struct tag ts, which holds the TypeScript type of a
// field. The generator and the runtime must read it alike.
package tstag

import (
	"strings"
	"unicode"
)

// TakesNull reports whether null is a value of the TypeScript type: it names
// null, any or unknown outside of quotes.
func TakesNull(tag string) bool {
	var quote rune
	word := 0 // where the present word begins
	for i, r := range tag + " " {
		switch {
		case quote != 0:
			if r == quote {
				quote, word = 0, i+len(string(r))
			}
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '$':
		default:
			switch tag[min(word, len(tag)):i] {
			case "null", "any", "unknown":
				return true
			}
			word = i + len(string(r))
			if strings.ContainsRune("\"'`", r) {
				quote = r
			}
		}
	}
	return false
}
