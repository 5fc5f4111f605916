package bullmq

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// ParseOptions reads options as a peer stored them. Numbers may be text, as in a
// Node program that reads its environment: they count for what JavaScript makes of
// them where a Node worker acts on them, so that "attempts":"3" is three attempts.
// Options of any other type are kept as unknown.
func ParseOptions(text []byte) (Options, error) {
	var o Options
	if len(text) == 0 {
		return o, nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(text, &m); err != nil {
		return o, malformed("bullmq: options %.60q: %w", text, err)
	}
	for name, raw := range m {
		if string(raw) == "null" {
			continue
		}
		if read, ok := optionReaders[name]; ok && read(&o, raw) == nil {
			continue
		}
		if o.Unknown == nil {
			o.Unknown = map[string]json.RawMessage{}
		}
		o.Unknown[name] = raw
	}
	return o, nil
}

// optionReaders read each stored option by the name that peers give it.
var optionReaders = map[string]func(*Options, json.RawMessage) error{
	"attempts":         readAttempts,
	"backoff":          readBackoff,
	"delay":            func(o *Options, r json.RawMessage) error { return readMillis(r, &o.Delay) },
	"priority":         func(o *Options, r json.RawMessage) error { return readInt(r, &o.Priority) },
	"lifo":             func(o *Options, r json.RawMessage) error { o.LIFO = jsTruth(r); return nil },
	"jobId":            func(o *Options, r json.RawMessage) error { return json.Unmarshal(r, &o.JobID) },
	"timestamp":        readTimestamp,
	"removeOnComplete": func(o *Options, r json.RawMessage) error { return readRetention(r, &o.KeepCompleted) },
	"removeOnFail":     func(o *Options, r json.RawMessage) error { return readRetention(r, &o.KeepFailed) },
	"sizeLimit":        func(o *Options, r json.RawMessage) error { return readInt(r, &o.SizeLimit) },
	"kl":               func(o *Options, r json.RawMessage) error { return readInt(r, &o.KeepLogs) },
	"stackTraceLimit":  readStackTraceLimit,
	"de":               readDedup,
	"parent":           readParentOption,
	"tm":               func(o *Options, r json.RawMessage) error { return json.Unmarshal(r, &o.Telemetry) },
	"omc":              func(o *Options, r json.RawMessage) error { return json.Unmarshal(r, &o.OmitContext) },
	"fpof":             readPolicy(OnFailFail),
	"cpof":             readPolicy(OnFailContinue),
	"idof":             readPolicy(OnFailIgnore),
	"rdof":             readPolicy(OnFailRemove),
	"gen":              readOwn,
}

// OnFail is what the job's parent does when the job fails permanently.
func (o *Options) OnFail() OnFail { return o.onFail }

const (
	maxExact = 1 << 53                    // up to which peers hold whole numbers
	maxCount = min(maxExact, math.MaxInt) // of these, what an int holds here
)

func readInt(r json.RawMessage, to *int) error {
	f, err := jsNumber(r)
	if err != nil {
		return err
	}
	*to = clampInt(f)
	return nil
}

func clampInt(f float64) int { return int(max(-maxCount, min(maxCount, f))) }

// readAttempts rounds up: a peer tries again while fewer attempts were made.
func readAttempts(o *Options, r json.RawMessage) error {
	f, err := jsNumber(r)
	if err != nil {
		return err
	}
	o.Attempts = clampInt(math.Ceil(f))
	return nil
}

// readMillis reads a number of milliseconds; what does not fit a Duration (292
// years) is the longest one that does.
func readMillis(r json.RawMessage, to *time.Duration) error {
	f, err := jsNumber(r)
	if err != nil {
		return err
	}
	*to = millisDuration(f)
	return nil
}

func millisDuration(ms float64) time.Duration {
	ns := ms * float64(time.Millisecond)
	switch {
	case math.IsNaN(ns):
		return 0
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns <= math.MinInt64:
		return math.MinInt64
	}
	return time.Duration(ns)
}

func readTimestamp(o *Options, r json.RawMessage) error {
	ms, err := jsNumber(r)
	if err != nil || ms == 0 {
		return err
	}
	o.Timestamp = time.UnixMilli(int64(max(-maxExact, min(maxExact, ms))))
	return nil
}

// readBackoff takes a number (fixed) as well as an object, and leaves the object's
// unknown members out: only its own strategy reads them.
func readBackoff(o *Options, r json.RawMessage) error {
	var ms float64
	if json.Unmarshal(r, &ms) == nil {
		o.Backoff = Fixed(millisDuration(ms))
		return nil
	}
	var b struct{ Type, Delay, Jitter, Max json.RawMessage }
	if err := json.Unmarshal(r, &b); err != nil {
		return err
	}
	read := Backoff{}
	if err := json.Unmarshal(orNull(b.Type), &read.Type); err != nil {
		return err
	}
	delay, max := jsOptional(b.Delay), jsOptional(b.Max)
	read.Delay, read.Jitter, read.Max = millisDuration(delay), jsOptional(b.Jitter), millisDuration(max)
	o.Backoff = read
	return nil
}

// readRetention reads the forms of removeOnComplete and removeOnFail: a truth
// value, a number to keep, or an object. Peers take any text but the empty one for
// true, "5" too.
func readRetention(r json.RawMessage, to **Retention) error {
	var n float64
	if json.Unmarshal(r, &n) == nil {
		*to = countRetention(n)
		return nil
	}
	var obj struct {
		Count *float64
		Age   json.RawMessage
		Limit json.RawMessage
	}
	if r[0] != '{' {
		*to = &Retention{Remove: r[0] != '[' && jsTruth(r)}
		return nil
	}
	if err := json.Unmarshal(r, &obj); err != nil {
		return err
	}
	k := &Retention{}
	if obj.Count != nil {
		k = countRetention(*obj.Count)
	}
	k.Age, k.Limit = millisDuration(jsOptional(obj.Age)*1000), clampInt(jsOptional(obj.Limit))
	if len(obj.Age) > 0 && k.Age == 0 && string(obj.Age) != "null" {
		k = &Retention{Remove: true} // nothing is younger
	}
	*to = k
	return nil
}

func countRetention(n float64) *Retention {
	if n < 0 {
		return &Retention{}
	}
	return &Retention{Count: int(min(n, maxCount)), Remove: n == 0}
}

// readStackTraceLimit keeps all stacks for text that is zero or no number, as peers do.
func readStackTraceLimit(o *Options, r json.RawMessage) error {
	n := 0
	if err := readInt(r, &n); err != nil {
		return err
	}
	if n != 0 || r[0] != '"' {
		o.StackTraceLimit = &n
	}
	return nil
}

func readDedup(o *Options, r json.RawMessage) error {
	var d struct{ ID, TTL, Extend, Replace, KeepLastIfActive, Reschedule json.RawMessage }
	if err := json.Unmarshal(r, &d); err != nil {
		return err
	}
	id := ""
	if err := json.Unmarshal(orNull(d.ID), &id); err != nil {
		return err
	}
	o.Dedup = &Dedup{
		ID: id, TTL: millisDuration(jsOptional(d.TTL)), Extend: jsTruth(d.Extend), Replace: jsTruth(d.Replace),
		KeepLastIfActive: jsTruth(d.KeepLastIfActive), Reschedule: jsTruth(d.Reschedule),
	}
	return nil
}

func readParentOption(o *Options, r json.RawMessage) error {
	var p struct{ ID, Queue string }
	if err := json.Unmarshal(r, &p); err != nil {
		return err
	}
	o.Parent = &Parent{Queue: p.Queue, ID: p.ID, OnFail: o.onFail}
	return nil
}

// policyOrder says which policy counts where a peer stored several: the last of these.
var policyOrder = []OnFail{OnFailRemove, OnFailIgnore, OnFailContinue, OnFailFail}

func readPolicy(policy OnFail) func(*Options, json.RawMessage) error {
	return func(o *Options, r json.RawMessage) error {
		on := jsTruth(r)
		if on && slices.Index(policyOrder, policy) > slices.Index(policyOrder, o.onFail) {
			o.onFail = policy
			if o.Parent != nil {
				o.Parent.OnFail = policy
			}
		}
		return nil
	}
}

func readOwn(o *Options, r json.RawMessage) error {
	var own struct{ Timeout, TTL float64 }
	if err := json.Unmarshal(r, &own); err != nil {
		return err
	}
	o.Timeout, o.TTL = millisDuration(own.Timeout), millisDuration(own.TTL)
	return nil
}
