package bullmq

import (
	"errors"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/internal/jsdecode"
	"github.com/bullmq-gen/bullmq-gen/internal/jsjson"
)

// Validator is implemented by payloads that check themselves. It is asked
// before a job is added and before its handler runs.
type Validator interface{ Validate() error }

// encodeJSON encodes v as Node would, and returns an error for what Node or Go
// would not read back as it is.
func encodeJSON(v any) ([]byte, error) {
	if _, none := v.(None); none {
		return []byte("null"), nil
	}
	return jsjson.Marshal(v)
}

// validate asks a payload that checks itself.
func validate(payload any) error {
	v, ok := payload.(Validator)
	if !ok {
		return nil
	}
	return guard.Call("Validate", v.Validate)
}

// decodePayload reads a payload. What its type does not accept is an error: a
// zero value never stands for a value that is missing.
func decodePayload[P any](text []byte, into *P) error {
	if len(text) == 0 {
		return errors.New("the payload is empty: the producer had a value without JSON form")
	}
	if err := jsdecode.Decode("payload", text, into); err != nil {
		return err
	}
	return validate(into)
}

// decodeValue reads a result as strictly as a payload.
func decodeValue[R any](value []byte, into *R) error {
	if len(value) == 0 {
		value = []byte("null")
	}
	return jsdecode.Decode("result", value, into)
}
