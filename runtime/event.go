package bullmq

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Event is something that happened on a queue: one of the types below, for a type
// switch. There is a type for each event that peers emit. An event with another
// name is a CustomEvent.
type Event interface {
	// EventID is the event's id in the queue's stream of events, see EventsAfter.
	EventID() string
	// JobID is the id of the job that it is about, or empty.
	JobID() string
}

// EventBase is what all events have.
type EventBase struct {
	id  string
	job string
	// Fields are all fields of the event as they are stored.
	Fields map[string]string
}

// EventID is the event's id in the queue's stream of events.
func (e EventBase) EventID() string { return e.id }

// JobID is the id of the job that the event is about, or empty.
func (e EventBase) JobID() string { return e.job }

// The events of a queue.
type (
	// AddedEvent: a job was stored.
	AddedEvent struct {
		EventBase
		Name string
	}
	// WaitingEvent: a job waits for a worker. Prev is the state it comes from, or empty.
	WaitingEvent struct {
		EventBase
		Prev State
	}
	// DelayedEvent: a job waits until a time.
	DelayedEvent struct {
		EventBase
		Due time.Time
	}
	// WaitingChildrenEvent: a job waits for its children.
	WaitingChildrenEvent struct {
		EventBase
		Prev State
	}
	// ActiveEvent: a worker took a job.
	ActiveEvent struct{ EventBase }
	// ProgressEvent: a job reported progress, JSON text.
	ProgressEvent struct {
		EventBase
		Data json.RawMessage
	}
	// CompletedEvent: a job was completed, with its result as it is stored: JSON
	// text, which Task.DecodeResult reads if the task has a codec.
	CompletedEvent struct {
		EventBase
		Value json.RawMessage
	}
	// FailedEvent: a job failed permanently.
	FailedEvent struct {
		EventBase
		Reason string
	}
	// RetriesExhaustedEvent: a job failed and has no attempts left.
	RetriesExhaustedEvent struct {
		EventBase
		AttemptsMade int
	}
	// StalledEvent: a job of a vanished worker was put back.
	StalledEvent struct{ EventBase }
	// DrainedEvent: a worker finished the last job that there was.
	DrainedEvent struct{ EventBase }
	// DuplicatedEvent: an add found a job with its custom id.
	DuplicatedEvent struct{ EventBase }
	// DeduplicatedEvent: an add yielded to the job with this id, or took its
	// place. Dropped is the id of the other of the two.
	DeduplicatedEvent struct {
		EventBase
		DedupID, Dropped string
	}
	// RemovedEvent: a job was removed. Prev is the state that it was in;
	// StateUnknown: in none.
	RemovedEvent struct {
		EventBase
		Prev State
	}
	// PausedEvent: the queue was paused.
	PausedEvent struct{ EventBase }
	// ResumedEvent: the queue was resumed.
	ResumedEvent struct{ EventBase }
	// CleanedEvent: jobs were cleaned.
	CleanedEvent struct {
		EventBase
		Count int
	}
	// CustomEvent has any other name; programs publish such with Queue.Publish.
	CustomEvent struct {
		EventBase
		Name string
	}
)

// newEvent makes a typed event of a stored one.
func newEvent(e storage.Event) Event {
	f := e.Fields
	b := EventBase{id: e.Cursor, job: f["jobId"], Fields: f}
	if f["jobId"] == "" {
		return newQueueEvent(e.Name, b)
	}
	prev := previous(f["prev"])
	switch e.Name {
	case "added":
		return AddedEvent{b, f["name"]}
	case "waiting":
		return WaitingEvent{b, prev}
	case "delayed":
		return DelayedEvent{b, millisTime(f["delay"])}
	case "waiting-children":
		return WaitingChildrenEvent{b, prev}
	case "active":
		return ActiveEvent{b}
	case "progress":
		return ProgressEvent{b, json.RawMessage(f["data"])}
	case "completed":
		return CompletedEvent{b, json.RawMessage(f["returnvalue"])}
	case "failed":
		return FailedEvent{b, f["failedReason"]}
	case "retries-exhausted":
		return RetriesExhaustedEvent{b, number(f["attemptsMade"])}
	case "stalled":
		return StalledEvent{b}
	case "duplicated":
		return DuplicatedEvent{b}
	case "deduplicated":
		return DeduplicatedEvent{b, f["deduplicationId"], f["deduplicatedJobId"]}
	case "removed":
		return RemovedEvent{b, prev}
	}
	return CustomEvent{b, e.Name}
}

// newQueueEvent makes an event that is about no single job.
func newQueueEvent(name string, b EventBase) Event {
	switch name {
	case "drained":
		return DrainedEvent{b}
	case "paused":
		return PausedEvent{b}
	case "resumed":
		return ResumedEvent{b}
	case "cleaned":
		return CleanedEvent{b, number(b.Fields["count"])}
	}
	return CustomEvent{b, name}
}

// previous is the state that a peer names in an event. Peers name the lists of
// waiting jobs.
func previous(s string) State {
	switch s {
	case "wait", "paused":
		return StateWaiting
	}
	return State(s)
}

// number reads a count, 0 when a peer wrote something else.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// millisTime reads a time in milliseconds, which peers may write with a fraction.
func millisTime(s string) time.Time {
	ms, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms))
}

// newEventOf is an event of a name, to tell what kind it would be.
func newEventOf(name string) Event {
	if e := newQueueEvent(name, EventBase{}); !isCustom(e) {
		return e
	}
	return newEvent(storage.Event{Name: name, Fields: map[string]string{"jobId": "x"}})
}

func isCustom(e Event) bool {
	_, ok := e.(CustomEvent)
	return ok
}
