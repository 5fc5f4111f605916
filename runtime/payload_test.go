package bullmq

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

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

// FuzzMembers compares with encoding/json.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":{"c":[]}}`, `{"\u0061\ud83d\ude00":"\"{,"}`, `[{"a":1}]`, ` {"x" : "y"} `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) || !utf8.Valid(text) {
			t.Skip("no JSON")
		}
		var want map[string]json.RawMessage
		_ = json.Unmarshal(text, &want) // what is no object has no members
		got := map[string]bool{}
		eachMember(text, func(name []byte) bool {
			got[string(name)] = true
			return true
		})
		for name := range want {
			require.True(t, got[name], "%q of %q", name, text)
		}
		require.Len(t, got, len(want))
	})
}
