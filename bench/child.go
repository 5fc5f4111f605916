package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// child is a contender's process.
type child struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// startChild starts a contender against a server.
func startChild(name, addr string) (*child, error) {
	cmd := exec.Command("node", "node/peer.js", addr)
	if name == "node" {
		cmd.Env = append(os.Environ(), "NODE_PATH=../interop/node/node_modules", "NODE_ENV=production")
	} else {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd = exec.Command(self, "-contender", name, "-addr", addr)
		if name == "ours" && *profile != "" {
			cmd.Args = append(cmd.Args, "-profile", *profile)
		}
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return &child{name: name, cmd: cmd, in: in, out: bufio.NewReader(out)}, nil
}

// stop ends the process in order.
func (c *child) stop() {
	_ = c.in.Close()
	done := make(chan struct{})
	go func() {
		_ = c.cmd.Wait() // how it ends does not matter
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		_ = c.cmd.Process.Kill()
		<-done
	}
}

// do gives an order and hands the events to on, until it is done.
func (c *child) do(ctx context.Context, o order, on func(event) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%s ended: %w", c.name, err)
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%s said %q: %w", c.name, line, err)
		}
		if e.Event == "error" {
			return fmt.Errorf("%s: %s", c.name, e.Text)
		}
		if err := on(e); err != nil || e.Event == "done" {
			return err
		}
	}
}

// ticksPerSecond is the unit of processor times in /proc: 100 on all Linux
// systems that Go runs on.
const ticksPerSecond = 100

// cpu is the processor time that the process has used so far.
func (c *child) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may have spaces
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, errors.New("/proc: the line of a process is too short")
	}
	ticks := 0
	for _, s := range f[11:13] {
		n, err := strconv.Atoi(s)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// resident is the memory of the process in bytes: now, and at its peak.
func (c *child) resident() (now, peak float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "VmRSS:" && f[0] != "VmHWM:" {
			continue
		}
		kib, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			return 0, 0, err
		}
		if f[0] == "VmRSS:" {
			now = kib * 1024
		} else {
			peak = kib * 1024
		}
	}
	return now, peak, nil
}
