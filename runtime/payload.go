package bullmq

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/internal/jsjson"
)

// encodeJSON encodes v as Node would, and returns an error for what Node or Go
// would not read back as it is.
func encodeJSON(v any) ([]byte, error) {
	if _, none := v.(None); none {
		return []byte("null"), nil
	}
	return jsjson.Marshal(v)
}

// Validator is implemented by payloads that check themselves. It is asked
// before a job is added and before its handler runs.
type Validator interface{ Validate() error }

// validate asks a payload that checks itself before it is added.
func validate(payload any) error {
	v, ok := payload.(Validator)
	if !ok {
		return nil
	}
	return guard.Call("Validate", v.Validate)
}

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
