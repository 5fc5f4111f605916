package bullmq

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// maxKey is the longest deduplication id that is used as it is.
const maxKey = 128

// emptyKey stands for a key without content. Adding a job with it is refused:
// all such jobs would yield to each other.
const emptyKey = "\x00empty"

// DedupKey makes a deduplication id from values: equal for equal values and
// the same in every program and version. Values are written as text, those
// that are not plain words with escapes, and joined with commas; a long id is
// shortened to a SHA-256 hash. Adding a job whose key is made of one empty text is refused:
// all such jobs would yield to each other.
//
// Texts are compared byte by byte, times as instants, and -0 equals 0. A nil
// pointer differs from every value.
func DedupKey(values ...any) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(keyPart(v))
	}
	key := b.String()
	if key == "" {
		return emptyKey
	}
	if len(key) > maxKey {
		sum := sha256.Sum256([]byte(key))
		return "sha256-" + hex.EncodeToString(sum[:])
	}
	return key
}

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
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float()+0, 'g', -1, 64) // -0 + 0 is 0
	}
	return keyEscape.Replace(fmt.Sprintf("%#v", v.Interface()))
}

// Until is the time from now until t, for a payload's field that says when its
// job is to run; a zero or past time is no delay.
func Until(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return max(0, time.Until(t))
}
