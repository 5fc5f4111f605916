package bullmq

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/bullmq-gen/bullmq-gen/internal/jsjson"
	"github.com/bullmq-gen/bullmq-gen/internal/wire"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Options are the options of a job, as every peer that shares the queue reads
// them. Programs set them through functions such as Delay; a handler finds
// those of its job in Job.Options.
type Options struct {
	Attempts                  int
	Backoff                   Backoff
	Delay                     time.Duration
	Priority                  int
	LIFO                      bool
	JobID                     string
	Timestamp                 time.Time
	KeepCompleted, KeepFailed *Retention
	SizeLimit                 int
	KeepLogs                  int
	StackTraceLimit           *int // nil: all stacks are kept
	Dedup                     *Dedup
	Parent                    *Parent // its Queue is qualified, "<prefix>:<queue>", when read from a job
	Telemetry                 string
	OmitContext               bool

	// Timeout and TTL are options of this library, kept under the name "gen".
	Timeout, TTL time.Duration

	// Unknown are options that this version does not know, by name.
	Unknown map[string]json.RawMessage

	runAt  time.Time // set by RunAt: becomes Delay when the job is made up
	onFail OnFail    // set by WhenFails, or from Parent
	prefix string    // set by UnderPrefix
}

// check adds what is wrong with the options.
func (o *Options) check(p *problems) {
	if o.Attempts < 0 {
		p.add("attempts must be 0 or more, not %d", o.Attempts)
	}
	if o.Priority < 0 || o.Priority > wire.MaxPriority {
		p.add("priority must be from 0 to %d, not %d", wire.MaxPriority, o.Priority)
	}
	if o.Delay < 0 {
		p.add("delay must not be negative (%v): to run a job as soon as possible, leave it out", o.Delay)
	}
	if o.Delay > wire.MaxDuration {
		p.add("delay %v is longer than 200 years", o.Delay)
	}
	if o.SizeLimit < 0 || o.KeepLogs < 0 || o.StackTraceLimit != nil && *o.StackTraceLimit < 0 {
		p.add("size limit, keep logs and stack trace limit must not be negative")
	}
	if o.Timeout < 0 || o.TTL < 0 {
		p.add("timeout and ttl must not be negative")
	}
	o.Backoff.check(p)
	p.retention("keep completed", o.KeepCompleted)
	p.retention("keep failed", o.KeepFailed)
	if o.JobID != "" {
		p.addErr(wire.CheckID(o.JobID))
	}
	if o.Dedup != nil {
		o.Dedup.check(p)
		if o.Parent != nil {
			p.add("a job cannot be deduplicated and be the child of another")
		}
	}
	if o.Parent != nil {
		p.queueName(o.Parent.Queue)
		if o.Parent.ID == "" {
			p.add("a parent needs an id")
		}
		checkOnFail(o.Parent.OnFail, p)
	}
	o.checkText(p)
}

// checkText adds what is wrong with options that peers parse or that name others.
func (o *Options) checkText(p *problems) {
	checkTelemetry(o.Telemetry, p)
	checkUTF8("telemetry metadata", o.Telemetry, p)
	checkUTF8("the backoff's type", o.Backoff.Type, p)
	checkUTF8("the job's id", o.JobID, p)
	if o.Dedup != nil {
		checkUTF8("the deduplication id", o.Dedup.ID, p)
	}
	if o.Parent != nil {
		checkUTF8("the parent's id", o.Parent.ID, p)
	}
}

// checkTelemetry refuses a trace context that is not what peers parse: the JSON
// text of an object of strings. A Node worker with telemetry reads it outside any
// try, and one such job stops the worker or its whole process.
func checkTelemetry(metadata string, p *problems) {
	var carrier map[string]json.RawMessage
	if metadata == "" {
		return
	}
	if json.Unmarshal([]byte(metadata), &carrier) != nil || carrier == nil {
		p.add("telemetry metadata %.40q is not a JSON object: give what a propagator wrote, such as {\"traceparent\":\"00-...\"}", metadata)
		return
	}
	for name, value := range carrier {
		if !isJSONString(value) {
			p.add("telemetry metadata has a value of %q that is not a string", name)
		}
	}
}

