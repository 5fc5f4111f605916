package jsdecode

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep JSON may be nested; encoding/json has the same limit.
const maxDepth = 10000

// reader compares a JSON text with a plan, in one pass. It leaves syntax to
// encoding/json, which reads the text afterwards: what is not JSON may pass.
type reader struct {
	text []byte
	at   int
	// careful is true when the text has bytes that are not UTF-8.
	careful bool
	// ends has the end of each object and array. It is set in the second pass,
	// which looks for members that stand twice.
	ends map[int]int
	// probe decodes each value of a type that reads its JSON itself, to find the
	// one that does not decode.
	probe bool
	edits []edit
}

// edit replaces a part of the text.
type edit struct {
	from, to int
	text     string
}

// check compares the text with the plan, and returns the text that encoding/json
// reads as Node does: of members that stand twice only the last, without names
// that differ in case from a member's, and with integers as digits alone.
func (p *plan) check(text []byte, what string) ([]byte, error) {
	r := reader{text: text, careful: !utf8.Valid(text)}
	if m := r.value(p, 0); m != nil {
		// What does not fit, or stands twice, may be overridden by a later member.
		ends, ok := containerEnds(text)
		if !ok {
			return nil, syntaxError(text)
		}
		r = reader{text: text, careful: r.careful, ends: ends}
		if m = r.value(p, 0); m != nil {
			return nil, m.error(text, what)
		}
	}
	return r.edited(), nil
}

func (r *reader) edited() []byte {
	if len(r.edits) == 0 {
		return r.text
	}
	var out []byte
	at := 0
	for _, e := range r.edits {
		out = append(append(out, r.text[at:e.from]...), e.text...)
		at = e.to
	}
	return append(out, r.text[at:]...)
}

// value compares the next value with the plan.
func (r *reader) value(p *plan, depth int) *mismatch {
	c := r.next()
	switch {
	case c == 0:
		return badSyntax
	case depth > maxDepth:
		return &mismatch{reason: fmt.Sprintf("it is nested more than %d deep", maxDepth)}
	case c == 'n' && p.null:
		r.skip()
		return nil
	case c == 'n' && !bytes.HasPrefix(r.text[r.at:], []byte("null")):
		return badSyntax
	case c == 'n':
		return &mismatch{reason: "null does not fit " + p.typ.String(), null: true}
	}
	if p.kind == planPointer {
		return r.value(p.elem, depth+1)
	}
	switch p.kind {
	case planAny:
		return r.any(p, c, depth)
	case planOwn:
		return r.own(p)
	case planObject:
		if c == '{' {
			return r.object(p, depth)
		}
	case planMap:
		if c == '{' {
			return r.dictionary(p, depth)
		}
	case planList:
		if c == '[' {
			return r.list(p, depth)
		}
	case planBool:
		if !p.quoted && (c == 't' || c == 'f') {
			r.skip()
			return nil
		}
	}
	return r.scalar(p, c)
}

// any compares a value that may be anything.
func (r *reader) any(p *plan, c byte, depth int) *mismatch {
	switch c {
	case '{':
		return r.dictionary(p, depth)
	case '[':
		return r.list(p, depth)
	case '"':
		_, m := r.string()
		return m
	}
	r.skip()
	return nil
}

// own skips a value that its type reads itself.
func (r *reader) own(p *plan) *mismatch {
	from := r.at
	if !r.skip() {
		return badSyntax
	}
	text := r.text[from:r.at]
	if r.careful && !utf8.Valid(text) {
		return &mismatch{reason: notUTF8}
	}
	if r.probe {
		return decodesAlone(p, text)
	}
	return nil
}

func (r *reader) list(p *plan, depth int) *mismatch {
	r.at++
	n := 0
	for ; ; n++ {
		more, m := r.more(n == 0, ']')
		if m != nil {
			return m
		}
		if !more {
			break
		}
		if m := r.value(p.elem, depth+1); m != nil {
			return m.below(segment{index: n})
		}
	}
	if p.size >= 0 && n != p.size {
		return &mismatch{reason: fmt.Sprintf("%s: a list of %d does not fit %s", counted(n), n, p.typ)}
	}
	return nil
}

