package jsdecode

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	notUTF8       = "it is not valid UTF-8"
	loneSurrogate = `it has half of a surrogate pair, such as "\ud800", which is no character`
)

// scalar compares a value that is no object and no array with the plan.
func (r *reader) scalar(p *plan, c byte) *mismatch {
	number := c == '-' || c >= '0' && c <= '9'
	switch {
	case p.quoted && c == '"':
		return r.inString(p)
	case p.quoted:
	case c == '"':
		switch p.kind {
		case planString:
			_, m := r.string()
			return m
		case planBytes:
			return r.bytes(p)
		case planText:
			from := r.at
			_, m := r.string()
			if m == nil && r.probe {
				m = decodesAlone(p, r.text[from:r.at])
			}
			return m
		}
	case number && p.kind == planNumber:
		r.number()
		return nil
	case number && p.kind == planFloat:
		return p.fitsFloat(string(r.number()))
	case number && (p.kind == planInt || p.kind == planUint):
		return r.integer(p)
	}
	if !number && strings.IndexByte(`{["tf`, c) < 0 {
		return badSyntax
	}
	return &mismatch{reason: fmt.Sprintf("a JSON %s does not fit %s", jsonKind(c), p.typ)}
}

// jsonKind is the kind of the JSON value that begins with c.
func jsonKind(c byte) string {
	switch c {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	}
	return "number"
}

// string reads a string and refuses what is no text.
func (r *reader) string() (quoted []byte, m *mismatch) {
	from := r.at
	r.at = stringEnd(r.text, from)
	quoted = r.text[from:r.at]
	switch {
	case len(quoted) < 2:
		return nil, badSyntax
	case r.careful && !utf8.Valid(quoted):
		return nil, &mismatch{reason: notUTF8}
	case halfPair(quoted):
		return nil, &mismatch{reason: loneSurrogate}
	}
	return quoted, nil
}

// halfPair reports whether escapes in a string make half of a surrogate pair.
func halfPair(quoted []byte) bool {
	high := false // the last escape was the first half of a pair
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			if high {
				return true
			}
			continue
		}
		u := escapedUnit(quoted[i:])
		low := u >= 0xdc00 && u < 0xe000
		if high != low {
			return true
		}
		high = u >= 0xd800 && u < 0xdc00
		if u >= 0 {
			i += 4
		}
		i++
	}
	return high
}