func isJSONString(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '"'
}

// checkUTF8 refuses text that JSON, and so a Node peer, cannot hold.
func checkUTF8(what, text string, p *problems) {
	if !utf8.ValidString(text) {
		p.add("%s %q is not valid UTF-8", what, text)
	}
}

func (b *Backoff) check(p *problems) {
	if b.Delay < 0 || b.Max < 0 {
		p.add("backoff delay and maximum must not be negative")
	}
	if b.Jitter < 0 || b.Jitter > 1 || math.IsNaN(b.Jitter) {
		p.add("backoff jitter must be from 0 to 1, not %v", b.Jitter)
	}
	if b.Type == "" && (b.Delay > 0 || b.Jitter > 0 || b.Max > 0) {
		p.add(`backoff needs a type: "fixed", "exponential" or the name of a strategy`)
	}
	if b.Jitter > 0 && b.Type != "" && b.Type != "fixed" && b.Type != "exponential" {
		p.add("backoff jitter is for the fixed and exponential types: the strategy %q can do its own", b.Type)
	}
	if b.Max > 0 && b.Type != "exponential" {
		p.add("backoff maximum is only for the exponential type")
	}
}

func (d *Dedup) check(p *problems) {
	if d.ID == "" || d.ID == emptyKey {
		p.add("deduplication needs an id; is the payload's dedup field empty?")
	}
	if d.TTL < 0 || d.TTL > 0 && d.TTL < time.Millisecond {
		p.add("deduplication ttl must be 0 or at least 1ms, not %v", d.TTL)
	}
	if d.Extend && d.TTL == 0 {
		p.add("deduplication extend needs a ttl to extend")
	}
	if d.KeepLastIfActive && d.TTL > 0 {
		p.add("deduplication keep-last holds the id until the job is done: it takes no ttl")
	}
}

// appendJSON appends the options as they are stored. Peers find each under the
// name that they use themselves; `attempts` is always there.
func (o *Options) appendJSON(b []byte) ([]byte, error) {
	b = append(b, `{"attempts":`...)
	b = strconv.AppendInt(b, int64(o.Attempts), 10)
	b = o.Backoff.appendJSON(b)
	b = appendMillis(b, "delay", o.Delay)
	if o.Priority != 0 {
		b = strconv.AppendInt(append(b, `,"priority":`...), int64(o.Priority), 10)
	}
	if o.LIFO {
		b = append(b, `,"lifo":true`...)
	}
	if o.JobID != "" {
		b = appendText(b, "jobId", o.JobID)
	}
	if !o.Timestamp.IsZero() {
		b = strconv.AppendInt(append(b, `,"timestamp":`...), o.Timestamp.UnixMilli(), 10)
	}
	b = o.KeepCompleted.appendJSON(b, "removeOnComplete")
	b = o.KeepFailed.appendJSON(b, "removeOnFail")
	if o.SizeLimit > 0 {
		b = strconv.AppendInt(append(b, `,"sizeLimit":`...), int64(o.SizeLimit), 10)
	}
	if o.KeepLogs > 0 {
		b = strconv.AppendInt(append(b, `,"kl":`...), int64(o.KeepLogs), 10)
	}
	if o.StackTraceLimit != nil {
		b = strconv.AppendInt(append(b, `,"stackTraceLimit":`...), int64(*o.StackTraceLimit), 10)
	}
	b = o.Dedup.appendJSON(b)
	b = o.appendParent(b)
	if o.Telemetry != "" {
		b = appendText(b, "tm", o.Telemetry)
	}
	if o.OmitContext {
		b = append(b, `,"omc":true`...)
	}
	b = o.appendOwn(b)
	return o.appendUnknown(b)
}

