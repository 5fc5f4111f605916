package main

import (
	"encoding/json"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// job is a job as the protocol shows it: under the names of Node's library.
type job struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Data json.RawMessage `json:"data"`
	Opts map[string]any  `json:"opts"`

	Timestamp int64 `json:"timestamp"`
	Delay     int64 `json:"delay"`
	Priority  int   `json:"priority"`

	Progress        json.RawMessage `json:"progress"`
	AttemptsMade    int             `json:"attemptsMade"`
	AttemptsStarted int             `json:"attemptsStarted"`
	StalledCounter  int             `json:"stalledCounter"`
	ProcessedOn     int64           `json:"processedOn,omitempty"`
	FinishedOn      int64           `json:"finishedOn,omitempty"`
	ProcessedBy     string          `json:"processedBy,omitempty"`

	ReturnValue     json.RawMessage `json:"returnvalue,omitempty"`
	FailedReason    string          `json:"failedReason,omitempty"`
	Stacktrace      json.RawMessage `json:"stacktrace"`
	DeferredFailure string          `json:"deferredFailure,omitempty"`

	ParentKey       string          `json:"parentKey,omitempty"`
	Parent          json.RawMessage `json:"parent,omitempty"`
	RepeatJobKey    string          `json:"repeatJobKey,omitempty"`
	DeduplicationID string          `json:"deduplicationId,omitempty"`
}

func viewJob(r *bullmq.Record) (*job, error) {
	o, err := bullmq.ParseOptions(r.Opts)
	if err != nil {
		return nil, err
	}
	return &job{
		ID: r.ID, Name: r.Name, Data: orText(r.Data, "{}"), Opts: viewOptions(&o),
		Timestamp: unix(r.Timestamp), Delay: r.Delay.Milliseconds(), Priority: r.Priority,
		Progress: orText(r.Progress, "0"), AttemptsMade: r.AttemptsMade, AttemptsStarted: r.AttemptsStarted,
		StalledCounter: r.StalledCount, ProcessedOn: unix(r.ProcessedOn), FinishedOn: unix(r.FinishedOn),
		ProcessedBy: r.ProcessedBy, ReturnValue: r.ReturnValue, FailedReason: r.FailedReason,
		Stacktrace: orText(r.Stack, "[]"), DeferredFailure: r.Deferred, ParentKey: r.ParentKey, Parent: r.Parent,
		RepeatJobKey: r.ScheduleID, DeduplicationID: r.DedupID,
	}, nil
}

func viewJobs(records []bullmq.Record, err error) ([]*job, error) {
	if err != nil {
		return nil, err
	}
	out := make([]*job, len(records))
	for i := range records {
		if out[i], err = viewJob(&records[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// viewOptions are options under Node's long names, those that are set.
func viewOptions(o *bullmq.Options) map[string]any {
	m := map[string]any{"attempts": o.Attempts}
	set := func(name string, on bool, v any) {
		if on {
			m[name] = v
		}
	}
	set("delay", o.Delay != 0, o.Delay.Milliseconds())
	set("priority", o.Priority != 0, o.Priority)
	set("lifo", o.LIFO, true)
	set("jobId", o.JobID != "", o.JobID)
	set("timestamp", !o.Timestamp.IsZero(), unix(o.Timestamp))
	set("removeOnComplete", o.KeepCompleted != nil, viewRetention(o.KeepCompleted))
	set("removeOnFail", o.KeepFailed != nil, viewRetention(o.KeepFailed))
	set("sizeLimit", o.SizeLimit != 0, o.SizeLimit)
	set("keepLogs", o.KeepLogs != 0, o.KeepLogs)
	set("stackTraceLimit", o.StackTraceLimit != nil, o.StackTraceLimit)
	set("telemetry", o.Telemetry != "" || o.OmitContext, telemetry{o.Telemetry, o.OmitContext})
	set("gen", o.Timeout != 0 || o.TTL != 0, own{ms(o.Timeout), ms(o.TTL)})
	if b := o.Backoff; b.Type != "" {
		m["backoff"] = backoff{b.Type, ms(b.Delay), b.Jitter, ms(b.Max)}
	}
	if d := o.Dedup; d != nil {
		m["deduplication"] = dedup{d.ID, ms(d.TTL), d.Extend, d.Replace, d.KeepLastIfActive, d.Reschedule}
	}
	if o.Parent != nil {
		m["parent"] = parent{o.Parent.ID, o.Parent.Queue}
	}
	set(policies[o.OnFail()], o.OnFail() != bullmq.OnFailWait, true)
	for name, text := range o.Unknown {
		m[name] = text
	}
	return m
}

var policies = map[bullmq.OnFail]string{
	bullmq.OnFailFail: "failParentOnFailure", bullmq.OnFailContinue: "continueParentOnFailure",
	bullmq.OnFailIgnore: "ignoreDependencyOnFailure", bullmq.OnFailRemove: "removeDependencyOnFailure",
}

func viewRetention(r *bullmq.Retention) any {
	switch {
	case r == nil:
		return nil
	case r.Remove:
		return true
	case r.Age == 0 && r.Count == 0:
		return false
	case r.Age == 0:
		return r.Count
	}
	m := map[string]any{"age": r.Age.Seconds()}
	if r.Count > 0 {
		m["count"] = r.Count
	}
	if r.Limit > 0 {
		m["limit"] = r.Limit
	}
	return m
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func orText(text []byte, instead string) json.RawMessage {
	if len(text) == 0 {
		return json.RawMessage(instead)
	}
	return text
}
