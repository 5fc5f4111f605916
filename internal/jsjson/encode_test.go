package jsjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type total struct {
	Total big.Int `json:"total"`
}

func TestMethodsWithPointerReceiversAreCalledEverywhere(t *testing.T) {
	t.Parallel()
	ten := *big.NewInt(10)
	p := pointed{7}
	for want, v := range map[string]any{
		`{"total":10}`:             total{ten},
		`[{"total":10}]`:           []any{total{ten}},
		`{"a":10}`:                 map[string]big.Int{"a": ten},
		`{"a":{"total":10}}`:       map[string]total{"a": {ten}},
		`{"a":[10,10]}`:            map[string][2]big.Int{"a": {ten, ten}},
		`{"a":{"b":[7,null]}}`:     map[string]any{"a": map[string]pointed{"b": p}},
		`[[7,null]]`:               [1]pointed{p},
		`[[7,null],null]`:          []*pointed{&p, nil},
		`{"U1":2}`:                 map[upper]int{1: 2},
		`{"1.2.3.4":{"total":10}}`: map[netip.Addr]total{netip.MustParseAddr("1.2.3.4"): {ten}},
		`{"A":{"P":[7,null]}}`:     struct{ A any }{struct{ P pointed }{p}},
		`{"Z":{"A":1}}`: struct {
			Z pointerZero `json:",omitzero"`
		}{pointerZero{1}},
		`{}`: struct {
			Z pointerZero `json:",omitzero"`
		}{},
		`"2020-01-01T00:00:00Z"`: struct{ time.Time }{time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)},
		`{"k:a":1}`:              map[textKey]int{"a": 1},
		`{"a":"<3>","B":1}`: struct {
			A texted `json:"a"`
			B int
		}{texted{3}, 1},
		`{"N":null,"M":null,"E":[]}`: struct {
			N []int
			M map[string]int
			E []int
		}{E: []int{}},
	} {
		got, err := Marshal(v)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
}

type pointerZero struct{ A int }

func (z *pointerZero) IsZero() bool { return z.A == 0 }

type textKey string

func (k textKey) MarshalText() ([]byte, error) { return []byte("k:" + k), nil }

// own encodes itself as its text.
type own string

func (o own) MarshalJSON() ([]byte, error) { return []byte(o), nil }

type selfText string

func (o selfText) MarshalText() ([]byte, error) { return []byte(o), nil }

type broken struct{ do func() }

func (b broken) MarshalJSON() ([]byte, error) { b.do(); return nil, errors.New("no mood") }

