package interop

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// TestProtocolIsDocumented requires that the README has every operation of
// every peer, and that the Go peer has none that Node peers lack.
func TestProtocolIsDocumented(t *testing.T) {
	t.Parallel()
	NeedNode(t)
	s := testredis.Shared(t)
	k := newKit(t, s.Client(t))
	text, err := os.ReadFile(filepath.Join(folder(), "README.md"))
	require.NoError(t, err)
	documented := sections(string(text))
	var node, ours []string
	require.NoError(t, StartNode(t, Node6, s.URL()).Call(k.ctx, "ops", nil, &node))
	require.NoError(t, StartGo(t, s.URL()).Call(k.ctx, "ops", nil, &ours))
	require.Greater(t, len(node), 100)
	require.Greater(t, len(ours), 90)
	require.Subset(t, append(node, "clock.set", "clock.real"), ours)
	for _, op := range node {
		section, name, ok := strings.Cut(op, ".")
		if !ok {
			section, name = "clock", op
		}
		count := regexp.MustCompile("^get[A-Za-z]+Count$").MatchString(name) && documented[section]["get...Count"]
		require.True(t, documented[section][name] || count, "README.md says nothing of %s", op)
	}
}

// sections are the words in backquotes, by the section they stand in.
func sections(text string) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	section := ""
	for _, line := range strings.Split(text, "\n") {
		if title, ok := strings.CutPrefix(line, "### "); ok {
			section, _, _ = strings.Cut(title, ".")
			out[section] = map[string]bool{}
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
			if section != "" {
				out[section][strings.TrimPrefix(m[1], section+".")] = true
			}
		}
	}
	return out
}

// TestPeerErrors says what a test learns when a peer refuses, or is gone.
func TestPeerErrors(t *testing.T) {
	t.Parallel()
	s := testredis.Shared(t)
	k := newKit(t, s.Client(t))
	for _, p := range []*Peer{StartGo(t, s.URL()), StartNode(t, Node6, s.URL())} {
		o := k.on(p, name("q"))
		err := o.try("no.such.operation", nil, nil)
		require.True(t, IsNotOffered(err), err)
		err = o.try("job.get", Args{"id": "7"}, nil)
		require.False(t, IsNotOffered(err))
		require.ErrorContains(t, err, p.Name+" refused job.get")
		var refused *Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, -1, refused.Code)

		ended, cancel := context.WithCancel(k.ctx)
		cancel()
		require.ErrorIs(t, p.Call(ended, "worker.release", Args{"key": "x"}, nil), context.Canceled)
		_, err = p.AwaitOne(ended, o.queue, "nothing", func(*Event) bool { return false })
		require.ErrorIs(t, err, context.Canceled)
		p.Kill()
		require.False(t, p.Alive())
		require.ErrorContains(t, o.try("ping", nil, nil), p.Name)
		_, err = p.AwaitOne(k.ctx, o.queue, "nothing", func(*Event) bool { return false })
		require.ErrorContains(t, err, "the process has ended")
	}
}

// TestC053_ProtocolsOfRedis plays with each protocol version of Redis.
func TestC053_ProtocolsOfRedis(t *testing.T) {
	t.Parallel()
	at := sharedPlace(t)
	k := newKit(t, at.keys)
	node := StartNode(t, Node6, at.url)
	for _, version := range []string{"2", "3"} {
		ga := StartGo(t, at.url+"?protocol="+version)
		for _, goFirst := range []bool{false, true} {
			for _, play := range []func(*cell){addAndWork, retryAcross, rawReason, listings, dependencies, events} {
				c := &cell{kit: k, place: at, sides: sides{node, ga}, lib: Node6, goFirst: goFirst}
				c.producer, c.consumer = c.pair(name("q"))
				play(c)
			}
		}
	}
}
