package bullmq

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// encodeJSON is v as JSON text that a JavaScript peer reads with no loss:
// without HTML escaping, so that its bytes are those that Node writes, and
// with an error for what has no true form there.
func encodeJSON(v any) ([]byte, error) {
	if _, none := v.(None); none {
		return []byte("null"), nil
	}
	e := encoders.Get().(*encoder)
	defer e.release()
	if err := e.json.Encode(v); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(e.text.Bytes(), []byte("\n"))
	if err := checkText(v, text); err != nil {
		return nil, err
	}
	return bytes.Clone(text), nil
}

// encoder writes JSON into a buffer that is used again.
type encoder struct {
	text bytes.Buffer
	json *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.text)
	e.json.SetEscapeHTML(false)
	return e
}}

// maxKeptBuffer is the largest buffer that is kept for the next payload.
const maxKeptBuffer = 64 << 10

func (e *encoder) release() {
	if e.text.Cap() > maxKeptBuffer {
		return
	}
	e.text.Reset()
	encoders.Put(e)
}

// checkText finds what encoding/json lets pass: invalid UTF-8, which it
// replaces without a word, and integers that JavaScript would round.
func checkText(v any, text []byte) error {
	// Up to Go 1.26 encoding/json writes the replacement as an escape, then as it is.
	if bytes.Contains(text, []byte(`\ufffd`)) || bytes.Contains(text, []byte("\ufffd")) {
		if path, ok := invalidUTF8(reflect.ValueOf(v), "", 0); ok {
			return fmt.Errorf("%s is not valid UTF-8: send bytes as []byte", path)
		}
	}
	if n := longInteger(text); n != "" {
		return fmt.Errorf("integer %s is beyond 2^53 and Node peers would round it: tag the field `json:\",string\"`", n)
	}
	return nil
}

// longInteger returns the first number outside strings that is an integer
// which a float64 does not hold exactly.
func longInteger(text []byte) string {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			i = stringEnd(text, i) - 1
		case c >= '0' && c <= '9':
			end := i + 1
			for end < len(text) && isNumberByte(text[end]) {
				end++
			}
			if end-i > 15 && unsafeInteger(string(text[i:end])) {
				return string(text[i:end])
			}
			i = end - 1
		}
	}
	return ""
}

func isNumberByte(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

func unsafeInteger(s string) bool {
	if strings.ContainsAny(s, ".eE") {
		return false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return err != nil || n > 1<<53-1
}

// invalidUTF8 returns the path of the first string that is not valid UTF-8.
// It runs only when there is reason to think that one is.
func invalidUTF8(v reflect.Value, path string, depth int) (string, bool) {
	if depth > 100 || !v.IsValid() {
		return "", false
	}
	switch v.Kind() {
	case reflect.String:
		return orPayload(path), !utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return invalidUTF8(v.Elem(), path, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if p, bad := invalidUTF8(v.Field(i), path+"."+v.Type().Field(i).Name, depth+1); bad {
				return p, true
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if p, bad := invalidUTF8(v.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+1); bad {
				return p, true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if p, bad := invalidUTF8(it.Key(), path+" key", depth+1); bad {
				return p, true
			}
			if p, bad := invalidUTF8(it.Value(), fmt.Sprintf("%s[%v]", path, it.Key()), depth+1); bad {
				return p, true
			}
		}
	}
	return "", false
}

func orPayload(path string) string {
	if path == "" {
		return "the value"
	}
	return strings.TrimPrefix(path, ".")
}

// Validator is implemented by payloads that check themselves. It is asked
// before a job is added and before its handler runs.
type Validator interface{ Validate() error }

// decodeJSON reads a payload and never lets a zero value pass for one.
func decodeJSON[P any](text []byte, required []string, into *P) error {
	if len(text) == 0 {
		return errors.New("the payload is empty: the producer had a value without JSON form")
	}
	if bytes.Equal(text, []byte("null")) && !takesNull(into) {
		return errors.New("the payload is null")
	}
	if err := json.Unmarshal(text, into); err != nil {
		return explain(err)
	}
	if len(required) > 0 {
		if missing := missingMembers(text, required); len(missing) > 0 {
			return fmt.Errorf("the payload lacks %s", strings.Join(missing, ", "))
		}
	}
	if v, ok := any(into).(Validator); ok {
		return v.Validate()
	}
	return nil
}

// takesNull is true for payload types for which null is a value.
func takesNull[P any](p *P) bool {
	switch any(p).(type) {
	case *json.RawMessage, json.Unmarshaler:
		return true
	}
	switch reflect.TypeFor[P]().Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return true
	}
	return false
}

// explain puts the JSON path first in what encoding/json says.
func explain(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("at $%s: a JSON %s does not fit %s", dotted(wrong.Field), wrong.Value, wrong.Type)
	}
	return err
}

func dotted(field string) string {
	if field == "" {
		return ""
	}
	return "." + field
}
