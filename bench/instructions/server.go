package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// server is a Redis that runs in valgrind, which counts only when it is told to.
type server struct {
	addr string
	dir  string
	cmd  *exec.Cmd
	said bytes.Buffer
}

// startWithin is how long a server may take to answer: in valgrind everything
// takes some fifty times as long.
const startWithin = time.Minute

func startServer(ctx context.Context) (*server, error) {
	for _, program := range []string{"valgrind", "callgrind_control", "redis-server"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%s is needed (Debian: apt-get install valgrind redis-server): %w", program, err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close()
	dir, err := os.MkdirTemp("", "bullmq-instructions-")
	if err != nil {
		return nil, err
	}
	s := &server{addr: "127.0.0.1:" + port, dir: dir}
	s.cmd = exec.Command("valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file="+filepath.Join(dir, "out"),
		"redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no", "--hz", "1", "--logfile", filepath.Join(dir, "redis.log"))
	s.cmd.Stderr = &s.said
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: time.Second}
	for end := time.Now().Add(startWithin); ; time.Sleep(50 * time.Millisecond) {
		conn, err := dialer.DialContext(ctx, "tcp", s.addr)
		if err == nil {
			return s, conn.Close()
		}
		if time.Now().After(end) {
			s.stop()
			return nil, fmt.Errorf("redis-server does not answer in valgrind: %w\n%s", err, s.said.String())
		}
	}
}

// counting turns the counting on or off.
func (s *server) counting(state string) error {
	out, err := exec.Command("callgrind_control", "-i", state, strconv.Itoa(s.cmd.Process.Pid)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("callgrind_control: %w\n%s", err, out)
	}
	return nil
}

var collected = regexp.MustCompile(`Collected : (\d+)`)

// counted ends the server and returns how many instructions were counted.
func (s *server) counted() (int64, error) {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	if err := s.cmd.Wait(); err != nil {
		return 0, fmt.Errorf("the server did not end well: %w\n%s", err, s.said.String())
	}
	m := collected.FindSubmatch(s.said.Bytes())
	if m == nil {
		return 0, errors.New("valgrind did not tell what it counted:\n" + s.said.String())
	}
	return strconv.ParseInt(string(m[1]), 10, 64)
}

func (s *server) stop() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
	_ = os.RemoveAll(s.dir)
}
