//go:build unix

package testredis

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
)

const (
	startDeadline = testneed.Patience
	pollEvery     = 5 * time.Millisecond
)

// guard runs a server and tells its process id. It ends the server when the
// pipe to its input closes: so no server outlives a test binary, however that ended.
const guard = `"$@" & echo $!; cat >/dev/null; kill -9 $! 2>/dev/null; wait $!; [ -z "$SCRATCH" ] || rm -rf "$SCRATCH"`

// binaryEnv names another server than the redis-server on PATH: another
// version, or Valkey.
const binaryEnv = "BULLMQ_REDIS"

func binary() (string, bool) {
	path, err := exec.LookPath(cmp.Or(os.Getenv(binaryEnv), "redis-server"))
	return path, err == nil
}

// process is a redis-server with its guard.
type process struct {
	dir      string
	port     int
	password string
	args     []string
	scratch  bool   // the folder goes with the server
	conf     string // what is in its file of settings, which it may write; empty: it has none

	mu    sync.Mutex
	id    int
	guard *exec.Cmd // nil: stopped
	stdin io.Closer
}

// launch starts a server on a free port. Another process can take the port
// between the look for it and the start, so a few are tried.
func launch(dir string, c *config) (*process, error) {
	var err error
	for range 5 {
		p := &process{dir: dir, password: c.password, args: c.args, scratch: c.scratch, conf: c.conf}
		if p.port, err = freePort(c.maxPort); err != nil {
			return nil, err
		}
		if err = p.run(); err == nil {
			return p, nil
		}
	}
	return nil, err
}

// freePort finds a port, up to most; 0: any.
func freePort(most int) (int, error) {
	for range 50 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, fmt.Errorf("testredis: no free port: %w", err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		if most == 0 || port <= most {
			return port, nil
		}
	}
	return 0, fmt.Errorf("testredis: no free port up to %d", most)
}

func (p *process) addr() string { return "127.0.0.1:" + strconv.Itoa(p.port) }

func (p *process) logFile() string { return filepath.Join(p.dir, "redis.log") }

// run starts the server and waits until it answers.
func (p *process) run() error {
	path, _ := binary()
	command := []string{"-c", guard, "sh", path}
	if p.conf != "" {
		file := filepath.Join(p.dir, "redis.conf")
		if err := os.WriteFile(file, []byte(p.conf), 0o600); err != nil {
			return err
		}
		command = append(command, file)
	}
	args := append(append(command,
		"--port", strconv.Itoa(p.port), "--bind", "127.0.0.1", "--dir", p.dir,
		"--logfile", p.logFile(), "--save", "", "--appendonly", "no", "--daemonize", "no"), p.args...)
	cmd := exec.Command("sh", args...)
	if p.scratch {
		cmd.Env = append(os.Environ(), "SCRATCH="+p.dir)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("testredis: start: %w", err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return fmt.Errorf("testredis: the guard did not tell the process id: %w", err)
	}
	id, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return fmt.Errorf("testredis: the guard did not tell the process id: %w", err)
	}
	p.mu.Lock()
	p.id, p.guard, p.stdin = id, cmd, stdin
	p.mu.Unlock()
	if err := p.awaitReady(id); err != nil {
		p.stop()
		return err
	}
	return nil
}

// awaitReady polls until this very process answers: another one may have taken the port.
func (p *process) awaitReady(id int) error {
	ctx, cancel := context.WithTimeout(context.Background(), startDeadline)
	defer cancel()
	c := redis.NewClient(&redis.Options{Addr: p.addr(), Password: p.password, MaxRetries: -1, DialTimeout: time.Second})
	defer func() { _ = c.Close() }()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		info, err := c.InfoMap(ctx, "server").Result()
		switch {
		case err == nil && info["Server"]["process_id"] == strconv.Itoa(id):
			if err = c.Ping(ctx).Err(); err == nil {
				return nil
			} // it loads its data
		case err == nil:
			err = errors.New("another server has the port")
		}
		if err := syscall.Kill(id, 0); err != nil || strings.Contains(p.logTail(), "Failed listening") {
			return fmt.Errorf("testredis: the server ended at its start: %s", p.logTail())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("testredis: the server does not answer after %v: %w\n%s", startDeadline, err, p.logTail())
		case <-tick.C:
		}
	}
}

func (p *process) logTail() string {
	b, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-2000):])
}

func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.id
}

// stop ends the server at once. Stopping twice is fine.
func (p *process) stop() {
	p.mu.Lock()
	guard, stdin := p.guard, p.stdin
	p.id, p.guard = 0, nil
	p.mu.Unlock()
	if guard == nil {
		return
	}
	_ = stdin.Close() // the guard kills the server, and waits for it
	_ = guard.Wait()  // its exit code is that of the kill
}

// shutdown ends the server in order, so that its files are complete.
func (p *process) shutdown() {
	id := p.pid()
	if id == 0 {
		return
	}
	_ = syscall.Kill(id, syscall.SIGCONT)
	if syscall.Kill(id, syscall.SIGTERM) == nil {
		p.awaitDeaf(5 * time.Second)
	}
	p.stop()
}

// awaitDeaf waits until nothing listens on the port: the last thing that an
// orderly shutdown does. A server that hangs is given up after d.
func (p *process) awaitDeaf(d time.Duration) {
	deadline := time.Now().Add(d)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for time.Now().Before(deadline) {
		c, err := net.DialTimeout("tcp", p.addr(), time.Second)
		if err != nil {
			return
		}
		_ = c.Close()
		<-tick.C
	}
}

func (p *process) pause() error   { return p.signal(syscall.SIGSTOP) }
func (p *process) proceed() error { return p.signal(syscall.SIGCONT) }

func (p *process) signal(sig syscall.Signal) error {
	id := p.pid()
	if id == 0 {
		return errors.New("testredis: the server does not run")
	}
	return syscall.Kill(id, sig)
}

// launchShared starts a server that ends with the test binary, in a folder
// that ends with the server.
func launchShared(c *config) (*process, error) {
	dir, err := os.MkdirTemp("", "testredis")
	if err != nil {
		return nil, err
	}
	c.scratch = true
	p, err := launch(dir, c)
	if err != nil {
		_ = os.RemoveAll(dir)
	}
	return p, err
}