func TestWhatWouldNotBeReadAsItIsHasNoJSON(t *testing.T) {
	t.Parallel()
	type item struct {
		ID   any
		List []any          `json:"list"`
		Map  map[string]any `json:"a map"`
	}
	loop := &item{}
	loop.ID = loop
	type P *P
	var circle P
	circle = &circle
	slice := []any{nil}
	slice[0] = slice
	for want, v := range map[string]any{
		"at $: NaN has no form in JSON":                                                                           math.NaN(),
		"at $[0].ID: +Inf has no form in JSON":                                                                    []item{{ID: math.Inf(1)}},
		`at $["a map"]["x y"][1]: -Inf has no form`:                                                               item{Map: map[string]any{"x y": []float32{1, float32(math.Inf(-1))}}},
		"at $.ID: integer 9007199254740993 is beyond 2^53":                                                        item{ID: 1<<53 + 1},
		"at $.ID: integer -9007199254740992 is beyond 2^53":                                                       item{ID: int64(-1 << 53)},
		"at $.list[0]: integer 18446744073709551615 is beyond 2^53":                                               item{List: []any{uint64(math.MaxUint64)}},
		"at $.total: integer 9007199254740992 is beyond":                                                          total{*big.NewInt(1 << 53)},
		"at $: number 9007199254740993 is beyond 2^53 and Node peers would round it to 9007199254740992":          json.Number("9007199254740993"),
		"at $: number -9007199254740993.0 is beyond":                                                              json.Number("-9007199254740993.0"),
		"at $: number 1e400 is beyond what a float64 holds":                                                       json.Number("1e400"),
		`at $: json.Number "0x1" is not a number`:                                                                 json.Number("0x1"),
		"at $.a[1].b: json.RawMessage: number 12345678901234567890 is":                                            json.RawMessage(`{"a":[0,{"b":12345678901234567890}]}`),
		"at $.ID.a: json.RawMessage: the text is not valid UTF-8":                                                 item{ID: json.RawMessage("{\"a\":\"\xff\"}")},
		"at $.ID: json.RawMessage: the text is not valid UTF-8 ":                                                  item{ID: json.RawMessage("{\"\xff\":1}")},
		`at $["a\tb"]: json.RawMessage: a string has half of a surrogate pair`:                                    json.RawMessage(`{"a\tb":"\ud800"}`),
		"at $[0]: json.RawMessage: a string has half of a surrogate pair":                                         json.RawMessage(`["\udc00\ud800"]`),
		"at $[1]: json.RawMessage: a string has half of":                                                          json.RawMessage(`["","\ud800\u0041"]`),
		"at $: json.RawMessage: the JSON is cut off":                                                              json.RawMessage{},
		"at $: json.RawMessage: the JSON is cut":                                                                  json.RawMessage(`[1`),
		"at $: json.RawMessage: the JSON is":                                                                      json.RawMessage(`"a`),
		"at $: json.RawMessage: '}' is no JSON after an element, at byte 2":                                       json.RawMessage(`[1}`),
		"at $[1]: json.RawMessage: ']' is no JSON at the beginning of a value":                                    json.RawMessage(`[1,]`),
		"at $: json.RawMessage: '}' is no JSON where a name should be":                                            json.RawMessage(`{"a":1,}`),
		"at $: json.RawMessage: '1' is no JSON after the value":                                                   json.RawMessage(`1 1`),
		"at $: json.RawMessage: a number is malformed":                                                            json.RawMessage(`-x`),
		"at $: json.RawMessage: '1' is no JSON after the value, at byte 1":                                        json.RawMessage(`01`),
		`at $: json.RawMessage: a string has the unknown escape \x`:                                               json.RawMessage(`"\x"`),
		`at $: json.RawMessage: a string has \u without four`:                                                     json.RawMessage(`"\u12"`),
		`at $: json.RawMessage: a string has the control character '\n'`:                                          json.RawMessage("\"\n\""),
		"at $: json.RawMessage: 'n' is no JSON at the beginning of a value":                                       json.RawMessage(`nul`),
		"at $.ID: the text is not valid UTF-8: send bytes as []byte":                                              item{ID: "a\xff"},
		"at $.list[0]: the text is not":                                                                           item{List: []any{aText("\xc0\x80")}},
		"at $: the text is not valid":                                                                             "\xed\xa0\x80",
		`at $["a map"]: a key is not valid UTF-8`:                                                                 item{Map: map[string]any{"\xff": 1}},
		"at $[0].b: MarshalJSON of jsjson.own: the text is not valid UTF-8":                                       []own{"{\"b\":\"\xff\"}"},
		"at $: MarshalJSON of jsjson.own: the JSON is cut off":                                                    own(""),
		"at $[0]: MarshalText of jsjson.selfText: the text is not valid UTF-8":                                    []selfText{"\xff"},
		"at $: MarshalText of jsjson.selfText: the text is not valid UTF-8":                                       map[selfText]int{"\xff": 1},
		"at $: MarshalJSON of jsjson.broken: no mood":                                                             broken{func() {}},
		"at $.ID: MarshalJSON of jsjson.broken panicked: oh":                                                      item{ID: broken{func() { panic("oh") }}},
		"at $: MarshalJSON of jsjson.broken panicked: runtime error: invalid memory":                              broken{},
		"nested deeper than 10000 levels, or contains itself":                                                     loop,
		"nested deeper than 10000 levels, or contains":                                                            circle,
		"nested deeper than 10000 levels, or":                                                                     slice,
		"at $" + strings.Repeat("[0]", 20) + "...: json.RawMessage: the value is nested deeper than 10000 levels": json.RawMessage(strings.Repeat("[", 10001) + strings.Repeat("]", 10001)),
		"at $: IsZero of jsjson.moodyZero panicked: oh": struct {
			Z moodyZero `json:",omitzero"`
		}{},
		"at $: IsZero of *jsjson.moodyZero panicked": []any{struct {
			Z *moodyZero `json:",omitzero"`
		}{new(moodyZero)}},
		"at $.ID: chan int has no form in JSON":                                             item{ID: make(chan int)},
		"at $.list[0]: func() has no form":                                                  item{List: []any{func() {}}},
		"at $.ID: complex128 has no form":                                                   item{ID: 1i},
		"at $.ID: bool cannot be the key of a JSON object":                                  item{ID: map[bool]int{}},
		"at $.ID: interface {} cannot be the key":                                           item{ID: map[any]int{}},
		"at $.ID: *big.Int cannot be the key":                                               item{ID: map[*big.Int]int{}},
		`at $: two keys of the map are "same" as text`:                                      map[sameKey]int{1: 1, 2: 2},
		"at $: jsjson.stamped embeds time.Time, whose MarshalJSON becomes its own, so that": stamped{Name: "lost"},
		"at $.ID: jsjson.stamped embeds time.Time":                                          item{ID: &stamped{}},
		"at $[0]: jsjson.named embeds *jsjson.selfText, whose MarshalText":                  []named{{}},
	} {
		_, err := Marshal(v)
		var e *Error
		require.ErrorAs(t, err, &e, want)
		require.ErrorContains(t, err, strings.TrimSpace(want))
	}
	_, err := Marshal(broken{func() { panic("oh") }})
	var p *PanicError
	require.ErrorAs(t, err, &p)
	require.Contains(t, p.Stack(), "encode_test.go")
}