func (o *Options) appendParent(b []byte) []byte {
	if o.onFail != OnFailWait {
		b = append(append(append(b, `,"`...), o.onFail...), `":true`...)
	}
	if o.Parent == nil {
		return b
	}
	b = append(b, `,"parent":{"id":`...)
	b = jsjson.AppendString(b, o.Parent.ID)
	b = append(b, `,"queue":`...)
	return append(jsjson.AppendString(b, o.Parent.Queue), '}')
}

func (o *Options) appendOwn(b []byte) []byte {
	if o.Timeout == 0 && o.TTL == 0 {
		return b
	}
	own := appendMillis(appendMillis(nil, "timeout", o.Timeout), "ttl", o.TTL)
	b = append(b, `,"gen":{`...)
	return append(append(b, own[1:]...), '}') // without the first comma
}

func (o *Options) appendUnknown(b []byte) ([]byte, error) {
	names := make([]string, 0, len(o.Unknown))
	for n := range o.Unknown {
		if n != "tm" || o.Telemetry == "" { // a peer stored a context that was none
			names = append(names, n)
		}
	}
	sort.Strings(names)
	for _, n := range names {
		if !json.Valid(o.Unknown[n]) {
			return nil, fmt.Errorf("option %q is not valid JSON", n)
		}
		b = append(jsjson.AppendString(append(b, ','), n), ':')
		b = append(b, o.Unknown[n]...)
	}
	return append(b, '}'), nil
}

func (b *Backoff) appendJSON(out []byte) []byte {
	if b.Type == "" {
		return out
	}
	out = append(jsjson.AppendString(append(out, `,"backoff":{"type":`...), b.Type), `,"delay":`...)
	out = strconv.AppendInt(out, b.Delay.Milliseconds(), 10)
	if b.Jitter > 0 {
		out = strconv.AppendFloat(append(out, `,"jitter":`...), b.Jitter, 'g', -1, 64)
	}
	return append(appendMillis(out, "max", b.Max), '}')
}

// appendJSON uses the shortest form that all peers read: true (keep none),
// false (keep all), a number (of the newest), or an object.
func (r *Retention) appendJSON(b []byte, name string) []byte {
	if r == nil {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	switch {
	case r.Remove:
		return append(b, "true"...)
	case r.Age == 0 && r.Count == 0:
		return append(b, "false"...)
	case r.Age == 0:
		return strconv.AppendInt(b, int64(r.Count), 10)
	}
	b = append(b, `{"age":`...)
	b = strconv.AppendFloat(b, float64(r.Age.Milliseconds())/1000, 'f', -1, 64) // peers count it in seconds
	if r.Count > 0 {
		b = strconv.AppendInt(append(b, `,"count":`...), int64(r.Count), 10)
	}
	if r.Limit > 0 {
		b = strconv.AppendInt(append(b, `,"limit":`...), int64(r.Limit), 10)
	}
	return append(b, '}')
}

func (d *Dedup) appendJSON(b []byte) []byte {
	if d == nil {
		return b
	}
	b = jsjson.AppendString(append(b, `,"de":{"id":`...), d.ID)
	b = appendMillis(b, "ttl", d.TTL)
	for _, f := range []struct {
		name string
		on   bool
	}{{"extend", d.Extend}, {"replace", d.Replace}, {"keepLastIfActive", d.KeepLastIfActive}, {"reschedule", d.Reschedule}} {
		if f.on {
			b = append(append(append(b, `,"`...), f.name...), `":true`...)
		}
	}
	return append(b, '}')
}

func appendMillis(b []byte, name string, d time.Duration) []byte {
	if d <= 0 {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return strconv.AppendInt(b, d.Milliseconds(), 10)
}

func appendText(b []byte, name, value string) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	return jsjson.AppendString(b, value)
}

// stored turns the options into what a storage needs of them.
func (d *Dedup) stored() *storage.Dedup {
	if d == nil {
		return nil
	}
	return (*storage.Dedup)(d)
}

func (r *Retention) stored() storage.Keep {
	if r == nil {
		return storage.Keep{}
	}
	return storage.Keep(*r)
}