// more goes to the next value of a container, or past its end.
func (r *reader) more(first bool, end byte) (bool, *mismatch) {
	switch c := r.next(); {
	case c == end:
		r.at++
		return false, nil
	case first:
		return true, nil
	case c == ',':
		r.at++
		r.next()
		return true, nil
	}
	return false, badSyntax
}

func counted(n int) string {
	if n == 1 {
		return "there is 1 item"
	}
	return fmt.Sprintf("there are %d items", n)
}

// object compares the members of a struct.
func (r *reader) object(p *plan, depth int) *mismatch {
	dropped := r.dropped()
	r.at++
	var few [4]uint64 // a bit for each member that was found
	found := few[:]
	if n := (len(p.members) + 63) / 64; n > len(few) {
		found = make([]uint64, n)
	}
	next := 0
	for first := true; ; first = false {
		from, name, m := r.member(first, dropped)
		switch {
		case m != nil:
			return m
		case from < 0:
			return p.missing(found)
		}
		i := p.find(name, next)
		if i < 0 {
			if p.confused(name) {
				r.edits = append(r.edits, edit{from, from + bytes.IndexByte(r.text[from:], ':'), `""`})
			}
			if !r.skip() {
				return badSyntax
			}
			continue
		}
		if next = i + 1; found[i/64]&(1<<(i%64)) != 0 {
			return badSyntax // it stands twice: the second pass drops the first
		}
		found[i/64] |= 1 << (i % 64)
		if m := r.value(p.members[i].plan, depth+1); m != nil {
			return m.below(segment{name: p.members[i].name, index: -1})
		}
	}
}

// missing names the required members that were not found.
func (p *plan) missing(found []uint64) *mismatch {
	var names []string
	for i := range p.members {
		if p.members[i].required && found[i/64]&(1<<(i%64)) == 0 {
			names = append(names, p.members[i].name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return (&mismatch{missing: names}).below(segment{name: names[0], index: -1})
}

// dictionary compares the members of a map.
func (r *reader) dictionary(p *plan, depth int) *mismatch {
	dropped := r.dropped()
	r.at++
	for first := true; ; first = false {
		from, name, m := r.member(first, dropped)
		if m != nil || from < 0 {
			return m
		}
		m = r.key(p, r.text[from:stringEnd(r.text, from)], name)
		if m == nil {
			m = r.value(p.elem, depth+1)
		}
		if m != nil {
			return m.below(segment{name: strings.ToValidUTF8(string(name), "\ufffd"), index: -1})
		}
	}
}

// member goes to the value of the next member of an object, past members that
// are dropped, and returns its name and where it begins: -1 at the end.
func (r *reader) member(first bool, dropped map[int]int) (from int, name []byte, m *mismatch) {
	more, m := r.more(first, '}')
	if !more {
		return -1, nil, m
	}
	for to, ok := dropped[r.at]; ok; to, ok = dropped[r.at] {
		r.edits = append(r.edits, edit{from: r.at, to: to})
		r.at = to
	}
	from = r.at
	name, ok := r.name()
	if !ok {
		return from, nil, badSyntax
	}
	return from, name, nil
}

// name reads the name of a member, and the colon after it.
func (r *reader) name() ([]byte, bool) {
	from := r.at
	if r.next() != '"' {
		return nil, false
	}
	end := stringEnd(r.text, from)
	if end-from < 2 {
		return nil, false
	}
	r.at = end
	if r.next() != ':' {
		return nil, false
	}
	r.at++
	return unquoted(r.text[from:end]), true
}

// dropped returns the members of the object here that a later one of the same
// name overrides, as JavaScript's JSON.parse has it: where each begins, and where
// the next member does.
func (r *reader) dropped() map[int]int {
	if r.ends == nil {
		return nil
	}
	var out map[int]int
	last := map[string]int{} // where the last member of the name begins
	next := map[int]int{}
	look := reader{text: r.text, at: r.at + 1, ends: r.ends}
	for before := -1; look.next() == '"'; {
		from := look.at
		next[before], before = from, from
		name, ok := look.name()
		if !ok || !look.skip() {
			return out
		}
		if earlier, twice := last[string(name)]; twice {
			if out == nil {
				out = map[int]int{}
			}
			out[earlier] = next[earlier]
		}
		last[string(name)] = from
		if look.next() != ',' {
			return out
		}
		look.at++
	}
	return out
}
