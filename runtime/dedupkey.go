package bullmq

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// maxKey is how many bytes the values of a key have at most before a hash
// stands for them.
const maxKey = 128

// emptyKey stands for a key without content. Adding a job with it is refused:
// all such jobs would be duplicates of the first.
const emptyKey = "\x00empty"

// DedupKey makes a deduplication id from values: equal for equal values and
// the same in every program and version. Adding a job whose key is made of one
// empty text is refused: all such jobs would be duplicates of the first.
//
// Each value is written as text. Texts have a backslash before each backslash,
// comma and tilde, and `\.` in place of a colon. Booleans are true and false;
// numbers are as JavaScript writes them, and -0 is 0; a time is an instant in
// UTC, in RFC 3339 with as many digits of the second as it needs. A nil pointer
// is a tilde. The values are joined with commas. If that has more than 128
// bytes of UTF-8, a tilde and its SHA-256 hash in hexadecimal stand in its place.
func DedupKey(values ...any) string {
	key := joined(values)
	if key == "" {
		return emptyKey
	}
	return key
}

// DedupKeyIn is DedupKey in a scope: the scope, a slash, and the key. Jobs whose
// keys have different scopes never deduplicate each other. In the scope slashes
// have a backslash before them too. Generated code passes the task's name,
// unless the field's tag has another scope.
func DedupKeyIn(scope string, values ...any) string {
	key := joined(values)
	if key == "" {
		return emptyKey
	}
	return scoped(scope, key)
}

// JobIDIn makes a job id from values in a scope, of the same text as DedupKeyIn
// makes. Peers take each such id: it is no integer, and has no colon. It is
// empty for a single empty text: then the queue numbers the job.
func JobIDIn(scope string, values ...any) string {
	key := joined(values)
	if key == "" {
		return ""
	}
	return scoped(scope, key)
}

func scoped(scope, key string) string { return scopeEscape.Replace(scope) + "/" + key }

// joined is the text of the values of a key.
func joined(values []any) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(keyPart(v))
	}
	if b.Len() <= maxKey {
		return b.String()
	}
	sum := sha256.Sum256([]byte(b.String()))
	return "~" + hex.EncodeToString(sum[:])
}

// scopeEscape keeps scopes apart from the values that follow.
var scopeEscape = strings.NewReplacer(`\`, `\\`, ",", `\,`, ":", `\.`, "~", `\~`, "/", `\/`)

// keyEscape keeps joined values apart, and colons out of the key's name.
var keyEscape = strings.NewReplacer(`\`, `\\`, ",", `\,`, ":", `\.`, "~", `\~`)

func keyPart(v any) string {
	switch x := v.(type) {
	case nil:
		return "~"
	case string:
		return keyEscape.Replace(x)
	case time.Time:
		return keyEscape.Replace(x.UTC().Format(time.RFC3339Nano))
	}
	return reflectPart(reflect.ValueOf(v))
}

// reflectPart handles named types and pointers. Generated code passes only
// kinds that are listed here; other values are told apart by their Go syntax.
func reflectPart(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "~"
		}
		return keyPart(v.Elem().Interface())
	case reflect.String:
		return keyPart(v.String())
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return strconv.FormatUint(v.Uint(), 10)
	case reflect.Float32:
		return numberText(v.Float(), 32)
	case reflect.Float64:
		return numberText(v.Float(), 64)
	}
	return keyEscape.Replace(fmt.Sprintf("%#v", v.Interface()))
}

// numberText is the shortest number that rounds to f, as JavaScript writes it.
func numberText(f float64, bits int) string {
	format, size, small := byte('f'), math.Abs(f), 1e-6
	if bits == 32 {
		small = float64(float32(small)) // the shortest number that rounds to it is 1e-6 itself
	}
	if size != 0 && (size < small || size >= 1e21) {
		format = 'e'
	}
	text := strconv.FormatFloat(f+0, format, -1, bits) // -0 + 0 is 0
	if mantissa, exponent, ok := strings.Cut(text, "e-0"); ok {
		return mantissa + "e-" + exponent
	}
	return text
}

// Until is the time from now until t, for a payload's field that says when its
// job is to run; a zero or past time is no delay.
func Until(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return max(0, time.Until(t))
}
