package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// op is an operation by its arguments, JSON text.
type op func(p *peer, args json.RawMessage) (any, error)

// ops are operations by name.
type ops map[string]op

// ask makes an operation of a function that answers.
func ask[A, R any](f func(*peer, A) (R, error)) op {
	return func(p *peer, args json.RawMessage) (any, error) {
		var a A
		if len(args) > 0 {
			if err := json.Unmarshal(args, &a); err != nil {
				return nil, fmt.Errorf("arguments: %w", err)
			}
		}
		return f(p, a)
	}
}

// act makes an operation of a function without answer.
func act[A any](f func(*peer, A) error) op {
	return ask(func(p *peer, a A) (any, error) { return nil, f(p, a) })
}

// allOps are all operations that this peer knows.
func allOps() ops {
	all := ops{}
	for _, some := range []ops{clockOps, queueOps, settingOps, listOps, jobOps, workerOps, manualOps, eventOps, flowOps, schedulerOps} {
		maps.Copy(all, some)
	}
	all["ops"] = ask(func(*peer, none) ([]string, error) { return slices.Sorted(maps.Keys(all)), nil })
	return all
}

// errNotOffered is returned for what Node peers can do and this runtime does not.
type errNotOffered struct{ what string }

func (e errNotOffered) Error() string { return e.what + " is not offered by this runtime" }

type request struct {
	ID   int             `json:"id"`
	Op   string          `json:"op"`
	Args json.RawMessage `json:"args"`
}

type answer struct {
	ID    int      `json:"id"`
	OK    any      `json:"ok"`
	Error *failure `json:"error,omitempty"`
}

type failure struct {
	Message string `json:"message"`
	Code    int    `json:"code,omitempty"`
	Name    string `json:"name,omitempty"`
}

// codes are the numbers by which Node's scripts tell why they refuse.
var codes = []struct {
	err  error
	code int
}{
	{bullmq.ErrJobNotFound, -1}, {bullmq.ErrLockLost, -2}, {bullmq.ErrNotInState, -3}, {bullmq.ErrPendingChildren, -4},
	{bullmq.ErrNoParent, -5}, {bullmq.ErrLockMismatch, -6}, {bullmq.ErrOtherParent, -7}, {bullmq.ErrScheduled, -8},
	{bullmq.ErrFailedChildren, -9},
}

func failureOf(err error) *failure {
	f := &failure{Message: err.Error(), Name: "Error"}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			f.Code = c.code
		}
	}
	var missing errNotOffered
	if errors.As(err, &missing) {
		f.Name = "NotOffered"
	}
	return f
}

// serve answers requests until there are no more. Requests are served side by
// side: one that waits holds up no other.
func (p *peer) serve(in io.Reader) error {
	all := allOps()
	lines := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("request %.200s: %w", line, err)
		}
		go p.answer(all[r.Op], &r)
	}
}

func (p *peer) answer(f op, r *request) {
	if f == nil {
		f = func(*peer, json.RawMessage) (any, error) { return nil, errNotOffered{"operation " + r.Op} }
	}
	result, err := f(p, r.Args)
	a := answer{ID: r.ID, OK: result}
	if err != nil {
		a.OK, a.Error = nil, failureOf(err)
	}
	p.out.write(a)
}

// writer writes one JSON value a line.
type writer struct {
	mu  sync.Mutex
	out io.Writer
}

func newWriter(out io.Writer) *writer { return &writer{out: out} }

func (w *writer) write(v any) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		line.Reset()
		fmt.Fprintf(&line, "%q\n", err.Error())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.out.Write(line.Bytes())
}

// background is the context of requests: they end when they are done, and the
// peer when its input ends.
var background = context.Background()
