//lint:file-ignore SA5008 The tags are odd on purpose.
//lint:file-ignore U1000 Fields without a name outside are part of what is tested.

package jsjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type (
	aText   string
	aByte   byte
	aList   []aText
	valued  struct{ a int } // has MarshalJSON with a value receiver
	pointed struct{ a int } // with a pointer receiver
	texted  struct{ a int } // has MarshalText
	zeroed  struct{ A int } // has IsZero
	upper   int             // an integer with MarshalText, also as a key
	aMap    map[string]int  // has MarshalJSON, also when nil
	flat    struct {
		A int `json:"a"`
		B string
	}
	Deep struct {
		flat
		*Other
		B int `json:"B,omitempty"`
		C *Deep
	}
	Other struct {
		X, Y int
		B    int
	}
	twice struct {
		One
		Two
		Z int `json:"z,string"`
	}
	One    struct{ Other }
	Two    struct{ Other }
	tagged struct {
		Left
		Right
		Deep `json:"deep"`
	}
	Left  struct{ Name string }
	Right struct {
		N string `json:"Name"`
	}
	options struct {
		Bool    bool           `json:",string"`
		Int     int64          `json:"int,string"`
		Float   float32        `json:",string,omitempty"`
		Text    string         `json:"text,string"`
		Pointer *int           `json:",string"`
		Number  json.Number    `json:",string"`
		List    []int          `json:",string,omitempty"`
		Owned   valued         `json:",string"`
		Zero    zeroed         `json:",omitzero"`
		ZeroP   *zeroed        `json:",omitzero"`
		At      time.Time      `json:"at,omitzero"`
		Array   [2]int         `json:",omitempty"`
		Empty   [0]int         `json:",omitempty"`
		Map     map[string]int `json:",omitempty"`
		Any     any            `json:",omitempty"`
		Dash    int            `json:"-,"`
		Secret  int            `json:"-"`
		Struct  flat           `json:",omitempty"`
		StructZ flat           `json:",omitzero"`
		hidden  int
	}
)

func (v valued) MarshalJSON() ([]byte, error)   { return fmt.Appendf(nil, `{ "v" : %d }`, v.a), nil }
func (p *pointed) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `[%d, null]`, p.a), nil }
func (t texted) MarshalText() ([]byte, error)   { return fmt.Appendf(nil, "<%d>", t.a), nil }
func (z zeroed) IsZero() bool                   { return z.A%2 == 0 }
func (u *upper) MarshalText() ([]byte, error)   { return fmt.Appendf(nil, "U%d", int(*u)), nil }
func (m aMap) MarshalJSON() ([]byte, error)     { return fmt.Appendf(nil, "%d", len(m)), nil }

// leaves are types to make structs, lists and maps of.
var leaves = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint16](), reflect.TypeFor[uintptr](),
	reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[string](), reflect.TypeFor[aText](), reflect.TypeFor[any](),
	reflect.TypeFor[[]byte](), reflect.TypeFor[[]aByte](), reflect.TypeFor[[3]byte](), reflect.TypeFor[aList](),
	reflect.TypeFor[valued](), reflect.TypeFor[pointed](), reflect.TypeFor[*pointed](), reflect.TypeFor[texted](), reflect.TypeFor[*texted](),
	reflect.TypeFor[upper](), reflect.TypeFor[aMap](), reflect.TypeFor[zeroed](), reflect.TypeFor[time.Time](), reflect.TypeFor[big.Int](), reflect.TypeFor[*big.Int](),
	reflect.TypeFor[netip.Addr](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[json.Number](), reflect.TypeFor[time.Duration](),
	reflect.TypeFor[flat](), reflect.TypeFor[Deep](), reflect.TypeFor[*Deep](), reflect.TypeFor[twice](), reflect.TypeFor[tagged](), reflect.TypeFor[options](),
	reflect.TypeFor[map[int]string](), reflect.TypeFor[map[string]flat](), reflect.TypeFor[map[netip.Addr]bool](), reflect.TypeFor[struct{}](), reflect.TypeFor[**int](),
}

