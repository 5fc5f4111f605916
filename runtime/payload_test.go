package bullmq

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPayloadsAreWrittenAsNodeWritesThem(t *testing.T) {
	t.Parallel()
	text, err := encodeJSON(map[string]any{"html": "<b>&</b>", "emoji": "😀", "n": int64(9007199254740991), "f": 1.5, "sep": "\u2028"})
	require.NoError(t, err)
	require.Equal(t, `{"emoji":"😀","f":1.5,"html":"<b>&</b>","n":9007199254740991,"sep":" "}`, string(text))
	text, err = encodeJSON("literal \\ufffd and \ufffd")
	require.NoError(t, err)
	require.Equal(t, "\"literal \\\\ufffd and \ufffd\"", string(text))
	big := strings.Repeat("x", 1<<20)
	text, err = encodeJSON(big)
	require.NoError(t, err)
	require.Len(t, text, 1<<20+2)
}

// C019 and its kind: what has no true form in JavaScript is refused.
func TestC019PayloadsThatNodeCannotRead(t *testing.T) {
	t.Parallel()
	type inner struct{ Names []string }
	for name, tt := range map[string]struct {
		value any
		want  string
	}{
		"NaN":           {struct{ F float64 }{math.NaN()}, "NaN"},
		"infinity":      {map[string]any{"x": math.Inf(1)}, "+Inf"},
		"large integer": {struct{ ID int64 }{1<<53 + 1}, "9007199254740993"},
		"huge unsigned": {[]uint64{math.MaxUint64}, ",string"},
		"bad text":      {struct{ In inner }{inner{[]string{"ok", "\xff"}}}, "at $.In.Names[1]: the text is not valid UTF-8"},
		"bad key":       {map[string]int{"\xff": 1}, "at $: a key is not valid UTF-8"},
		"channel":       {struct{ C chan int }{}, "chan int"},
	} {
		_, err := encodeJSON(tt.value)
		require.ErrorContains(t, err, tt.want, name)
	}
	for _, ok := range []any{json.RawMessage(`{"s":"99999999999999999999"}`), json.RawMessage(`[1e300,0.12345678901234567890]`), []byte{0xff}} {
		_, err := encodeJSON(ok)
		require.NoError(t, err)
	}
}

func TestAResultThatIsNothingIsNoStruct(t *testing.T) {
	t.Parallel()
	type person struct {
		Name string `json:"name"`
	}
	var r person
	for text, want := range map[string]string{
		"": "the result is null: its handler returned nothing", "null": "the result is null",
		"{}": `at $.name: the result lacks "name"`, `{"name":"x"}`: "",
	} {
		err := decodeValue([]byte(text), &r)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
	var n None
	require.NoError(t, decodeValue(nil, &n))
	require.NoError(t, decodeValue([]byte(`{"any":1}`), &n))
	var p *person
	require.NoError(t, decodeValue([]byte("null"), &p))
	var raw json.RawMessage
	require.NoError(t, decodeValue([]byte("null"), &raw))
}

func TestAPayloadThatIsEmptyIsAnError(t *testing.T) {
	t.Parallel()
	var p struct{}
	require.ErrorContains(t, decodePayload(nil, &p), "the payload is empty")
}

var errInvalidPayload = errors.New("invalid")

type checked struct {
	N int `json:"n"`
}

func (c checked) Validate() error {
	switch {
	case c.N < 0:
		return errInvalidPayload
	case c.N == 0:
		panic("zero")
	}
	return nil
}

func TestAPanicOfValidateIsAnError(t *testing.T) {
	t.Parallel()
	var c checked
	require.NoError(t, decodePayload([]byte(`{"n":1}`), &c))
	require.ErrorIs(t, decodePayload([]byte(`{"n":-1}`), &c), errInvalidPayload)
	require.ErrorContains(t, decodePayload([]byte(`{"n":0}`), &c), "Validate panicked: zero")
}
