package jsdecode

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

type readLine struct {
	Quantity int               `json:"quantity"`
	Note     *string           `json:"note"`
	Labels   map[string]string `json:"labels,omitempty"`
}

type readWho struct {
	Name string `json:"name"`
}

type readOrder struct {
	Admin bool `json:"admin"`
	readPart
	Who   readWho             `json:"who"`
	Lines []readLine          `json:"lines"`
	M     map[string]readWho  `json:"m"`
	Pair  [2]int8             `json:"pair,omitempty"`
	Bytes []byte              `json:"bytes"`
	Addr  netip.Addr          `json:"addr,omitzero"`
	Keys  map[netip.Addr]bool `json:"keys"`
	At    time.Time           `json:"at,omitzero"`
	Big   big.Int             `json:"big,omitzero"`
	Long  int64               `json:"long,omitempty"`
	Small float32             `json:"small,omitempty"`
	Text  int64               `json:"text,omitempty,string"`
	Quote string              `json:"quote,omitempty,string"`
	Raw   json.RawMessage     `json:"raw"`
	Any   any                 `json:"any"`
	Own   ownValue            `json:"own,omitzero"`
	Owned []ownValue          `json:"owned" ts:"(string | null)[]"`
	Outer []ownValue          `json:"outer" ts:"string[] | null"`
	Self  ownMap              `json:"self" ts:"string"`
	Maps  ownMap              `json:"maps"`
	Null  nullValue           `json:"null,omitzero"`
	Skip  chan int            `json:"-"`
}

type readPart struct {
	UserID string `json:"userId"`
}

// ownValue reads itself. As encoding/json asks for, it ignores null.
type ownValue struct{ text string }

