package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Peer is a running peer. It is safe for concurrent use; requests that are made
// at the same time are served side by side.
type Peer struct {
	// Name says what it is, such as "node 6.7.0" or "go".
	Name string

	cmd    *exec.Cmd
	stderr *tail
	gone   chan struct{} // closed when the process has ended

	writing sync.Mutex // apart from mu: answers are taken while a request is written
	stdin   io.WriteCloser

	mu      sync.Mutex
	last    int
	pending map[int]chan *answer
	events  eventLog
}

// Args are the arguments of a request.
type Args map[string]any

type request struct {
	ID   int    `json:"id"`
	Op   string `json:"op"`
	Args any    `json:"args,omitempty"`
}

type answer struct {
	ID    int             `json:"id"`
	OK    json.RawMessage `json:"ok"`
	Error *Error          `json:"error"`
}

// Error is an operation that a peer refused.
type Error struct {
	Message string `json:"message"`
	// Code is the number that Node's scripts have for the reason, or 0.
	Code int `json:"code"`
	// Name is the kind of error: "NotOffered" when the peer has no such
	// operation, else whatever the peer calls it.
	Name string `json:"name"`

	peer, op string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s refused %s: %s", e.peer, e.op, e.Message)
}

// IsNotOffered reports whether a peer has no such operation or option.
func IsNotOffered(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Name == "NotOffered"
}

// launch starts a peer's process.
func launch(name string, cmd *exec.Cmd) (*Peer, error) {
	p := &Peer{
		Name: name, cmd: cmd, stderr: &tail{}, gone: make(chan struct{}), pending: map[int]chan *answer{},
	}
	p.events.init()
	var err error
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	cmd.Stderr = p.stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go p.read(stdout)
	return p, nil
}

// read takes what the peer says until it has ended.
func (p *Peer) read(stdout io.Reader) {
	lines := bufio.NewReaderSize(stdout, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		p.take(line)
	}
	_ = p.cmd.Wait()
	close(p.gone)
	p.events.close()
}

func (p *Peer) take(line []byte) {
	var kind struct{ Event string }
	var e Event
	var a answer
	err := json.Unmarshal(line, &kind)
	switch {
	case err != nil:
	case kind.Event != "":
		if err = json.Unmarshal(line, &e); err == nil {
			e.Peer = p.Name
			p.events.add(&e)
		}
	default:
		if err = json.Unmarshal(line, &a); err == nil {
			p.reply(&a)
		}
	}
	if err != nil {
		fmt.Fprintf(p.stderr, "not a line of the protocol (%v): %.1000s\n", err, line)
	}
}

func (p *Peer) reply(a *answer) {
	p.mu.Lock()
	reply := p.pending[a.ID]
	delete(p.pending, a.ID)
	p.mu.Unlock()
	if reply != nil {
		reply <- a
	}
}

// Call makes a request and waits for the answer, which it decodes into out
// unless that is nil. What the peer refuses is an *Error.
func (p *Peer) Call(ctx context.Context, op string, args, out any) error {
	if ctx.Err() != nil {
		return p.explain(op, args, fmt.Errorf("not sent: %w", context.Cause(ctx)))
	}
	reply, err := p.send(op, args)
	if err != nil {
		return p.explain(op, args, err)
	}
	select {
	case a := <-reply:
		if a.Error != nil {
			a.Error.peer, a.Error.op = p.Name, op
			return a.Error
		}
		if out == nil {
			return nil
		}
		if err := json.Unmarshal(a.OK, out); err != nil {
			return p.explain(op, args, fmt.Errorf("answer %.200s: %w", a.OK, err))
		}
		return nil
	case <-ctx.Done():
		return p.explain(op, args, fmt.Errorf("no answer: %w", context.Cause(ctx)))
	case <-p.gone:
		return p.explain(op, args, errors.New("the process has ended"))
	}
}

func (p *Peer) send(op string, args any) (chan *answer, error) {
	reply := make(chan *answer, 1)
	p.mu.Lock()
	p.last++
	id := p.last
	p.pending[id] = reply
	p.mu.Unlock()
	line, err := json.Marshal(request{ID: id, Op: op, Args: args})
	if err != nil {
		return nil, err
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err = p.stdin.Write(append(line, '\n'))
	return reply, err
}

// explain adds what a reader of a failed test needs.
func (p *Peer) explain(op string, args any, err error) error {
	text, _ := json.Marshal(args)
	return fmt.Errorf("%s, %s %.300s: %w\n%s", p.Name, op, text, err, p.said())
}

func (p *Peer) said() string {
	s := p.stderr.String()
	if s == "" {
		return "(it wrote nothing to standard error)"
	}
	return "it wrote to standard error:\n" + s
}

// PID is the peer's process id.
func (p *Peer) PID() int { return p.cmd.Process.Pid }

// Kill ends the peer at once, as a crash does, and waits until it is gone.
func (p *Peer) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.gone
}

// leaveTime is how long a peer that was asked to end may take.
const leaveTime = 5 * time.Second

// close lets the peer end by itself, or else ends it.
func (p *Peer) close() {
	p.writing.Lock()
	_ = p.stdin.Close()
	p.writing.Unlock()
	select {
	case <-p.gone:
	case <-time.After(leaveTime):
		p.Kill()
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 8 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - tailSize; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}

// Alive reports whether the peer's process still runs.
func (p *Peer) Alive() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}
