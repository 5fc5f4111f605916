// Package tasks has tasks that Node programs add through the generated module, to
// be compared with what Go adds.
package tasks

import (
	"strconv"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// Payments is the queue of what moves money.
//
//bullmq:queue keep-completed=1000 keep-failed=168h
const Payments = "payments"

// Charge charges a card. The bank is sometimes busy.
//
//bullmq:task payments/charge result=Receipt timeout=30s
//bullmq:retry attempts=4 backoff=fixed:1ms
//bullmq:alias charge-card
type Charge struct {
	Order string `json:"order" bullmq:"jobid"`
	Cents int64  `json:"cents"`
}

// Receipt says how often the bank was asked.
type Receipt struct {
	Asked int `json:"asked"`
}

// Refund has every option that a task can declare.
//
//bullmq:task payments/refund lifo size-limit=4KiB timeout=30s ttl=1h keep-completed=none keep-failed=100,90m
//bullmq:retry attempts=5 backoff=exponential:1s jitter=0.25 max=1m
//bullmq:dedup ttl=10m extend replace
type Refund struct {
	Order  string        `json:"order" bullmq:"dedup,scope=money"`
	Region *string       `json:"region,omitempty" bullmq:"dedup"`
	Rank   int           `json:"rank,omitempty" bullmq:"priority"`
	Wait   bullmq.Millis `json:"wait-ms" bullmq:"delay"`
}

// Void is retried as the bank's strategy says, and keeps all that failed.
//
//bullmq:task payments/void keep-failed=all
//bullmq:retry attempts=2 backoff=custom:bank
type Void struct {
	Order string    `json:"-" bullmq:"jobid,scope=void/order"`
	Rank  int64     `json:"rank,string" bullmq:"priority"`
	At    time.Time `json:"at,omitzero" bullmq:"delay"`
	Note  string    `json:"note"`
}

// Cents is written as text.
type Cents int64

// MarshalText returns the amount in the currency's unit.
func (c Cents) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(c)/100, 'f', 2, 64), nil
}

// UnmarshalText reads such an amount.
func (c *Cents) UnmarshalText(text []byte) error {
	f, err := strconv.ParseFloat(string(text), 64)
	*c = Cents(f*100 + 0.5)
	return err
}

// Place is embedded under a name of its own.
type Place struct {
	City string `json:"city" bullmq:"jobid"`
}

// Common is embedded.
type Common struct {
	Tenant string `json:"tenant" bullmq:"jobid"`
}

// Keys has a field of each type that can be part of a key.
//
//bullmq:task keys/keys
type Keys struct {
	Common
	Place `json:"place,omitzero"`

	Text   string     `json:"text,omitempty" bullmq:"dedup"`
	Quoted string     `json:"quoted,string" bullmq:"dedup"`
	Yes    bool       `json:"yes,omitempty" bullmq:"dedup"`
	Yes2   bool       `json:"yes2,string" bullmq:"dedup"`
	I8     int8       `json:"i8" bullmq:"dedup"`
	I64    int64      `json:"i64" bullmq:"dedup"`
	Big    int64      `json:"big,string" bullmq:"dedup"`
	U64    uint64     `json:"u64,string" bullmq:"dedup"`
	F32    float32    `json:"f32,omitempty" bullmq:"dedup"`
	F64    float64    `json:"f64" bullmq:"dedup"`
	F64s   float64    `json:"f64s,string" bullmq:"dedup"`
	At     time.Time  `json:"at,omitzero" bullmq:"dedup"`
	Maybe  *string    `json:"maybe" bullmq:"dedup"`
	Number *int64     `json:"number,omitempty,string" bullmq:"dedup"`
	Ratio  *float32   `json:"ratio,omitempty" bullmq:"dedup"`
	Until  *time.Time `json:"until,omitempty" bullmq:"dedup"`
	Price  Cents      `json:"price" bullmq:"dedup" ts:"string"`
	Hidden *uint64    `json:"-" bullmq:"dedup"`
	Odd    string     `json:"odd-name" bullmq:"jobid"`
}

// Letter is stored compressed.
//
//bullmq:task letters/letter codec=Small
//bullmq:retry attempts=2
type Letter struct {
	Text string `json:"text"`
}

// Small compresses all texts.
var Small = bullmq.Gzip(0)

// Report waits for its parts.
//
//bullmq:task reports/report children=Parts result=Summary
//bullmq:retry attempts=2
type Report struct {
	ID string `json:"id" bullmq:"jobid"`
}

// Parts are what a report is made of.
type Parts struct {
	Pages   []Page          `bullmq:"onfail=fail"`
	Logo    Logo            `bullmq:"onfail=ignore"`
	Cover   *Page           `bullmq:"onfail=remove"`
	Regions map[string]Page `bullmq:"onfail=wait"`
}

// Summary is all texts in the order of the slots.
type Summary struct {
	Texts []string `json:"texts"`
}

// Page is a page.
//
//bullmq:task parts/page result=string
//bullmq:retry attempts=3 backoff=fixed:1ms
type Page struct {
	Text string `json:"text"`
	Rank int    `json:"rank,omitempty" bullmq:"priority"`
}

// Logo is a picture.
//
//bullmq:task parts/logo result=string keep-completed=10
type Logo struct {
	Of string `json:"of" bullmq:"jobid"`
}

// Tick comes again and again.
//
//bullmq:task ticks/tick lifo
//bullmq:retry attempts=3
//bullmq:schedule "0 9 * * MON" id=weekly tz=Europe/Paris limit=5
//bullmq:schedule every=6h offset=10m id=often start=2020-01-01 end=2090-01-01
type Tick struct {
	Name string `json:"name,omitempty"`
	Rank int    `json:"rank,omitempty" bullmq:"priority"`
}
