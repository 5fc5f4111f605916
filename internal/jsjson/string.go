package jsjson

import (
	"errors"
	"strings"
)

var errUTF8 = errors.New("the text is not valid UTF-8: send bytes as []byte")

const hex = "0123456789abcdef"

// plain is true for the bytes that stand for themselves in a JSON string.
var plain = func() (p [256]bool) {
	for c := range p {
		p[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return p
}()

// AppendString appends a string as JSON.stringify writes it. Bytes that are not
// valid UTF-8 become U+FFFD.
func AppendString(b []byte, s string) []byte {
	return appendString(b, strings.ToValidUTF8(s, "\ufffd"))
}

// appendString appends a string as JSON.stringify writes it. The text must be
// valid UTF-8.
func appendString[T string | []byte](b []byte, s T) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		if plain[s[i]] {
			continue
		}
		b = appendEscape(append(b, s[from:i]...), s[i])
		from = i + 1
	}
	return append(append(b, s[from:]...), '"')
}

// appendEscape appends a byte that has an escape in JSON.
func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
