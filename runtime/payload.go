package bullmq

import (
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

// validate asks a payload that checks itself before it is added.
func validate(payload any) error {
	v, ok := payload.(Validator)
	if !ok {
		return nil
	}
	return guard.Call("Validate", v.Validate)
}
