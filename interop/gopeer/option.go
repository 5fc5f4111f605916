package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// options are options of a job as Node programs write them.
type options struct {
	Attempts         *int
	Backoff          *backoff
	Delay            *float64
	Priority         *int
	LIFO             *bool
	JobID            *string
	Timestamp        *int64
	RemoveOnComplete json.RawMessage
	RemoveOnFail     json.RawMessage
	SizeLimit        *int
	KeepLogs         *int
	StackTraceLimit  *int
	Deduplication    *dedup
	Parent           *parent
	Telemetry        *telemetry
	Gen              *own

	FailParentOnFailure, ContinueParentOnFailure, IgnoreDependencyOnFailure, RemoveDependencyOnFailure bool
}

type backoff struct {
	Type   string  `json:"type"`
	Delay  float64 `json:"delay"`
	Jitter float64 `json:"jitter,omitempty"`
	Max    float64 `json:"max,omitempty"`
}

// UnmarshalJSON takes a number of milliseconds as well.
func (b *backoff) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &b.Delay) == nil {
		b.Type = "fixed"
		return nil
	}
	type plain backoff
	return json.Unmarshal(text, (*plain)(b))
}

type dedup struct {
	ID         string  `json:"id"`
	TTL        float64 `json:"ttl,omitempty"`
	Extend     bool    `json:"extend,omitempty"`
	Replace    bool    `json:"replace,omitempty"`
	KeepLast   bool    `json:"keepLastIfActive,omitempty"`
	Reschedule bool    `json:"reschedule,omitempty"`
}

type parent struct {
	ID    string `json:"id"`
	Queue string `json:"queue"` // qualified
}

type telemetry struct {
	Metadata    string `json:"metadata,omitempty"`
	OmitContext bool   `json:"omitContext,omitempty"`
}

// own are the options of this module.
type own struct {
	Timeout float64 `json:"timeout,omitempty"`
	TTL     float64 `json:"ttl,omitempty"`
}

// parseOptions refuses what this runtime has no option for.
func parseOptions(text json.RawMessage) (*options, error) {
	o := &options{}
	if len(text) == 0 {
		return o, nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(o); err != nil {
		if strings.Contains(err.Error(), "unknown field") {
			return nil, errNotOffered{"option in " + string(text) + " (" + err.Error() + ")"}
		}
		return nil, fmt.Errorf("options: %w", err)
	}
	return o, nil
}

// common are the options that many jobs of one call may share.
func (o *options) common() ([]bullmq.Option, error) {
	var out []bullmq.Option
	if o.Attempts != nil {
		out = append(out, bullmq.Attempts(*o.Attempts))
	}
	if b := o.Backoff; b != nil {
		out = append(out, bullmq.WithBackoff(bullmq.Backoff{Type: b.Type, Delay: millis(b.Delay), Jitter: b.Jitter, Max: millis(b.Max)}))
	}
	if o.LIFO != nil {
		out = append(out, bullmq.LIFO(*o.LIFO))
	}
	if o.Timestamp != nil {
		out = append(out, bullmq.Timestamp(time.UnixMilli(*o.Timestamp)))
	}
	if o.SizeLimit != nil {
		out = append(out, bullmq.SizeLimit(*o.SizeLimit))
	}
	if o.KeepLogs != nil {
		out = append(out, bullmq.KeepLogs(*o.KeepLogs))
	}
	if o.StackTraceLimit != nil {
		out = append(out, bullmq.StackTraceLimit(*o.StackTraceLimit))
	}
	if t := o.Telemetry; t != nil {
		out = append(out, bullmq.Telemetry(t.Metadata))
		if t.OmitContext {
			out = append(out, bullmq.OmitContext())
		}
	}
	if g := o.Gen; g != nil {
		out = append(out, bullmq.Timeout(millis(g.Timeout)), bullmq.TTL(millis(g.TTL)))
	}
	for _, r := range []struct {
		text json.RawMessage
		as   func(*bullmq.Retention) bullmq.Option
	}{{o.RemoveOnComplete, bullmq.KeepCompleted}, {o.RemoveOnFail, bullmq.KeepFailed}} {
		keep, err := parseRetention(r.text)
		if err != nil {
			return nil, err
		}
		if keep != nil {
			out = append(out, r.as(keep))
		}
	}
	return out, nil
}

// single are the options of one job that is added by itself.
func (p *peer) single(o *options) ([]bullmq.AddOption, error) {
	common, err := o.common()
	if err != nil {
		return nil, err
	}
	out := make([]bullmq.AddOption, 0, len(common)+5)
	for _, c := range common {
		out = append(out, c)
	}
	if o.Delay != nil {
		out = append(out, bullmq.Delay(millis(*o.Delay)))
	}
	if o.Priority != nil {
		out = append(out, bullmq.Priority(*o.Priority))
	}
	if o.JobID != nil {
		out = append(out, bullmq.JobID(*o.JobID))
	}
	if o.Deduplication != nil {
		out = append(out, bullmq.Deduplicate(o.Deduplication.dedup()))
	}
	if o.Parent != nil {
		queue := strings.TrimPrefix(o.Parent.Queue, p.prefix+":")
		out = append(out, bullmq.ChildOf(bullmq.Parent{Queue: queue, ID: o.Parent.ID, OnFail: o.onFail()}))
	}
	return out, nil
}

func (d *dedup) dedup() bullmq.Dedup {
	return bullmq.Dedup{ID: d.ID, TTL: millis(d.TTL), Extend: d.Extend, Replace: d.Replace, KeepLastIfActive: d.KeepLast, Reschedule: d.Reschedule}
}

func (o *options) onFail() bullmq.OnFail {
	switch {
	case o.FailParentOnFailure:
		return bullmq.OnFailFail
	case o.ContinueParentOnFailure:
		return bullmq.OnFailContinue
	case o.IgnoreDependencyOnFailure:
		return bullmq.OnFailIgnore
	case o.RemoveDependencyOnFailure:
		return bullmq.OnFailRemove
	}
	return bullmq.OnFailWait
}

// parseRetention reads a truth value, a number to keep, or an object.
func parseRetention(text json.RawMessage) (*bullmq.Retention, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	var all bool
	if json.Unmarshal(text, &all) == nil {
		if all {
			return bullmq.KeepNone(), nil
		}
		return bullmq.KeepAll(), nil
	}
	var n int
	if json.Unmarshal(text, &n) == nil {
		return bullmq.KeepLast(n), nil
	}
	var obj struct {
		Age          float64
		Count, Limit int
	}
	if err := json.Unmarshal(text, &obj); err != nil {
		return nil, fmt.Errorf("retention %s: %w", text, err)
	}
	return &bullmq.Retention{Count: obj.Count, Age: time.Duration(obj.Age * float64(time.Second)), Limit: obj.Limit}, nil
}

// sameCommon reports whether two jobs of one call differ only in what their
// payloads may decide.
func sameCommon(a, b json.RawMessage) bool {
	x, y := withoutKeys(a), withoutKeys(b)
	return x != nil && slices.Equal(x, y)
}

func withoutKeys(text json.RawMessage) []byte {
	m := map[string]json.RawMessage{}
	if len(text) > 0 && json.Unmarshal(text, &m) != nil {
		return nil
	}
	for _, name := range []string{"jobId", "priority", "delay"} {
		delete(m, name)
	}
	if d, ok := m["deduplication"]; ok {
		mode := map[string]json.RawMessage{}
		if json.Unmarshal(d, &mode) != nil {
			return nil
		}
		delete(mode, "id")
		m["deduplication"], _ = json.Marshal(mode)
	}
	out, _ := json.Marshal(m)
	return out
}