// escapedUnit is the number in an escape such as \u00e9, or -1.
func escapedUnit(text []byte) int64 {
	if len(text) < 6 || text[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int64(n)
}

// key compares the name of a member of a map with its type of keys.
func (r *reader) key(p *plan, quoted, name []byte) *mismatch {
	switch {
	case r.careful && !utf8.Valid(quoted):
		return &mismatch{reason: "the key: " + notUTF8}
	case halfPair(quoted):
		return &mismatch{reason: "the key: " + loneSurrogate}
	case p.key.kind == planInt || p.key.kind == planUint:
		if !wholeText(string(name)) || p.key.inRange(string(name)) != nil {
			return &mismatch{reason: fmt.Sprintf("the key does not fit %s", p.key.typ)}
		}
	case p.key.kind == planText && r.probe:
		return p.key.decodesAsKey(quoted)
	case p.key.kind == planNever:
		return &mismatch{reason: fmt.Sprintf("a JSON object does not fit %s", p.typ)}
	}
	return nil
}

// number reads a number.
func (r *reader) number() []byte {
	from := r.at
	for r.at < len(r.text) && strings.IndexByte("+-.0123456789Ee", r.text[r.at]) >= 0 {
		r.at++
	}
	return r.text[from:r.at]
}

// integer compares a number with a plan of integers. JSON has one kind of
// numbers: 1.0 and 1e3 are integers too.
func (r *reader) integer(p *plan) *mismatch {
	from := r.at
	text := r.number()
	if p.small(text) {
		return nil
	}
	whole, ok := wholeNumber(string(text))
	if !ok {
		if !json.Valid(text) {
			return badSyntax
		}
		return &mismatch{reason: fmt.Sprintf("the number %s does not fit %s", shortened(string(text)), p.typ)}
	}
	if whole != string(text) {
		r.edits = append(r.edits, edit{from, r.at, whole})
	}
	return p.inRange(whole)
}

// small reports whether the number fits by its length alone.
func (p *plan) small(text []byte) bool {
	if len(text) > max((p.bits-1)*3/10, 1) { // 2 digits fit 8 bits, 18 fit 64
		return false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// inRange reports what is wrong with an integer's size.
func (p *plan) inRange(whole string) *mismatch {
	var err error
	switch {
	case p.bits == 0:
	case p.kind == planUint:
		_, err = strconv.ParseUint(whole, 10, p.bits)
	default:
		_, err = strconv.ParseInt(whole, 10, p.bits)
	}
	if err != nil {
		return &mismatch{reason: fmt.Sprintf("the number %s does not fit %s", shortened(whole), p.typ)}
	}
	return nil
}

// fitsFloat reports what is wrong with a number's size.
func (p *plan) fitsFloat(text string) *mismatch {
	if len(text) < 30 && !strings.ContainsAny(text, "eE") {
		return nil
	}
	if _, err := strconv.ParseFloat(text, p.bits); err != nil {
		return &mismatch{reason: fmt.Sprintf("the number %s does not fit %s", shortened(text), p.typ)}
	}
	return nil
}

// shortened cuts what a foreign program may have made endless.
func shortened(text string) string {
	if len(text) > 40 {
		return text[:40] + "..."
	}
	return text
}

// maxExponent limits how long an integer becomes when its exponent is written
// out. JavaScript has no larger numbers.
const maxExponent = 308

// wholeNumber writes a JSON number as digits, if it is an integer.
func wholeNumber(text string) (string, bool) {
	if !json.Valid([]byte(text)) {
		return "", false
	}
	digits, negative := strings.CutPrefix(text, "-")
	exponent := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		n, err := strconv.Atoi(digits[i+1:])
		if err != nil {
			n = maxExponent + 1
		}
		digits, exponent = digits[:i], n
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimRight(fraction, "0")
	exponent -= len(digits)
	digits = strings.TrimLeft(whole+digits, "0")
	switch cut := strings.TrimRight(digits, "0"); {
	case digits == "":
		return "0", true
	case exponent > maxExponent || len(digits)-len(cut) < -exponent:
		return "", false
	case exponent < 0:
		digits = digits[:len(digits)+exponent]
	default:
		digits += strings.Repeat("0", exponent)
	}
	if negative {
		digits = "-" + digits
	}
	return digits, true
}

// wholeText reports whether a text is an integer as encoding/json writes it.
func wholeText(text string) bool {
	return json.Valid([]byte(text)) && strings.Trim(text, "-0123456789") == ""
}

// inString compares what a string holds with the plan: the option ",string".
func (r *reader) inString(p *plan) *mismatch {
	quoted, m := r.string()
	if m != nil {
		return m
	}
	text := string(unquoted(quoted))
	number := text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
	fits := false
	switch p.kind {
	case planBool:
		fits = text == "true" || text == "false"
	case planString:
		if fits = text != "" && text[0] == '"' && json.Valid([]byte(text)); fits {
			inner := reader{text: []byte(text)}
			if _, m := inner.string(); m != nil {
				return m
			}
		}
	case planNumber:
		fits = number
	case planFloat:
		fits = number && p.fitsFloat(text) == nil
	case planInt, planUint:
		fits = wholeText(text) && p.inRange(text) == nil
	}
	if !fits {
		return &mismatch{reason: fmt.Sprintf("the string %s does not fit %s,string", shortened(string(quoted)), p.typ)}
	}
	return nil
}

// bytes compares a string with base64.
func (r *reader) bytes(p *plan) *mismatch {
	quoted, m := r.string()
	if m != nil {
		return m
	}
	text := unquoted(quoted)
	n := len(text)
	for n > 0 && n > len(text)-2 && text[n-1] == '=' {
		n--
	}
	for i, c := range text[:n] {
		if !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/') {
			return &mismatch{reason: fmt.Sprintf("byte %d of the string is not base64, as %s has to be", i, p.typ)}
		}
	}
	if len(text)%4 != 0 || n%4 == 1 {
		return &mismatch{reason: fmt.Sprintf("the string of %d bytes is not whole base64, as %s has to be", len(text), p.typ)}
	}
	return nil
}
