//lint:file-ignore SA5008 The tags are odd on purpose.
//lint:file-ignore U1000 Fields without a name outside are part of what is tested.

package jsjson

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type onlyJSON struct{}

func (onlyJSON) MarshalJSON() ([]byte, error) { return nil, nil }

type onlyReadJSON struct{}

func (*onlyReadJSON) UnmarshalJSON([]byte) error { return nil }

type onlyText string

func (*onlyText) MarshalText() ([]byte, error) { return nil, nil }

type onlyReadText int

func (*onlyReadText) UnmarshalText([]byte) error { return nil }

type textAndJSON string

func (textAndJSON) MarshalJSON() ([]byte, error) { return nil, nil }
func (*textAndJSON) UnmarshalText([]byte) error  { return nil }

type laterOnly struct{}

func (laterOnly) MarshalJSONTo(any) error { return nil }

type struct_ struct {
	time.Time
	Name string
}

type wrapped struct {
	time.Time
	Note   string `json:"-"`
	hidden int
}

type generic[T any] struct {
	time.Time
	V T
}

func (generic[T]) MarshalJSON() ([]byte, error) { return nil, nil }
func (*generic[T]) UnmarshalJSON([]byte) error  { return nil }

type declared struct {
	time.Time
	V int
}

func (declared) MarshalJSON() ([]byte, error) { return nil, nil }
func (*declared) UnmarshalJSON([]byte) error  { return nil }

type declaredByPointer struct {
	time.Time
	V int
}

func (*declaredByPointer) MarshalJSON() ([]byte, error) { return nil, nil }
func (*declaredByPointer) UnmarshalJSON([]byte) error   { return nil }

type halfDeclared struct {
	time.Time
	V int
}

func (halfDeclared) MarshalJSON() ([]byte, error) { return nil, nil }

type port struct {
	netip.Addr
	Port int
}

type ambiguous struct {
	time.Time
	big.Int
	N int
}

type embeddable struct{ X int }

func TestTypesThatAreNotReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for want, typ := range map[string]reflect.Type{
		"at $.A: jsjson.onlyJSON has MarshalJSON but not UnmarshalJSON":       reflect.TypeFor[struct{ A onlyJSON }](),
		"at $[].A: jsjson.onlyReadJSON has UnmarshalJSON but not MarshalJSON": reflect.TypeFor[[]struct{ A *onlyReadJSON }](),
		"at $[]: jsjson.onlyText has MarshalText but not UnmarshalText":       reflect.TypeFor[map[string]onlyText](),
		"at $: jsjson.onlyReadText has UnmarshalText but not MarshalText":     reflect.TypeFor[onlyReadText](),
		"at $: the key jsjson.onlyText has MarshalText but not UnmarshalText": reflect.TypeFor[map[onlyText]int](),
		"at $: the key jsjson.onlyReadText has UnmarshalText but not":         reflect.TypeFor[map[onlyReadText]int](),
		"at $: *big.Int cannot be the key of a JSON object":                   reflect.TypeFor[map[*big.Int]int](),
		"at $: interface {} cannot be the key of a JSON object":               reflect.TypeFor[map[any]int](),
		"at $: float64 cannot be the key":                                     reflect.TypeFor[map[float64]int](),
		"at $.C: chan int has no form in JSON":                                reflect.TypeFor[struct{ C chan int }](),
		"at $.E: error is an interface":                                       reflect.TypeFor[struct{ E error }](),
		"at $.A.B: func() has no form":                                        reflect.TypeFor[struct{ A *struct{ B func() } }](),
		"at $.L: jsjson.struct_ embeds time.Time, whose MarshalJSON":          reflect.TypeFor[struct{ L *struct_ }](),
		"at $: jsjson.laterOnly has a method that encoding/json calls from":   reflect.TypeFor[laterOnly](),
		"at $: sync.Mutex has no exported fields, and is encoded as {}":       reflect.TypeFor[*sync.Mutex](),
		"at $[]: jsjson.halfDeclared embeds time.Time, whose UnmarshalJSON":   reflect.TypeFor[[]halfDeclared](),
		"at $: jsjson.port embeds netip.Addr, whose MarshalText becomes its":  reflect.TypeFor[map[port]int](),
		"at $: struct { a int } has no exported fields":                       reflect.TypeFor[struct{ a int }](),
		"at $.X: it cannot be decoded: it is in an embedded pointer to the":   reflect.TypeFor[struct{ *embeddable }](),
		`at $.A: the JSON name "€" has a character that Go 1.26 and 1.27 treat`: reflect.TypeFor[struct {
			A int `json:"€"`
		}](),
		`at $.A: the option "embed" of the json tag is ignored by Go 1.26`: reflect.TypeFor[struct {
			A embeddable `json:",embed"`
		}](),
		`at $.A: the json tag has no option "omitEmpty": write "omitempty"`: reflect.TypeFor[struct {
			A int `json:"a,omitEmpty"`
		}](),
	} {
		require.ErrorContains(t, Check(typ), want, typ.String())
		require.ErrorContains(t, Check(typ), want, "also the second time")
	}
	type list struct {
		Next *list
		Any  map[string]any
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[list](), reflect.TypeFor[struct{}](), reflect.TypeFor[struct{ _ int }](), reflect.TypeFor[wrapped](),
		reflect.TypeFor[total](), reflect.TypeFor[map[netip.Addr]*big.Int](), reflect.TypeFor[generic[int]](), reflect.TypeFor[declared](),
		reflect.TypeFor[declaredByPointer](), reflect.TypeFor[ambiguous](), reflect.TypeFor[textAndJSON](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[json.Number](),
		reflect.TypeFor[any](), reflect.TypeFor[url.URL](), reflect.TypeFor[map[uint8][]byte](), reflect.TypeFor[struct {
			a int `json:"-"`
		}](), reflect.TypeFor[struct{ time.Time }](),
		reflect.TypeFor[big.Float](), reflect.TypeFor[time.Month](),
	} {
		require.NoError(t, Check(typ), typ.String())
	}
}
