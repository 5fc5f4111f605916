package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// Event is something that a peer said without being asked.
type Event struct {
	// Kind is "queue" for an event of a queue that the peer reads, "worker" for
	// one of a worker of the peer's, "held" for a handler that waits to be
	// released, and "error".
	Kind string `json:"event"`
	Peer string `json:"-"`

	Queue   string `json:"queue"`
	Worker  string `json:"worker"`
	Name    string `json:"name"`
	Message string `json:"message"`

	// Of a queue: the place in the stream, and the fields as the peer's reader decodes them.
	ID     string                     `json:"id"`
	Fields map[string]json.RawMessage `json:"fields"`

	// Of a worker.
	Job      *Job            `json:"job"`
	Result   json.RawMessage `json:"result"`
	Progress json.RawMessage `json:"progress"`
	Error    *Error          `json:"error"`
	Key      string          `json:"key"`
}

// Field is a field of a queue's event as text: a JSON string without its quotes.
func (e *Event) Field(name string) string {
	var s string
	if json.Unmarshal(e.Fields[name], &s) == nil {
		return s
	}
	return string(e.Fields[name])
}

// JobID is the id of the job that the event is about, or empty.
func (e *Event) JobID() string {
	switch {
	case e.Job != nil:
		return e.Job.ID
	case e.Kind == "queue":
		return e.Field("jobId")
	}
	return e.ID
}

// String shows the event in one line.
func (e *Event) String() string {
	fields, _ := json.Marshal(e.Fields)
	s := fmt.Sprintf("%s %s %s %s", e.Kind, e.Name, e.JobID(), fields)
	if e.Error != nil {
		s += " " + e.Error.Message
	}
	return s + e.Message
}

// eventLog holds the events of a peer by queue.
type eventLog struct {
	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, at each change
	closed  bool
	queues  map[string][]*Event
}

func (l *eventLog) init() {
	l.changed, l.queues = make(chan struct{}), map[string][]*Event{}
}

func (l *eventLog) add(e *Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queues[e.Queue] = append(l.queues[e.Queue], e)
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *eventLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.changed)
	}
}

// from returns the events of a queue from the nth on, and what tells of more; a
// nil channel: there will be none.
func (l *eventLog) from(queue string, n int) ([]*Event, chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return l.queues[queue][n:], nil
	}
	return l.queues[queue][n:], l.changed
}

// Events are all events of a queue so far.
func (p *Peer) Events(queue string) []*Event {
	events, _ := p.events.from(queue, 0)
	return events
}

// Await waits until the events of a queue so far are enough, and returns them.
func (p *Peer) Await(ctx context.Context, queue, what string, enough func([]*Event) bool) ([]*Event, error) {
	for {
		events, more := p.events.from(queue, 0)
		if enough(events) {
			return events, nil
		}
		if more == nil {
			return nil, fmt.Errorf("%s: waiting for %s on queue %s: the process has ended\n%s", p.Name, what, queue, p.said())
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: waiting for %s on queue %s: %w; events so far:\n%s\n%s",
				p.Name, what, queue, context.Cause(ctx), list(events), p.said())
		}
	}
}

// AwaitOne waits for an event of a queue, past or to come, that matches.
func (p *Peer) AwaitOne(ctx context.Context, queue, what string, match func(*Event) bool) (*Event, error) {
	var found *Event
	seen := 0
	_, err := p.Await(ctx, queue, what, func(events []*Event) bool {
		for ; seen < len(events); seen++ {
			if match(events[seen]) {
				found = events[seen]
				return true
			}
		}
		return false
	})
	return found, err
}

// listed is how many events an error shows.
const listed = 40

func list(events []*Event) string {
	if len(events) > listed {
		events = events[len(events)-listed:]
	}
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "  %s\n", e)
	}
	return b.String()
}
