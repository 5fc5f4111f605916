package bullmq

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/wire"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// ErrEventsLost is yielded by Queue.Events when events may have been trimmed
// before they were read: the reader was away, or slower than the queue. Reading
// goes on with the oldest event that is kept.
var ErrEventsLost = errors.New("bullmq: events may have been lost: the queue keeps only the newest")

// EventsOption says where the reading of events begins.
type EventsOption func(*eventReader)

// EventsAfter begins after an event, by its Place. An empty place begins with
// the oldest event that is kept. Without this option only events are read that
// happen from now on.
func EventsAfter(place string) EventsOption {
	return func(r *eventReader) { r.cursor, r.begun = place, true }
}

// Events reads what happens on the queue, in order, until ctx ends or the loop
// is left. It uses a connection of its own. An outage of the storage is waited
// out and reading goes on where it was, without loss or repetition, as long as
// the queue still keeps the events; where it does not, the loop gets
// ErrEventsLost and goes on. A bad queue name and a storage that was closed are
// the errors that end it.
//
//	for event, err := range queue.Events(ctx) {
//		if err != nil { ... }
//		switch e := event.(type) {
//		case bullmq.CompletedEvent: ...
//		}
//	}
func (q *Queue) Events(ctx context.Context, opts ...EventsOption) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := &eventReader{queue: q}
		for _, o := range opts {
			o(r)
		}
		if err := wire.CheckQueue(q.name); err != nil {
			yield(nil, storage.Invalid("bullmq: events: %w", err))
			return
		}
		back := &outage.Backoff{}
		for ctx.Err() == nil {
			ok, err := r.read(ctx, yield)
			if !ok {
				return
			}
			if err == nil {
				back.Reset()
				continue
			}
			if ctx.Err() == nil {
				if errors.Is(err, storage.ErrClosed) {
					yield(nil, fmt.Errorf("bullmq: events: %w", err))
					return
				}
				if back.IsNews(err) {
					q.client.log.WarnContext(ctx, "bullmq: reading events failed, will try again", "queue", q.name, "error", err)
				}
				back.Wait(ctx)
			}
		}
	}
}

// eventReader is a place in the events of a queue.
type eventReader struct {
	queue  *Queue
	cursor string
	begun  bool
	last   time.Time // of the last read
}

// slowReader is how long after a read the events are checked for a gap.
const slowReader = time.Second

// read reads once. It is false when the loop was left.
func (r *eventReader) read(ctx context.Context, yield func(Event, error) bool) (bool, error) {
	store, name := r.queue.client.store, r.queue.name
	if !r.begun {
		cursor, err := store.LastEvent(ctx, name)
		if err != nil {
			return true, err
		}
		r.cursor, r.begun = cursor, true
	}
	if lost, err := r.lost(ctx); err != nil {
		return true, err
	} else if lost && !yield(nil, ErrEventsLost) {
		return false, nil
	}
	events, err := store.ReadEvents(ctx, name, r.cursor, eventBlock)
	if err != nil {
		return true, err
	}
	r.last = time.Now()
	for _, e := range events {
		r.cursor = e.Cursor
		if !yield(newEvent(e), nil) {
			return false, nil
		}
	}
	return true, nil
}

// lost reports whether events after the cursor may be gone. It looks only when
// it was not reading for a while: the event at the cursor is then still kept,
// or it is not known what followed it.
func (r *eventReader) lost(ctx context.Context) (bool, error) {
	if r.last.IsZero() || r.cursor == "" || time.Since(r.last) < slowReader {
		return false, nil
	}
	kept, err := r.queue.client.store.EventKept(ctx, r.queue.name, r.cursor)
	if err != nil {
		return false, err
	}
	r.last = time.Now()
	return !kept, nil
}

// Publish appends an event of your own, with name, value pairs as its fields,
// and keeps about the last keep events of the queue (0: 1000, as peers do).
// Its name must not be one that the queue uses itself.
func (q *Queue) Publish(ctx context.Context, event string, keep int, fields ...string) error {
	var p problems
	if event == "" || len(fields)%2 != 0 || keep < 0 {
		p.add("needs a name, name and value pairs as fields, and a keep of 0 or more")
	}
	if !isCustom(newEventOf(event)) {
		p.add("the name %q belongs to the queue's own events", event)
	}
	if err := p.wrap("publish on queue %q", q.name); err != nil {
		return err
	}
	return q.client.store.Publish(ctx, q.name, event, keep, fields...)
}