func (o *ownValue) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"bad"`:
		return errOwn
	case `"panic"`:
		panic("boom")
	}
	o.text = string(text)
	return nil
}

var errOwn = errors.New("own trouble")

// ownMap is a map that reads itself.
type ownMap map[string]int

func (*ownMap) UnmarshalJSON([]byte) error { return nil }

// nullValue writes its zero value as null.
type nullValue struct{ ownValue }

func (nullValue) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

func decodeText[T any](text []byte, into *T) error { return Decode("payload", text, into) }

// The text is put into an object that has all required members.
func TestAPayloadIsReadExactly(t *testing.T) {
	t.Parallel()
	const required = `"admin":false,"userId":"u","who":{"name":"n"}`
	for members, want := range map[string]string{
		``:                            "",
		`"ADMIN":true,"Userid":7`:     "",
		`"unknown":null`:              "",
		`"admin":null`:                "at $.admin: null does not fit bool",
		`"userId":null`:               "at $.userId: null does not fit string",
		`"who":null`:                  "at $.who: null does not fit jsdecode.readWho",
		`"who":{}`:                    `at $.who.name: the payload lacks "name"`,
		`"who":{"Name":"x"}`:          `at $.who.name: the payload lacks "name"`,
		`"who":{"name":"x","NAME":1}`: "",
		`"lines":null`:                "",
		`"lines":[{}]`:                `at $.lines[0].quantity: the payload lacks "quantity"`,
		`"lines":[null]`:              "at $.lines[0]: null does not fit jsdecode.readLine",
		`"lines":[{"quantity":1,"note":null,"labels":null}]`:       "",
		`"lines":[{"quantity":1},{"quantity":2},{"quantity":"x"}]`: "at $.lines[2].quantity: a JSON string does not fit int",
		`"lines":[{"quantity":1.5}]`:                               "at $.lines[0].quantity: the number 1.5 does not fit int",
		`"lines":[{"quantity":1,"labels":{"a b":null}}]`:           `at $.lines[0].labels["a b"]: null does not fit string`,
		`"m":{"id":{}}`:                               `at $.m.id.name: the payload lacks "name"`,
		`"m":{"a.b":{"name":1}}`:                      `at $.m["a.b"].name: a JSON number`,
		`"m":{"a":{"name":1},"a":{"name":"x"}}`:       "",
		`"pair":[1,2]`:                                "",
		`"pair":[1]`:                                  "at $.pair: there is 1 item",
		`"pair":[1,2,3]`:                              "at $.pair: there are 3 items",
		`"pair":null`:                                 "at $.pair: null does not fit [2]int8",
		`"pair":[1,200]`:                              "at $.pair[1]: the number 200 does not fit int8",
		`"bytes":"aGk="`:                              "",
		`"bytes":"\/\/\/\/"`:                          "",
		`"bytes":"***"`:                               "at $.bytes: byte 0 of the string is not base64",
		`"bytes":"aGk"`:                               "at $.bytes: the string of 3 bytes is not whole base64",
		`"bytes":"a==="`:                              "at $.bytes",
		`"bytes":[1]`:                                 "at $.bytes: a JSON array does not fit []uint8",
		`"addr":"10.0.0.1","keys":{"::1":true}`:       "",
		`"addr":"10.0.0"`:                             "at $.addr: it does not fit netip.Addr",
		`"addr":null`:                                 "at $.addr: null does not fit netip.Addr",
		`"addr":1`:                                    "at $.addr: a JSON number does not fit netip.Addr",
		`"keys":{"1.1.1.1":true,"x":true}`:            "at $.keys.x: the key does not fit netip.Addr",
		`"at":"yesterday"`:                            "at $.at: it does not fit time.Time",
		`"at":null`:                                   "at $.at: null does not fit time.Time",
		`"big":123456789012345678901234567890`:        "",
		`"big":1e20`:                                  "",
		`"big":1e999`:                                 "at $.big: the number 1e999",
		`"big":null`:                                  "at $.big: null",
		`"long":9007199254740993,"small":1.5e3`:       "",
		`"long":9223372036854775808`:                  "at $.long: the number 9223372036854775808 does not fit int64",
		`"long":9999999999999999999`:                  "at $.long: the number",
		`"long":1.0`:                                  "",
		`"long":-0`:                                   "",
		`"small":1e300`:                               "at $.small: the number 1e300 does not fit float32",
		`"text":"12","quote":"\"q\""`:                 "",
		`"text":12`:                                   "at $.text: a JSON number does not fit int64",
		`"text":"1.0"`:                                "at $.text: the string \"1.0\" does not fit int64,string",
		`"text":null`:                                 "at $.text: null",
		`"quote":"q"`:                                 "at $.quote: the string \"q\" does not fit string,string",
		`"quote":"","text":"1"`:                       "at $.quote: the string \"\" does not fit string,string",
		`"quote":"\"\\ud800\""`:                       "at $.quote: it has half of a surrogate pair",
		`"raw":null,"any":null`:                       "",
		`"raw":"\ud800"`:                              "",
		`"any":{"a":["\ud83d\ude00","x\\ud800"]}`:     "",
		`"any":{"a":["\ud800"]}`:                      "at $.any.a[0]: it has half of a surrogate pair",
		`"who":{"name":"\udc00"}`:                     "at $.who.name: it has half of a surrogate pair",
		`"who":{"name":"\ud800x\udc00"}`:              "at $.who.name: it has half of a surrogate pair",
		"\"who\":{\"name\":\"\xff\"}":                 "at $.who.name: it is not valid UTF-8",
		"\"raw\":\"\xff\"":                            "at $.raw: it is not valid UTF-8",
		`"m":{"\ud800":{"name":"x"}}`:                 "the key: it has half of a surrogate pair",
		`"own":"fine","owned":["a",null],"null":null`: "",
		`"outer":null,"maps":null`:                    "",
		`"outer":["a",null]`:                          "at $.outer[1]: null does not fit jsdecode.ownValue",
		`"self":null`:                                 "at $.self: null does not fit jsdecode.ownMap",
		`"own":null`:                                  "at $.own: null does not fit jsdecode.ownValue",
		`"owned":["a","bad"]`:                         "at $.owned[1]: it does not fit jsdecode.ownValue: own trouble",
		`"owned":["a","panic"]`:                       "at $.owned[1]: it does not fit jsdecode.ownValue: decoding panicked: boom",
		`"Skip":1,"-":1`:                              "",
		`"admin":null,"admin":false`:                  "",
		`"admin":false,"admin":null`:                  "at $.admin: null",
		`"who":{"name":1,"name":"x"},"who":{"name":"y"}`:                   "",
		`"who":{"name":"x"},"who":{}`:                                      "at $.who.name",
		`"any":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000): "nested more than 10000 deep",
		`"new":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000): "depth",
		`"lines":[`:                  "invalid character",
		`"lines":[{"quantity":1},]`:  "invalid character ']'",
		`"lines":[{"quantity":}]`:    "invalid character '}'",
		`"lines":[{"quantity":nil}]`: "invalid character 'i'",
	} {
		text := "{" + required
		if members != "" {
			text += "," + members
		}
		var p readOrder
		err := decodeText([]byte(text+"}"), &p)
		if want != "" {
			require.ErrorContains(t, err, want, members)
			continue
		}
		require.NoError(t, err, members)
		require.False(t, p.Admin, members)
		require.Equal(t, "u", p.UserID, members)
	}
}

func TestWhatIsReadIsWhatNodeReads(t *testing.T) {
	t.Parallel()
	var p struct {
		Admin bool     `json:"admin"`
		Key   string   `json:"key"`
		In    readWho  `json:"in"`
		N     int64    `json:"n"`
		F     float64  `json:"f"`
		L     []uint16 `json:"l"`
	}
	require.NoError(t, decodeText([]byte(` {"in":{"name":"a","NAME":"b"}, "admin" :false,"ADMIN" : true ,"\u212aey":"Kelvin","key":"k",
		"in":{"name":"c","Name":5},"n":9007199254740993,"f":1e21,"l":[1.0,2e1],"n":1.50e1} `), &p))
	require.False(t, p.Admin)
	require.Equal(t, "k", p.Key)
	require.Equal(t, "c", p.In.Name)
	require.Equal(t, int64(15), p.N)
	require.Equal(t, 1e21, p.F)
	require.Equal(t, []uint16{1, 20}, p.L)
}

func TestMissingMembersAreListed(t *testing.T) {
	t.Parallel()
	var p struct {
		ID string     `json:"id"`
		In readWho    `json:"in"`
		L  []readLine `json:"l"`
		O  int        `json:"o,omitempty"`
	}
	require.EqualError(t, decodeText([]byte("{}"), &p), `at $.id: the payload lacks "id", "in"`)
	require.ErrorContains(t, decodeText([]byte("[]"), &p), "at $: a JSON array does not fit")
	require.ErrorContains(t, decodeText([]byte("null"), &p), "the payload is null")
}

// A member that a later one overrides may be anything, at any depth and in any
// number, and takes no more than linear time.
func TestMembersThatStandTwiceAreReadInLinearTime(t *testing.T) {
	t.Parallel()
	type tree struct {
		V    int   `json:"v"`
		Kids *tree `json:"kids"`
	}
	const depth = 4000
	text := strings.Repeat(`{"v":null,"v":1,"kids":`, depth) + "null" + strings.Repeat("}", depth)
	var got tree
	require.NoError(t, decodeText([]byte(text), &got))
	n := 0
	for at := &got; at != nil; at = at.Kids {
		require.Equal(t, 1, at.V)
		n++
	}
	require.Equal(t, depth, n)
}

// FuzzPlan compares with encoding/json: what the plan accepts can be read.
func FuzzPlan(f *testing.F) {
	for _, s := range []string{
		`{"admin":true,"userId":"a","who":{"name":"b"},"lines":[{"quantity":1}],"m":{"a":{"name":""}}}`,
		`{"admin":true,"Admin":1,"userId":"a","who":{"name":"b","name":"\ud83d\ude00"},"pair":[1.0,2e1],"text":"5","any":[{"a":null}]}`,
	} {
		f.Add([]byte(s))
	}
	p := planOf(reflect.TypeFor[readOrder]())
	f.Fuzz(func(t *testing.T, text []byte) {
		checked, err := p.check(text, "payload")
		if err != nil {
			require.NotContains(t, err.Error(), "JSON that can be read")
			return
		}
		require.Equal(t, json.Valid(text), json.Valid(checked), "%q", checked)
		var o readOrder
		if err := unmarshal(checked, &o); err != nil && json.Valid(text) {
			require.ErrorContains(t, p.locate(checked, "payload", err), "it does not fit", "%q", text)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	type payload struct {
		ID   int    `json:"id"`
		Text string `json:"text"`
	}
	text := []byte(`{"id":12345,"text":"` + strings.Repeat("x", 100) + `"}`)
	b.ReportAllocs()
	for b.Loop() {
		var p payload
		if err := decodeText(text, &p); err != nil {
			b.Fatal(err)
		}
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
		EachMember(text, func(name []byte) bool {
			got[string(name)] = true
			return true
		})
		for name := range want {
			require.True(t, got[name], "%q of %q", name, text)
		}
		require.Len(t, got, len(want))
	})
}
