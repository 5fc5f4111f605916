package main

import "encoding/json"

// A contender is a process of its own. It reads one order a line from its
// input and writes events to its output, one a line: first "begin" and "end"
// of what is measured, in the end "done" or "error".

// order tells a contender what to do.
type order struct {
	// Op is load, work, bulk, single, latency, addFlows, workFlows, soak or bare.
	Op string `json:"op"`
	// Jobs is how many are measured.
	Jobs int `json:"jobs"`
	// Warm is how many are worked before those that are measured.
	Warm int `json:"warm"`
	// Concurrency is how many handlers run, or how many adds are under way.
	Concurrency int `json:"concurrency"`
	// HandlerMS is how long a handler takes, by a timer.
	HandlerMS int `json:"handlerMS"`
	// Ahead is how many jobs ours takes before it has slots for them.
	Ahead int `json:"ahead"`
	// Size is how many jobs, or flows, one call adds.
	Size int `json:"size"`
	// Children is how many each flow has.
	Children int `json:"children"`
	// GapMS is the time between two jobs of which the latency is measured.
	GapMS int `json:"gapMS"`
	// Seconds is how long a soak lasts.
	Seconds int `json:"seconds"`
	// Backlog is how many other jobs the queue holds meanwhile, and State
	// which: waiting, delayed, prioritized or completed.
	Backlog int    `json:"backlog"`
	State   string `json:"state"`
}

// event is what a contender says.
type event struct {
	Event string `json:"event"`
	// Seconds between begin and end, by the contender's own clock.
	Seconds float64 `json:"seconds,omitempty"`
	// Latencies in microseconds, of a latency order.
	Latencies []float64 `json:"latencies,omitempty"`
	Text      string    `json:"text,omitempty"`
}

// payload is what every job carries.
type payload struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

const payloadText = "a payload of the size that is usual in queues"

func newPayload(n int) payload { return payload{ID: n, Text: payloadText} }

func (p payload) json() []byte {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // a struct of an int and a string always encodes
	}
	return b
}