type moodyZero struct{ N int }

func (moodyZero) IsZero() bool { panic("oh") }

type sameKey int

func (sameKey) MarshalText() ([]byte, error) { return []byte("same"), nil }

type stamped struct {
	time.Time
	Name string
}

type named struct {
	*selfText
	Name string
}

func TestWhatJavaScriptHoldsIsEncoded(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 10000) + strings.Repeat("]", 10000)
	for _, line := range []struct {
		v    any
		want string
	}{
		{1e16, "10000000000000000"},
		{float64(1 << 60), "1152921504606847000"},
		{1e20, "100000000000000000000"},
		{-1e20, "-100000000000000000000"},
		{math.Copysign(0, -1), "0"},
		{float32(1e10), "10000000000"},
		{float32(0.1), "0.1"},
		{int64(maxSafe), "9007199254740991"},
		{*big.NewInt(-maxSafe), "-9007199254740991"},
		{struct {
			N int64 `json:",string"`
		}{math.MinInt64}, `{"N":"-9223372036854775808"}`},
		{map[uint64]int{math.MaxUint64: 1}, `{"18446744073709551615":1}`},
		{json.Number("9007199254740992"), "9007199254740992"},
		{json.Number("1152921504606847000"), "1152921504606847000"},
		{json.RawMessage("[1152921504606846976, 1e23, 1E400e]"[:26] + "]"), "[1152921504606846976,1e23]"},
		{json.RawMessage(`"\u003c\ud83d\ude00"`), `"\u003c\ud83d\ude00"`},
		{own(` "\u003c\u2028\ud83d\ude00\/\u0001\u000a" `), "\"<\u2028😀/\\u0001\\n\""},
		{own(`{"\u0061" : [ true , null,-0.0 ] }`), `{"a":[true,null,-0.0]}`},
		{json.RawMessage(nil), "null"},
		{(*total)(nil), "null"},
		{nil, "null"},
		{"\ufffd", `"` + "\ufffd" + `"`},
		{[]byte{0xff}, `"/w=="`},
		{json.RawMessage(deep), deep},
	} {
		got, err := Marshal(line.v)
		require.NoError(t, err)
		require.Equal(t, line.want, string(got))
	}
}

func TestAListOfManyElementsIsNotDeep(t *testing.T) {
	t.Parallel()
	type node struct {
		Next *node `json:"next,omitempty"`
	}
	var list *node
	for range 9999 {
		list = &node{list}
	}
	text, err := Marshal(list)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &list))
	_, err = Marshal(&node{&node{list}})
	require.Error(t, err, "encoding/json does not decode it")
	ten := make([]*node, 30000)
	for i := range ten {
		ten[i] = &node{}
	}
	_, err = Marshal(ten)
	require.NoError(t, err)
}

// A value is encoded by many goroutines at once, also the first time.
func TestPlansAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	type tree struct {
		Kids []*tree
		At   *time.Time
		By   map[string]tree
	}
	v := tree{Kids: []*tree{{By: map[string]tree{"a": {}}}, nil}}
	errs := make(chan error)
	for range 20 {
		go func() {
			got, err := Marshal(v)
			if want := `{"Kids":[{"Kids":null,"At":null,"By":{"a":{"Kids":null,"At":null,"By":null}}},null],"At":null,"By":null}`; err == nil && string(got) != want {
				err = fmt.Errorf("got %s", got)
			}
			errs <- err
		}()
	}
	for range 20 {
		require.NoError(t, <-errs)
	}
}
