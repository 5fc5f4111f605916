// Package payloads has a task for each way in which Go values become JSON.
// Random values of its types are compared with what is generated for them.
package payloads

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// Numbers has every kind of number, plain and as text.
//
//bullmq:task payloads/numbers
type Numbers struct {
	I    int
	I8   int8
	I16  int16
	I32  int32
	I64  int64 `json:",string"`
	U    uint
	U8   byte
	U16  uint16
	U32  uint32
	U64  uint64 `json:",string"`
	F32  float32
	F64  float64
	Text struct {
		I int     `json:"i,string"`
		U uint8   `json:"u,string"`
		F float64 `json:"f,string"`
		B bool    `json:"b,string"`
		S string  `json:"s,string"`
		P *int    `json:"p,string"`
		Q *bool   `json:"q,string"`
	} `json:"text"`
	Any  json.Number `json:"any"`
	AnyS json.Number `json:"anyS,string"`
	Big  *big.Int    `json:"big"`
	Wait bullmq.Millis
}

// Level is a named integer.
type Level int16

// Color is one of three.
type Color string

// The colors.
const (
	Red   Color = "red"
	Green Color = "green"
	Blue  Color = "blue"
)

// Optional has members that can be left out or be null.
//
//bullmq:task payloads/optional
type Optional struct {
	Empty     string            `json:"empty,omitempty"`
	Zero      time.Time         `json:"zero,omitzero"`
	Ptr       *string           `json:"ptr"`
	PtrEmpty  *string           `json:"ptrEmpty,omitempty"`
	PtrZero   *Level            `json:"ptrZero,omitzero"`
	PtrPtr    **int             `json:"ptrPtr,omitempty"`
	List      []string          `json:"list"`
	ListEmpty []*int            `json:"listEmpty,omitempty"`
	ListZero  []string          `json:"listZero,omitzero"`
	Map       map[string]*Level `json:"map"`
	MapEmpty  map[string]string `json:"mapEmpty,omitempty"`
	Struct    struct{ A *int }  `json:"struct,omitempty"`
	Raw       json.RawMessage   `json:"raw"`
	RawEmpty  json.RawMessage   `json:"rawEmpty,omitempty"`
	Hidden    string            `json:"-"`
	Dash      bool              `json:"-,"`
}

// Containers nest.
//
//bullmq:task payloads/containers result=map[string][]*Level
type Containers struct {
	Bytes   []byte            `json:"bytes"`
	Named   []Octet           `json:"named"`
	Array   [3]byte           `json:"array"`
	Arrays  [2][]bool         `json:"arrays"`
	Lists   [][]*Color        `json:"lists"`
	ByInt   map[int8]Level    `json:"byInt"`
	ByUint  map[uint16]string `json:"byUint"`
	ByCode  map[Code]string   `json:"byCode"`
	ByColor map[Color]Color   `json:"byColor"`
	Deep    map[string]map[string][]map[Color]*Point
	Names   Names `json:"names"`
	Inline  []struct {
		A int `json:"a"`
		B []struct{ C *string }
	} `json:"inline"`
}

// Octet is a byte by another name.
type Octet byte

// Names is a named list.
type Names []string

// Point is a place.
type Point struct {
	X float64 `json:"x"` // to the right
	Y float64 `json:"y"`
}

// Code writes itself as text.
type Code struct{ n uint8 }

// MarshalText writes the code.
func (c Code) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "code-%d", c.n), nil }

// UnmarshalText reads it.
func (c *Code) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "code-%d", &c.n)
	return err
}

// Tristate writes itself: true, false or "unknown".
type Tristate struct{ known, yes bool }

// MarshalJSON writes the value.
func (s Tristate) MarshalJSON() ([]byte, error) {
	if !s.known {
		return []byte(`"unknown"`), nil
	}
	return fmt.Appendf(nil, "%t", s.yes), nil
}

// UnmarshalJSON reads it.
func (s *Tristate) UnmarshalJSON(text []byte) error {
	s.known, s.yes = text[0] != '"', string(text) == "true"
	return nil
}

