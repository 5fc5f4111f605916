package main

import (
	"context"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

var eventOps = ops{
	"events.start": act((*peer).readEvents),
	"events.close": act(func(p *peer, a queueArgs) error {
		p.mu.Lock()
		end := p.readers[a.Queue]
		delete(p.readers, a.Queue)
		p.mu.Unlock()
		if end != nil {
			end()
		}
		return nil
	}),
}

// queueEvent is an event of a queue that is read.
type queueEvent struct {
	Event  string         `json:"event"`
	Queue  string         `json:"queue"`
	Name   string         `json:"name"`
	ID     string         `json:"id"`
	Fields map[string]any `json:"fields"`
}

// readEvents begins to read, from after the given place or from now on.
func (p *peer) readEvents(a struct {
	queueArgs
	After string
}) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readers[a.Queue] != nil {
		return nil
	}
	if a.After == "" {
		place, err := p.store.LastEvent(background, a.Queue)
		if err != nil {
			return err
		}
		a.After = place
	}
	ctx, cancel := context.WithCancel(background)
	p.readers[a.Queue] = cancel
	go func() {
		for e, err := range p.queue(a.queueArgs).Events(ctx, bullmq.EventsAfter(a.After)) {
			if err != nil {
				p.out.write(map[string]any{"event": "error", "queue": a.Queue, "message": err.Error()})
				continue
			}
			name, fields := viewEvent(e)
			p.out.write(queueEvent{"queue", a.Queue, name, e.EventID(), fields})
		}
	}()
	return nil
}

// viewEvent shows an event as the library's reader does.
func viewEvent(e bullmq.Event) (string, map[string]any) {
	f := map[string]any{}
	if id := e.JobID(); id != "" {
		f["jobId"] = id
	}
	prev := func(s bullmq.State) {
		if s != "" {
			f["prev"] = s
		}
	}
	switch e := e.(type) {
	case bullmq.AddedEvent:
		f["name"] = e.Name
		return "added", f
	case bullmq.WaitingEvent:
		prev(e.Prev)
		return "waiting", f
	case bullmq.DelayedEvent:
		f["delay"] = e.Due.UnixMilli()
		return "delayed", f
	case bullmq.WaitingChildrenEvent:
		prev(e.Prev)
		return "waiting-children", f
	case bullmq.ActiveEvent:
		f["prev"] = e.Fields["prev"]
		return "active", f
	case bullmq.ProgressEvent:
		f["data"] = e.Data
		return "progress", f
	case bullmq.CompletedEvent:
		f["returnvalue"], f["prev"] = orText(e.Value, "null"), e.Fields["prev"]
		return "completed", f
	case bullmq.FailedEvent:
		f["failedReason"], f["prev"] = e.Reason, e.Fields["prev"]
		return "failed", f
	}
	return viewRareEvent(e, f)
}

func viewRareEvent(e bullmq.Event, f map[string]any) (string, map[string]any) {
	switch e := e.(type) {
	case bullmq.RetriesExhaustedEvent:
		f["attemptsMade"] = e.Fields["attemptsMade"]
		return "retries-exhausted", f
	case bullmq.StalledEvent:
		return "stalled", f
	case bullmq.DuplicatedEvent:
		return "duplicated", f
	case bullmq.DeduplicatedEvent:
		f["deduplicationId"], f["deduplicatedJobId"] = e.DedupID, e.Dropped
		return "deduplicated", f
	case bullmq.RemovedEvent:
		f["prev"] = e.Fields["prev"]
		return "removed", f
	case bullmq.DrainedEvent:
		return "drained", f
	case bullmq.PausedEvent:
		return "paused", f
	case bullmq.ResumedEvent:
		return "resumed", f
	case bullmq.CleanedEvent:
		f["count"] = e.Fields["count"]
		return "cleaned", f
	case bullmq.CustomEvent:
		for name, value := range e.Fields {
			f[name] = value
		}
		return e.Name, f
	}
	return "unknown", f
}
