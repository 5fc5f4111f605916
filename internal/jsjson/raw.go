package jsjson

import (
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// appendJSON appends a JSON text without its white space, if it is one that
// JavaScript reads with no loss. With canonical set its strings are escaped as
// JSON.stringify does, and otherwise stay as they are.
func (s *state) appendJSON(text []byte, canonical bool) error {
	r := &reader{s: s, text: text, canonical: canonical}
	depth := s.depth
	if err := r.value(); err != nil {
		return err
	}
	if r.space(); r.at < len(text) {
		return r.unexpected("after the value")
	}
	s.depth = depth
	return nil
}

// reader checks and copies a JSON text.
type reader struct {
	s         *state
	text      []byte
	at        int
	canonical bool
}

var errCut = errors.New("the JSON is cut off")

func (r *reader) space() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return
		}
	}
}

// next skips white space and returns the byte there, or 0 at the end.
func (r *reader) next() byte {
	if r.space(); r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *reader) unexpected(where string) error {
	if r.at >= len(r.text) {
		return errCut
	}
	c, _ := utf8.DecodeRune(r.text[r.at:])
	return fmt.Errorf("%q is no JSON %s, at byte %d", c, where, r.at)
}

// copy appends the text up to a place and goes there.
func (r *reader) copy(end int) {
	r.s.text = append(r.s.text, r.text[r.at:end]...)
	r.at = end
}

func (r *reader) value() error {
	switch c := r.next(); {
	case c == '{':
		return r.object()
	case c == '[':
		return r.array()
	case c == '"':
		_, err := r.str()
		return err
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	case r.word("null"), r.word("true"), r.word("false"):
		return nil
	}
	return r.unexpected("at the beginning of a value")
}

func (r *reader) word(w string) bool {
	end := r.at + len(w)
	if end > len(r.text) || string(r.text[r.at:end]) != w {
		return false
	}
	r.copy(end)
	return true
}

func (r *reader) number() error {
	end := numberEnd(r.text, r.at)
	if end < 0 {
		return errors.New("a number is malformed")
	}
	if err := changed(string(r.text[r.at:end])); err != nil {
		return err
	}
	r.copy(end)
	return nil
}

func (r *reader) array() error {
	i := 0
	return r.container(']', "after an element", func() error {
		err := below(element(i), r.value())
		i++
		return err
	})
}

func (r *reader) object() error {
	return r.container('}', "after a member", func() error {
		if r.next() != '"' {
			return r.unexpected("where a name should be")
		}
		name, err := r.str()
		if err != nil {
			return err
		}
		if r.next() != ':' {
			return r.unexpected("after a name")
		}
		r.copy(r.at + 1)
		if err := r.value(); err != nil {
			return below(member(r.said(name)), err)
		}
		return nil
	})
}

// container copies an array or object with each of what it holds. After says
// where something else stands than a comma or the end.
func (r *reader) container(end byte, after string, each func() error) error {
	if err := r.s.enter(); err != nil {
		return err
	}
	r.copy(r.at + 1)
	for first := true; !first || r.next() != end; first = false {
		if err := each(); err != nil {
			return err
		}
		c := r.next()
		if c == end {
			break
		}
		if c != ',' {
			return r.unexpected(after)
		}
		r.copy(r.at + 1)
	}
	r.copy(r.at + 1)
	r.s.depth--
	return nil
}

// said is what a string says that was checked before.
func (r *reader) said(quoted []byte) string {
	var b []byte
	for at := 1; at < len(quoted)-1; {
		if quoted[at] != '\\' {
			b = append(b, quoted[at])
			at++
			continue
		}
		var c rune
		c, at, _ = escape(quoted, at)
		b = utf8.AppendRune(b, c)
	}
	return string(b)
}

// str checks and copies the string at this place, and returns it as it stood.
func (r *reader) str() ([]byte, error) {
	start, escaped := r.at, false
	end := start + 1
	for ; end < len(r.text) && r.text[end] != '"'; end++ {
		switch c := r.text[end]; {
		case c < ' ':
			return nil, fmt.Errorf("a string has the control character %q as it is", c)
		case c == '\\':
			escaped = true
			_, next, err := escape(r.text, end)
			if err != nil {
				return nil, err
			}
			end = next - 1
		}
	}
	if end >= len(r.text) {
		return nil, errCut
	}
	end++
	quoted := r.text[start:end]
	if !utf8.Valid(quoted) {
		return nil, errUTF8
	}
	if escaped && r.canonical {
		r.s.text = appendString(r.s.text, r.said(quoted))
		r.at = end
		return quoted, nil
	}
	r.copy(end)
	return quoted, nil
}

var errSurrogate = errors.New("a string has half of a surrogate pair, which is no text: a Go program would read it as U+FFFD")

// escape reads the escape at a place, which begins with a backslash, and
// returns the place after it.
func escape(text []byte, at int) (rune, int, error) {
	if at+1 >= len(text) {
		return 0, 0, errCut
	}
	switch c := text[at+1]; c {
	case '"', '\\', '/':
		return rune(c), at + 2, nil
	case 'b':
		return '\b', at + 2, nil
	case 'f':
		return '\f', at + 2, nil
	case 'n':
		return '\n', at + 2, nil
	case 'r':
		return '\r', at + 2, nil
	case 't':
		return '\t', at + 2, nil
	case 'u':
	default:
		return 0, 0, fmt.Errorf("a string has the unknown escape \\%c", c)
	}
	c, ok := hex4(text, at)
	if !ok {
		return 0, 0, errors.New("a string has \\u without four hexadecimal digits")
	}
	if !utf16.IsSurrogate(c) {
		return c, at + 6, nil
	}
	low, ok := hex4(text, at+6)
	if pair := utf16.DecodeRune(c, low); ok && pair != utf8.RuneError {
		return pair, at + 12, nil
	}
	return 0, 0, errSurrogate
}

// hex4 reads the escape \uXXXX at a place.
func hex4(text []byte, at int) (c rune, ok bool) {
	if at+6 > len(text) || text[at] != '\\' || text[at+1] != 'u' {
		return 0, false
	}
	for _, d := range text[at+2 : at+6] {
		switch {
		case d >= '0' && d <= '9':
			c = c<<4 | rune(d-'0')
		case d >= 'a' && d <= 'f':
			c = c<<4 | rune(d-'a'+10)
		case d >= 'A' && d <= 'F':
			c = c<<4 | rune(d-'A'+10)
		default:
			return 0, false
		}
	}
	return c, true
}
