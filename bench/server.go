package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is a Redis for this run alone, which keeps nothing on disk.
type server struct {
	addr   string
	dir    string
	cmd    *exec.Cmd
	client *redis.Client
}

// startServer starts a server on a free port. Another process can take the port
// between the look for it and the start, so a few are tried.
func startServer(ctx context.Context) (*server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("redis-server is needed: install it, or put it on PATH: %w", err)
	}
	for range 5 {
		var s *server
		if s, err = tryServer(ctx, path); err == nil {
			return s, nil
		}
	}
	return nil, err
}

func tryServer(ctx context.Context, path string) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	dir, err := os.MkdirTemp("", "bullmq-bench")
	if err != nil {
		return nil, err
	}
	s := &server{addr: "127.0.0.1:" + strconv.Itoa(port), dir: dir}
	s.cmd = exec.Command(path, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
		"--logfile", filepath.Join(dir, "redis.log"), "--save", "", "--appendonly", "no", "--slowlog-log-slower-than", strconv.Itoa(loggedCall), "--slowlog-max-len", "100000")
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.client = redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1})
	if err := s.ready(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// ready polls until this very process answers.
func (s *server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		info, err := s.info(ctx, "server")
		if err == nil && info["process_id"] == strconv.Itoa(s.cmd.Process.Pid) {
			return nil
		}
		if err == nil {
			return errors.New("another server has the port")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("redis-server does not answer: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (s *server) stop() {
	_ = s.client.Close()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // its exit code is that of the kill
	_ = os.RemoveAll(s.dir)
}

// info is a section of INFO, by field.
func (s *server) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := s.client.Info(ctx, section).Result()
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, nil
}

// cpu is the processor time that the server has used so far.
func (s *server) cpu(ctx context.Context) (time.Duration, error) {
	info, err := s.info(ctx, "cpu")
	if err != nil {
		return 0, err
	}
	total := 0.0
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		sec, err := strconv.ParseFloat(info[name], 64)
		if err != nil {
			return 0, fmt.Errorf("INFO cpu: %s: %w", name, err)
		}
		total += sec
	}
	return time.Duration(total * float64(time.Second)), nil
}

// commands is how often each command was called since the last reset, those
// that scripts call included.
func (s *server) commands(ctx context.Context) (map[string]int, error) {
	info, err := s.info(ctx, "commandstats")
	if err != nil {
		return nil, err
	}
	calls := map[string]int{}
	for name, stats := range info {
		first, _, _ := strings.Cut(stats, ",")
		n, err := strconv.Atoi(strings.TrimPrefix(first, "calls="))
		if err != nil {
			return nil, fmt.Errorf("INFO commandstats: %s: %w", name, err)
		}
		calls[strings.TrimPrefix(name, "cmdstat_")] = n
	}
	return calls, nil
}

// reset empties the server and its statistics.
func (s *server) reset(ctx context.Context) error {
	pipe := s.client.Pipeline()
	pipe.FlushAll(ctx)
	pipe.ConfigResetStat(ctx)
	pipe.Do(ctx, "slowlog", "reset")
	_, err := pipe.Exec(ctx)
	return err
}

// slowCall is from how long on a call counts as slow, loggedCall from how many
// microseconds on it is logged.
const (
	slowCall   = 2 * time.Millisecond
	loggedCall = 1000
)

// slow is how many slow calls there were since the reset, and how long the
// longest logged one took; 0: none took a millisecond. That is time that
// passed: a server that had to wait for a processor in the middle of a call
// shows a long one, whatever the call does.
func (s *server) slow(ctx context.Context) (n int, longest time.Duration, err error) {
	calls, err := s.client.SlowLogGet(ctx, -1).Result()
	for _, c := range calls {
		longest = max(longest, c.Duration)
		if c.Duration > slowCall {
			n++
		}
	}
	return n, longest, err
}
