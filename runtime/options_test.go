package bullmq

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/wire"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/runner"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func TestOptionsAreStoredUnderTheNamesOfPeers(t *testing.T) {
	t.Parallel()
	two := 2
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"nothing", Options{}, `{"attempts":0}`},
		{"fixed backoff", Options{Attempts: 3, Backoff: Fixed(time.Second)}, `{"attempts":3,"backoff":{"type":"fixed","delay":1000}}`},
		{"capped backoff", Options{Attempts: 3, Backoff: Backoff{Type: "exponential", Delay: time.Second, Jitter: 0.5, Max: time.Minute}},
			`{"attempts":3,"backoff":{"type":"exponential","delay":1000,"jitter":0.5,"max":60000}}`},
		{"place in the queue", Options{Delay: 1500 * time.Millisecond, Priority: 7, LIFO: true, JobID: "a"},
			`{"attempts":0,"delay":1500,"priority":7,"lifo":true,"jobId":"a"}`},
		{"time", Options{Timestamp: time.UnixMilli(1700000000001)}, `{"attempts":0,"timestamp":1700000000001}`},
		{"keep none and all", Options{KeepCompleted: KeepNone(), KeepFailed: KeepAll()}, `{"attempts":0,"removeOnComplete":true,"removeOnFail":false}`},
		{"keep some", Options{KeepCompleted: KeepLast(5), KeepFailed: KeepFor(time.Hour)}, `{"attempts":0,"removeOnComplete":5,"removeOnFail":{"age":3600}}`},
		{"keep by all rules", Options{KeepCompleted: &Retention{Count: 9, Age: 1500 * time.Millisecond, Limit: 4}},
			`{"attempts":0,"removeOnComplete":{"age":1.5,"count":9,"limit":4}}`},
		{"limits", Options{SizeLimit: 10, KeepLogs: 3, StackTraceLimit: &two}, `{"attempts":0,"sizeLimit":10,"kl":3,"stackTraceLimit":2}`},
		{"dedup", Options{Dedup: &Dedup{ID: "d", TTL: time.Second, Extend: true, Replace: true, Reschedule: true}},
			`{"attempts":0,"de":{"id":"d","ttl":1000,"extend":true,"replace":true,"reschedule":true}}`},
		{"keep last", Options{Dedup: &Dedup{ID: "d", KeepLastIfActive: true}}, `{"attempts":0,"de":{"id":"d","keepLastIfActive":true}}`},
		{"child", Options{Parent: &Parent{ID: "p", Queue: "bull:q"}, onFail: OnFailIgnore}, `{"attempts":0,"idof":true,"parent":{"id":"p","queue":"bull:q"}}`},
		{"telemetry", Options{Telemetry: `{"traceparent":"00-1"}`, OmitContext: true}, `{"attempts":0,"tm":"{\"traceparent\":\"00-1\"}","omc":true}`},
		{"our own", Options{Timeout: time.Second, TTL: time.Minute}, `{"attempts":0,"gen":{"timeout":1000,"ttl":60000}}`},
		{"only ttl", Options{TTL: time.Minute}, `{"attempts":0,"gen":{"ttl":60000}}`},
		{"unknown", Options{Unknown: map[string]json.RawMessage{"z": json.RawMessage(`[]`), "b": json.RawMessage(`12345678901234567890`)}},
			`{"attempts":0,"b":12345678901234567890,"z":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, err := tt.o.appendJSON(nil)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(text))
			back, err := ParseOptions(text)
			require.NoError(t, err)
			again, err := back.appendJSON(nil)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(again), "what is read is written again unchanged")
		})
	}
}

func TestOptionsOfPeersAreRead(t *testing.T) {
	t.Parallel()
	o, err := ParseOptions([]byte(`{"attempts":2,"backoff":500,"delay":"50","removeOnComplete":0,"removeOnFail":{"count":-1,"age":60},` +
		`"fpof":true,"parent":{"id":"1","queue":"bull:p"},"custom":{},"lifo":null}`))
	require.NoError(t, err)
	require.Equal(t, 2, o.Attempts)
	require.Equal(t, Fixed(500*time.Millisecond), o.Backoff)
	require.Equal(t, 50*time.Millisecond, o.Delay)
	require.Equal(t, &Retention{Remove: true}, o.KeepCompleted)
	require.Equal(t, &Retention{Age: time.Minute}, o.KeepFailed)
	require.Equal(t, OnFailFail, o.OnFail())
	require.Equal(t, "bull:p", o.Parent.Queue)
	require.Equal(t, map[string]json.RawMessage{"custom": json.RawMessage("{}")}, o.Unknown)

	_, err = ParseOptions([]byte(`{`))
	require.ErrorContains(t, err, "options")
	o, err = ParseOptions([]byte(`{"delay":1e300}`))
	require.NoError(t, err)
	require.Equal(t, time.Duration(math.MaxInt64), o.Delay)
	for range 20 { // members have no order
		o, err = ParseOptions([]byte(`{"rdof":true,"idof":true,"cpof":true,"fpof":true,"removeOnFail":1e300,"removeOnComplete":{"age":1e300},"timestamp":1e300}`))
		require.NoError(t, err)
		require.Equal(t, OnFailFail, o.OnFail())
	}
	require.Equal(t, &Retention{Count: min(1<<53, math.MaxInt)}, o.KeepFailed)
	require.Equal(t, &Retention{Age: math.MaxInt64}, o.KeepCompleted)
	require.Equal(t, time.UnixMilli(1<<53), o.Timestamp)
}

// FuzzOptions reads what any peer may have stored: nothing of it may stop a
// worker, and what is read is written and read back as the same.
func FuzzOptions(f *testing.F) {
	for _, text := range []string{
		`{}`, `null`, `[]`, `{"attempts":3,"backoff":{"type":"exponential","delay":5,"jitter":0.5},"delay":1.5,"priority":2,"lifo":true}`,
		`{"removeOnComplete":{"age":1,"count":2,"limit":3},"removeOnFail":false,"stackTraceLimit":-1,"kl":-1,"timestamp":-5}`,
		`{"de":{"id":"a","ttl":5,"extend":true},"parent":{"id":"1","queue":"b"},"fpof":true,"rdof":true,"tm":"x","gen":{"ttl":5}}`,
		`{"attempts":1e9,"backoff":-1,"sizeLimit":1e99,"x":{"y":[1e400]}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseOptions([]byte(text))
		if err != nil {
			var m map[string]json.RawMessage
			require.Error(t, json.Unmarshal([]byte(text), &m))
			return
		}
		again, err := ParseOptions([]byte(text))
		require.NoError(t, err)
		require.Equal(t, o, again)
		for _, r := range []*Retention{o.KeepCompleted, o.KeepFailed} {
			require.True(t, r == nil || r.Count >= 0)
		}
		for _, made := range []int{0, 1, 2000} {
			w := &Worker{queue: &QueueSpec{}, random: func() float64 { return 0.5 }}
			r := runner.New(runner.Config{Program: program{w}, Now: time.Now})
			r.Begin(context.Background())
			job := r.AdoptOne(&storage.Record{AttemptsMade: made, Opts: []byte(text)}, "t", time.Now())
			require.LessOrEqual(t, r.Decide(job, nil, ErrTimeout).Delay, wire.MaxDuration)
		}
		stable := text
		for range 3 {
			o, err = ParseOptions([]byte(stable))
			require.NoError(t, err)
			b, err := o.appendJSON(nil)
			require.NoError(t, err)
			require.True(t, json.Valid(b), "%s", b)
			again, stable = o, string(b)
		}
		o, err = ParseOptions([]byte(stable))
		require.NoError(t, err)
		require.Equal(t, again, o, "%s", stable)
	})
}