// SelfMade has types that say themselves how they are written.
//
//bullmq:task payloads/self-made
type SelfMade struct {
	Code   Code       `json:"code"`
	Codes  []*Code    `json:"codes"`
	Yes    Tristate   `json:"yes" ts:"boolean | \"unknown\""`
	Maybe  *Tristate  `json:"maybe" ts:"boolean | \"unknown\" | null"`
	At     time.Time  `json:"at"`
	Until  *time.Time `json:"until,omitempty"`
	Null   sql.NullString
	Addr   netip.Addr
	Prefix *netip.Prefix
}

// Base is embedded.
type Base struct {
	Tenant string `json:"tenant"`
	Shadow string `json:"shadow"`
}

// Extra is embedded by pointer.
type Extra struct {
	Note string `json:"note"`
}

type low struct{ Low int }

// Embedding flattens.
//
//bullmq:task payloads/embedding
type Embedding struct {
	Base
	*Extra
	low
	Point  `json:"point"`
	Shadow int `json:"shadow"`
}

// Tree contains itself.
//
//bullmq:task payloads/tree result=Tree
type Tree struct {
	Value  string           `json:"value"`
	Kids   []Tree           `json:"kids"`
	Parent *Tree            `json:"parent"`
	Named  map[string]*Tree `json:"named,omitempty"`
	Other  *Other           `json:"other,omitempty"`
	Forest Forest           `json:"forest"`
	Länge  *Größe           `json:"länge,omitempty"`
}

// Größe has a name with letters of its own.
type Größe struct{ Größer *Größe }

// Other leads back.
type Other struct{ Back *Tree }

// Forest is a list of lists of itself.
type Forest []Forest

// Page is generic.
type Page[T any] struct {
	Items []T `json:"items"`
	Next  *T  `json:"next,omitempty"`
}

// Colors is an instance.
//
//bullmq:task payloads/colors result=Page[Point]
type Colors = Page[Color]

// Words is no struct.
//
//bullmq:task payloads/words result=string
type Words []string

// Counts is no struct.
//
//bullmq:task payloads/counts result=[]byte
type Counts map[string]int

// Flag is no struct.
//
//bullmq:task payloads/flag "result=struct{ A int; B *string }"
type Flag bool

// Raw is any JSON.
//
//bullmq:task payloads/raw result=json.RawMessage
type Raw = json.RawMessage

// Shape1 is one version of a payload.
//
//bullmq:task shapes/shape1
type Shape1 struct {
	A int    `json:"a"`
	B string `json:"b"`
}

// Shape2 is one version of a payload.
//
//bullmq:task shapes/shape2
type Shape2 struct {
	A int    `json:"a"`
	B string `json:"b"`
	C []int  `json:"c"`
}

// Shape3 is one version of a payload.
//
//bullmq:task shapes/shape3
type Shape3 struct {
	A int8   `json:"a"`
	B string `json:"b,omitempty"`
}

// Shape4 is one version of a payload.
//
//bullmq:task shapes/shape4
type Shape4 struct {
	A float64 `json:"a"`
	B *string `json:"b"`
}

// Shape5 is one version of a payload.
//
//bullmq:task shapes/shape5
type Shape5 struct {
	A *int             `json:"a,omitempty"`
	B string           `json:"b"`
	D map[string]Point `json:"d,omitempty"`
}

// Shape6 is one version of a payload.
//
//bullmq:task shapes/shape6
type Shape6 struct {
	A uint16            `json:"a"`
	B Color             `json:"b"`
	D map[string]*Point `json:"d"`
	E Raw               `json:"e"`
}

// Shape7 is one version of a payload.
//
//bullmq:task shapes/shape7
type Shape7 struct {
	A Raw    `json:"a"`
	B Raw    `json:"b"`
	C [2]int `json:"c"`
}

// Shape8 is one version of a payload.
//
//bullmq:task shapes/shape8
type Shape8 struct {
	A int                               `json:"a"`
	B string                            `json:"b"`
	D map[string]struct{ X, Y float64 } `json:"d"`
	E *struct{ F []Names }              `json:"e"`
}
