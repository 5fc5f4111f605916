package bullmq

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPayloadsAreWrittenAsNodeWritesThem(t *testing.T) {
	t.Parallel()
	text, err := encodeJSON(map[string]any{"html": "<b>&</b>", "emoji": "😀", "n": 9007199254740991, "f": 1.5, "sep": "\u2028"})
	require.NoError(t, err)
	require.Equal(t, `{"emoji":"😀","f":1.5,"html":"<b>&</b>","n":9007199254740991,"sep":"\u2028"}`, string(text))
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
		"bad text":      {struct{ In inner }{inner{[]string{"ok", "\xff"}}}, "In.Names[1] is not valid UTF-8"},
		"bad key":       {map[string]int{"\xff": 1}, "key is not valid UTF-8"},
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

type checked struct {
	N int `json:"n"`
}

func (c checked) Validate() error {
	if c.N < 0 {
		return json.Unmarshal([]byte("{"), &c)
	}
	return nil
}

func TestPayloadsNeverDecodeToZeroValues(t *testing.T) {
	t.Parallel()
	type deep struct {
		Items []struct {
			Count int `json:"count"`
		} `json:"items"`
	}
	type payload struct {
		ID string `json:"id"`
		In deep   `json:"in"`
	}
	for text, want := range map[string]string{
		"":     "payload is empty",
		"null": "payload is null",
		"{":    "unexpected end",
		"[]":   "at $: a JSON array does not fit",
		`{"id":"a","in":{"items":[{"count":"x"}]}}`: "at $.in.items.count: a JSON string does not fit int",
		`{"in":{}}`:           `lacks "id"`,
		`{}`:                  `lacks "id", "in"`,
		`{"ID":"a","in":{}}`:  `lacks "id"`,
		`{"id":"a","in":{}} `: "",
	} {
		var p payload
		err := decodeJSON([]byte(text), []string{"id", "in"}, &p)
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
	}
	var p *payload
	require.NoError(t, decodeJSON([]byte("null"), nil, &p))
	var raw json.RawMessage
	require.NoError(t, decodeJSON([]byte("null"), nil, &raw))
	var c checked
	require.Error(t, decodeJSON([]byte(`{"n":-1}`), nil, &c))
}
