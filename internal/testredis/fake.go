package testredis

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Fake is a server that answers whatever a test wants, in RESP2.
type Fake struct {
	listener net.Listener
	answer   func(args []string) string

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	wg    sync.WaitGroup
}

// StartFake runs a server until the end of the test. Answer returns the raw reply
// to a command, such as "+OK\r\n"; "" closes the connection. HELLO and CLIENT are
// refused as old servers do.
func StartFake(t testing.TB, answer func(args []string) string) *Fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &Fake{listener: l, answer: answer, conns: map[net.Conn]struct{}{}}
	f.wg.Go(f.accept)
	t.Cleanup(f.close)
	return f
}

// Addr is the server's "host:port".
func (f *Fake) Addr() string { return f.listener.Addr().String() }

// URL is the server's address as a URL.
func (f *Fake) URL() string { return "redis://" + f.Addr() }

func (f *Fake) close() {
	_ = f.listener.Close()
	f.mu.Lock()
	for c := range f.conns {
		_ = c.Close()
	}
	f.mu.Unlock()
	f.wg.Wait()
}

func (f *Fake) accept() {
	for {
		c, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.conns[c] = struct{}{}
		f.mu.Unlock()
		f.wg.Go(func() { f.serve(c) })
	}
}

func (f *Fake) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReader(c)
	for {
		args, err := readCommand(r)
		if err != nil {
			return
		}
		reply := ""
		switch strings.ToLower(args[0]) {
		case "hello", "client":
			reply = "-ERR unknown command\r\n"
		default:
			reply = f.answer(args)
		}
		if reply == "" {
			return
		}
		if _, err := io.WriteString(c, reply); err != nil {
			return
		}
	}
}

// readCommand reads a command as clients send it: a list of bulk strings.
func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r, '*')
	if err != nil || n < 1 {
		return nil, fmt.Errorf("testredis: no command: %w", err)
	}
	args := make([]string, n)
	for i := range args {
		size, err := readLength(r, '$')
		if err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		args[i] = string(b[:size])
	}
	return args, nil
}

func readLength(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("testredis: a line begins with %q, not %q", line[0], kind)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