func TestOptionsAreCheckedAllAtOnce(t *testing.T) {
	t.Parallel()
	minus := -1
	o := Options{
		Attempts: -1, Priority: wire.MaxPriority + 1, Delay: -time.Second, StackTraceLimit: &minus, Timeout: -1,
		Backoff: Backoff{Delay: time.Second, Jitter: 2}, JobID: "12", Dedup: &Dedup{TTL: 1, Extend: true, KeepLastIfActive: true},
		KeepCompleted: &Retention{Count: -1}, Parent: &Parent{Queue: "a:b"},
	}
	var p problems
	o.check(&p)
	text := p.err().Error()
	for _, word := range []string{"attempts", "priority", "delay", "stack trace", "timeout", "backoff needs a type", "jitter", "job id \"12\"",
		"deduplication needs an id", "ttl must be", "takes no ttl", "keep completed", "child of another", "colon", "a parent needs an id"} {
		require.Contains(t, text, word)
	}
}

// C063: the same verdicts as Node, except that every integer is refused.
func TestC063JobIDs(t *testing.T) {
	t.Parallel()
	for id, ok := range map[string]bool{
		"": true, "a": true, "00123": true, "1e3": true, "a:b:c": true, "+1": true, " 1": true, "1.0": true, "😀": true, "a b\nc": true,
		strings.Repeat("x", 10_000): true,
		"delayed":                   false, "meta": false, "gen": false,
		"123": false, "-5": false, "0": false, "a:b": false, "a:b:c:d": false, "0:a:b": false, "99999999999999999999": false,
	} {
		var p problems
		p.addErr(wire.CheckID(id))
		require.Equal(t, ok, len(p.list) == 0, "%.20q: %v", id, p.err())
	}
}

