package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// script is what a handler does: for each start of a job the steps of that run;
// the last run also serves later starts.
type script [][]step

// step is one thing that a handler does.
type step struct {
	Do      string
	Value   json.RawMessage
	Data    json.RawMessage
	Line    string
	Key     string
	Message string
	MS      float64
}

// handler follows a script.
func (p *peer) handler(w *worker, s script) func(context.Context, *bullmq.Job[payload]) (json.RawMessage, error) {
	return func(ctx context.Context, j *bullmq.Job[payload]) (json.RawMessage, error) {
		for _, st := range s[min(j.Starts, len(s))-1] {
			ended, value, err := p.step(ctx, w, j, &st)
			if err != nil || ended {
				return orText(value, "null"), err
			}
		}
		return json.RawMessage("null"), nil
	}
}

// step does one step: true when the run ends with it.
func (p *peer) step(ctx context.Context, w *worker, j *bullmq.Job[payload], s *step) (bool, json.RawMessage, error) {
	switch s.Do {
	case "progress":
		return false, nil, j.UpdateProgress(ctx, s.Value)
	case "log":
		return false, nil, j.Log(ctx, s.Line)
	case "updateData":
		return false, nil, j.UpdateData(ctx, payload{data: orText(s.Data, "{}")})
	case "hold":
		return false, nil, p.hold(ctx, w, j, s.Key)
	case "return":
		return true, s.Value, nil
	case "echo":
		return true, j.Data.data, nil
	case "childrenValues":
		values, err := p.childrenValues(jobArgs{j.Queue, j.ID})
		if err != nil {
			return true, nil, err
		}
		text, err := json.Marshal(values)
		return true, text, err
	case "throw":
		return true, nil, errors.New(s.Message)
	case "unrecoverable":
		return true, nil, bullmq.Unrecoverable(errors.New(s.Message))
	case "delay":
		return true, nil, bullmq.DelayFor(millis(s.MS))
	case "wait":
		return true, nil, bullmq.BackToWait()
	case "rateLimit":
		return true, nil, bullmq.RateLimited(millis(s.MS))
	case "waitChildren": // when none is pending, the next step follows
		n, err := p.client.Queue(j.Queue).DependencyCounts(ctx, j.ID)
		if err == nil && n.Pending > 0 {
			err = bullmq.WaitForChildren()
		}
		return false, nil, err
	}
	return true, nil, bullmq.Unrecoverable(fmt.Errorf("unknown step %s", s.Do))
}

// hold tells that a handler waits, and waits until it is released or cancelled.
func (p *peer) hold(ctx context.Context, w *worker, j *bullmq.Job[payload], key string) error {
	view, err := viewJob(j.Record())
	if err != nil {
		return err
	}
	p.out.write(map[string]any{"event": "held", "worker": w.key, "queue": j.Queue, "key": key, "job": view})
	select {
	case <-p.holds.of(key):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// holds are the keys that handlers wait for.
type holds struct {
	mu   sync.Mutex
	keys map[string]chan struct{}
}

func newHolds() *holds { return &holds{keys: map[string]chan struct{}{}} }

// of is closed once the key is released.
func (h *holds) of(key string) chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keys[key] == nil {
		h.keys[key] = make(chan struct{})
	}
	return h.keys[key]
}

// release lets all go on that wait for the key, now or later.
func (h *holds) release(key string) {
	c := h.of(key)
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-c:
	default:
		close(c)
	}
}
