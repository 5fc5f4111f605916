package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
)

// Library is a release of BullMQ for Node.js.
type Library struct {
	pkg     string
	Version string
}

// Package is the name under which node/package.json installs the release.
func (l Library) Package() string { return l.pkg }

// v5 reports whether the release is one of 5.x.
func (l Library) v5() bool { return strings.HasPrefix(l.Version, "5.") }

// ReleasesBegin stands before the part of docs/compatibility.md that make compat writes.
const ReleasesBegin = "\n<!-- releases: written by make compat -->\n"

// The releases that are installed, by the names that node/package.json gives them.
var (
	Node6 = Library{"bullmq", "6.7.0"}
	Node5 = Library{"bullmq5", "5.81.5"}
)

// Option changes how a peer is started.
type Option func(*startConfig)

type startConfig struct {
	prefix string
	peers5 bool
}

// Prefix is what the peer's keys begin with.
func Prefix(prefix string) Option { return func(c *startConfig) { c.prefix = prefix } }

// Peers5 makes a Go peer reckon with 5.x peers that pause queues.
func Peers5() Option { return func(c *startConfig) { c.peers5 = true } }

func configOf(opts []Option) *startConfig {
	c := &startConfig{}
	for _, o := range opts {
		o(c)
	}
	return c
}

// startTime is how long a peer may take until it answers, on a machine that is
// busy with much else.
const startTime = 5 * time.Minute

// StartNode runs a Node peer until the end of the test. Without Node, or its
// packages, on the machine the test is skipped, or fails where nothing may be
// skipped (see package testneed).
func StartNode(t testing.TB, lib Library, redisURL string, opts ...Option) *Peer {
	t.Helper()
	p, err := startNode(t, lib, redisURL, configOf(opts))
	require.NoError(t, err)
	t.Cleanup(p.close)
	return p
}

func startNode(t testing.TB, lib Library, redisURL string, c *startConfig) (*Peer, error) {
	t.Helper()
	NeedNode(t)
	cmd := exec.Command("node", filepath.Join(folder(), "node", "peer.js"), lib.pkg, redisURL, c.prefix)
	p, err := launch("node "+lib.Version, cmd)
	if err != nil {
		return nil, err
	}
	var pong struct{ Version string }
	if err := p.hello(&pong); err != nil {
		return nil, err
	}
	if pong.Version != lib.Version {
		p.close()
		return nil, fmt.Errorf("node_modules has %s %s, not %s: run `make setup`", lib.pkg, pong.Version, lib.Version)
	}
	return p, nil
}

// hello waits until the peer answers.
func (p *Peer) hello(pong any) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	err := p.Call(ctx, "ping", nil, pong)
	if err != nil {
		p.close()
	}
	return err
}

// NeedNode ends the test if there is no Node, or its packages are not installed.
func NeedNode(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		testneed.Missing(t, "node", "install Node.js 18 or later")
	}
	for _, pkg := range []string{Node6.pkg, Node5.pkg} {
		if _, err := os.Stat(filepath.Join(folder(), "node", "node_modules", pkg, "package.json")); err != nil {
			testneed.Missing(t, "interop/node/node_modules", "run `make setup`")
		}
	}
}

// folder is the folder of this file.
func folder() string {
	_, file, _, _ := runtime.Caller(0)
	if !filepath.IsAbs(file) { // built with -trimpath: it is the package under test
		return "."
	}
	return filepath.Dir(file)
}

// StartGo runs a peer that uses this module's runtime, in a process of its own,
// until the end of the test.
func StartGo(t testing.TB, redisURL string, opts ...Option) *Peer {
	t.Helper()
	p, err := startGo(redisURL, configOf(opts))
	require.NoError(t, err)
	t.Cleanup(p.close)
	return p
}

func startGo(redisURL string, c *startConfig) (*Peer, error) {
	program, err := goPeer()
	if err != nil {
		return nil, err
	}
	args := []string{"-redis", redisURL}
	if c.prefix != "" {
		args = append(args, "-prefix", c.prefix)
	}
	if c.peers5 {
		args = append(args, "-peers5")
	}
	p, err := launch("go", exec.Command(program, args...))
	if err != nil {
		return nil, err
	}
	return p, p.hello(nil)
}

// goPeer builds the Go peer, once in a test binary.
var goPeer = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "bullmq-gopeer-")
	if err != nil {
		return "", fmt.Errorf("build the Go peer: %w", err)
	}
	built.dir = dir
	program := filepath.Join(dir, "gopeer")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	cmd := exec.Command("go", "build", "-o", program, "./gopeer")
	cmd.Dir = folder()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("build the Go peer: %w", err), errors.New(string(out)))
	}
	return program, nil
})

// built is what has to be removed when the tests are over, see Clean.
var built struct{ dir string }

// Clean removes what starting peers left on the disk; for TestMain.
func Clean() {
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
}