func TestBackoffWaits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		b       Backoff
		attempt int
		random  float64
		want    time.Duration
	}{
		{Fixed(time.Second), 5, 0.9, time.Second},
		{Exponential(time.Second), 1, 0, time.Second},
		{Exponential(time.Second), 4, 0, 8 * time.Second},
		{Backoff{Type: "exponential", Delay: time.Second, Max: 5 * time.Second}, 4, 0, 5 * time.Second},
		{Backoff{Type: "fixed", Delay: 1001 * time.Millisecond, Jitter: 0.5}, 1, 0, 500 * time.Millisecond},
		{Backoff{Type: "fixed", Delay: 1000 * time.Millisecond, Jitter: 1}, 1, 0.25, 250 * time.Millisecond},
		{Exponential(time.Hour), 2000, 0, wire.MaxDuration},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, tt.b.wait(tt.attempt, tt.random), "%+v", tt)
	}
}

// C105: keys are stable, and differ exactly when the values do.
func TestC105DedupKeys(t *testing.T) {
	t.Parallel()
	type region string
	n := 7
	rome := time.FixedZone("x", 3600)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	require.Equal(t, "u1", DedupKey("u1"))
	require.Equal(t, "u1,eu", DedupKey("u1", region("eu")))
	require.Equal(t, "7", DedupKey(&n))
	require.Equal(t, DedupKey(at), DedupKey(at.In(rome)))
	require.Equal(t, DedupKey(0.0), DedupKey(math.Copysign(0, -1)))
	require.NotEqual(t, DedupKey("a,b"), DedupKey("a", "b"))
	require.NotEqual(t, DedupKey("a", "b,c"), DedupKey("a,b", "c"))
	require.NotEqual(t, DedupKey((*int)(nil)), DedupKey("~"))
	require.NotEqual(t, DedupKey("a", (*string)(nil)), DedupKey("a", ""))
	require.NotContains(t, DedupKey("a:b"), ":")
	long := DedupKey(strings.Repeat("k", 5000))
	require.Len(t, long, len("~")+64)
	require.NotEqual(t, long, DedupKey(strings.Repeat("k", 5001)))
	var p problems
	(&Dedup{ID: DedupKey("")}).check(&p)
	require.ErrorContains(t, p.err(), "needs an id")
}

func TestSpecsAreChecked(t *testing.T) {
	t.Parallel()
	q := &QueueSpec{Name: "q"}
	for want, s := range map[string]Spec{
		"the name of a task must":   {Queue: q},
		"outer spaces":              {Queue: q, Name: " x"},
		"control characters":        {Queue: q, Name: "a\nb"},
		"more than 300":             {Queue: q, Name: strings.Repeat("x", 301)},
		"is the name itself":        {Queue: q, Name: "x", Aliases: []string{"x"}},
		"the alias of a task must":  {Queue: q, Name: "x", Aliases: []string{""}},
		"no queue given":            {Name: "x"},
		"timeout and ttl":           {Queue: q, Name: "x", TTL: -1},
		"keep-failed":               {Queue: &QueueSpec{Name: "q", KeepFailed: &Retention{Age: -1}}, Name: "x"},
		"can do its own":            {Queue: q, Name: "x", Backoff: Backoff{Type: "mine", Jitter: 0.5}},
		"only for the exponential":  {Queue: q, Name: "x", Backoff: Backoff{Type: "fixed", Max: 1}},
		"concurrency must be 0":     {Queue: &QueueSpec{Name: "q", Concurrency: -1}, Name: "x"},
		"a rate limit needs a maxi": {Queue: &QueueSpec{Name: "q", GroupLimit: RateLimit{Max: 1}}, Name: "x"},
	} {
		require.ErrorContains(t, NewTask[int, int](s, nil).Err(), want)
	}
}