// randomType makes a type of leaves.
func randomType(r *rand.Rand, depth int) reflect.Type {
	if depth == 0 || r.IntN(3) == 0 {
		return leaves[r.IntN(len(leaves))]
	}
	switch elem := randomType(r, depth-1); r.IntN(5) {
	case 0:
		return reflect.SliceOf(elem)
	case 1:
		return reflect.ArrayOf(r.IntN(3), elem)
	case 2:
		// encoding/json does not call methods with pointer receivers of what is in a map.
		return reflect.MapOf(reflect.TypeFor[string](), reflect.PointerTo(elem))
	case 3:
		return reflect.PointerTo(elem)
	}
	var fields []reflect.StructField
	tags := []reflect.StructTag{"", "", `json:"n"`, `json:"m,omitempty"`, `json:",omitzero"`, `json:",string"`, `json:"-"`, `json:"a b"`}
	for i := range 1 + r.IntN(4) {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: randomType(r, depth-1), Tag: tags[r.IntN(len(tags))]})
	}
	return reflect.StructOf(fields)
}

// fill sets a value at random.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	if depth > 6 {
		return
	}
	switch v.Addr().Interface().(type) {
	case *json.RawMessage:
		v.SetBytes([]byte([]string{`{"a": [1 , 2.50,{}], "b":"\u00e9"}`, `null`, ` "x" `, `[ ]`}[r.IntN(4)]))
		return
	case *json.Number:
		v.SetString([]string{"", "1", "-2.5e3", "9007199254740991"}[r.IntN(4)])
		return
	case *time.Time:
		v.Set(reflect.ValueOf(time.Unix(r.Int64N(1<<32), r.Int64N(1e9)).UTC()))
		return
	case *big.Int:
		v.Set(reflect.ValueOf(*big.NewInt(r.Int64N(1<<50) - 1<<49)))
		return
	case *netip.Addr:
		v.Set(reflect.ValueOf(netip.AddrFrom4([4]byte{1, 2, 3, byte(r.IntN(256))})))
		return
	}
	switch k := v.Kind(); {
	case r.IntN(6) == 0: // zero
	case k == reflect.Bool:
		v.SetBool(true)
	case k >= reflect.Int && k <= reflect.Int64:
		v.SetInt(r.Int64N(200) - 100)
	case k >= reflect.Uint && k <= reflect.Uintptr:
		v.SetUint(r.Uint64N(200))
	case k == reflect.Float32, k == reflect.Float64:
		v.SetFloat([]float64{r.Float64(), r.NormFloat64() * 1e30, 1e-9 * r.Float64(), float64(r.IntN(1e6))}[r.IntN(4)])
	case k == reflect.String:
		v.SetString([]string{"plain", "q\"\\/", "<é😀>", "\x00\x1f\x7f\b\f\n\r\t"}[r.IntN(4)])
	case k == reflect.Interface:
		v.Set(reflect.ValueOf([]any{nil, 1, "x", []any{1.5, nil}, map[string]any{"b": true, "a": flat{1, "x"}}, &pointed{3}, valued{4}}[1+r.IntN(6)]))
	case k == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem(), depth+1)
	case k == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
		for i := range v.Len() {
			fill(r, v.Index(i), depth+1)
		}
	case k == reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i), depth+1)
		}
	case k == reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, key, depth+1)
			fill(r, value, depth+1)
			v.SetMapIndex(key, value)
		}
	case k == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() || v.Type().Field(i).Anonymous && f.Kind() == reflect.Struct {
				fill(r, reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem(), depth+1)
			}
		}
	}
}

// What differs from encoding/json on purpose is not in these values: negative
// zero, U+2028, methods with pointer receivers in maps and interfaces.
func TestRandomValuesAreEncodedAsByEncodingJSON(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		v := reflect.New(randomType(r, 3))
		fill(r, v.Elem(), 0)
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		require.NoError(t, e.Encode(v.Interface()), "%v", v.Type())
		got, err := Marshal(v.Interface())
		require.NoError(t, err, "seed %d: %v\n%s", seed, v.Type(), want.String())
		require.Equal(t, strings.TrimSpace(want.String()), string(got), "seed %d: %v", seed, v.Type())
	}
}
