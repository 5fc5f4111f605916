package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/example/gen"
	"github.com/bullmq-gen/bullmq-gen/example/tasks"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/bullmqtest"
	"github.com/bullmq-gen/bullmq-gen/runtime/embedded"

	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
)

// folder makes files whose numbers are known.
func folder(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go":               "package a\n\nvar x = 1\n", // 3 lines, 6 words, 21 bytes
		"sub/b.md":           "one two\nthree",           // 2 lines, 3 words, 13 bytes
		"sub/empty.txt":      "",
		".hidden/c.go":       "not read",
		"node_modules/d.js":  "not read",
		"sub/latin-1":        "caf\xe9 x\n", // 1 line, 2 words, 7 bytes
		"sub/deeper/e.go":    "package e\n", // 1 line, 2 words, 10 bytes
		"sub/.also-hidden.c": "not read",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), testneed.Patience)
	t.Cleanup(cancel)
	return ctx
}

func TestReportHasTheTrueNumbers(t *testing.T) {
	t.Parallel()
	var out buffer
	require.NoError(t, run(testContext(t), config{dir: folder(t), role: "both", most: 100, flaky: 2}, &out))
	text := out.String()
	require.Contains(t, text, "5 files, 51 bytes, 7 lines, 13 words; 0 failed, ")
	require.Contains(t, text, "Go           2\n")
	require.Contains(t, text, "Markdown     1\n")
	require.Contains(t, text, "queue files: 6 completed, 0 failed, 0 waiting, 0 active")
	require.NotContains(t, text, "0 were tried again", "some failed once")
	first, second := strings.Index(text, "notice (priority 1)"), strings.Index(text, "notice (priority 2)")
	require.Greater(t, second, first)
	require.Contains(t, text, `a notice about "begin" was added already`)
	require.Contains(t, text, "schedule alive: next at ")
}

func TestCopiesAreFound(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for name, text := range map[string]string{
		"a-copy.go": "package a\n\nvar x = 1\n", "sub/a-copy.go": "package a\n\nvar x = 1\n", "sub/as-large.go": "package a\n\nvar y = 1\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600))
	}
	var out buffer
	require.NoError(t, run(testContext(t), config{dir: dir, role: "both", most: 100, flaky: 3}, &out))
	require.Contains(t, out.String(), "4 files are as large as another; sets of copies: 1, with 42 bytes to spare\n  a-copy.go is there 3 times\n")
}

func TestFindCopies(t *testing.T) {
	t.Parallel()
	report := func(path, hash string, bytes int) bullmq.Outcome[tasks.FileReport] {
		return bullmq.Outcome[tasks.FileReport]{Value: tasks.FileReport{Path: path, SHA256: hash, Bytes: bytes}}
	}
	found, err := bullmqtest.WorkParent(t, gen.FindCopiesTask, librarian{}.FindCopies, tasks.FindCopies{Smallest: 2}, gen.FindCopiesResults{
		Files: []bullmq.Outcome[tasks.FileReport]{
			report("small", "s", 1), report("a", "1", 10), report("b", "2", 9), report("other", "3", 9),
			{Err: &bullmq.ChildError{Reason: "no such file"}}, report("small too", "s", 1), report("c", "2", 9), report("d", "1", 10), report("e", "2", 9),
		},
	})
	require.NoError(t, err)
	require.Equal(t, tasks.Copies{Sets: [][]string{{"b", "c", "e"}, {"a", "d"}}, Wasted: 28, Unread: 1}, found)
}

func TestTwoPrograms(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start()
	require.NoError(t, err)
	defer server.Close()
	dir := folder(t)
	working, stop := context.WithCancel(testContext(t))
	worked := make(chan error, 1)
	go func() {
		worked <- run(working, config{dir: dir, role: "worker", redis: server.URL(), most: 1}, &buffer{})
	}()
	var out buffer
	require.NoError(t, run(testContext(t), config{dir: dir, role: "producer", redis: server.URL(), most: 3}, &out))
	require.Contains(t, out.String(), "3 files, ")
	stop()
	require.NoError(t, <-worked)
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	for want, c := range map[string]config{
		"use producer":     {dir: ".", role: "boss", most: 1},
		"give -redis":      {dir: ".", role: "worker", most: 1},
		"-max":             {dir: ".", role: "both"},
		"no such file":     {dir: "nowhere", role: "both", most: 1},
		"is not a folder":  {dir: "main.go", role: "both", most: 1},
		"use redis://":     {dir: ".", role: "both", most: 1, redis: "localhost:1"},
		"no files below":   {dir: t.TempDir(), role: "both", most: 1},
		"127.0.0.1:1: con": {dir: ".", role: "both", most: 1, redis: "redis://127.0.0.1:1"},
	} {
		require.ErrorContains(t, run(ctx, c, &buffer{}), want)
	}
}

func TestScanFile(t *testing.T) {
	t.Parallel()
	s := &scanner{root: folder(t)}
	r, err := bullmqtest.Work(t, gen.ScanFileTask, s.ScanFile, tasks.ScanFile{Path: "sub/b.md"})
	require.NoError(t, err)
	require.Equal(t, tasks.FileReport{
		Path: "sub/b.md", SHA256: "2e2bf529d7cf77cec165d750c66d6d1617d14adf8e9f4e483864ed0b6c89a221", Bytes: 13, Lines: 2, Words: 3, Language: "Markdown",
	}, r)
	for _, path := range []string{"../secret", "gone.txt"} {
		_, err = bullmqtest.Work(t, gen.ScanFileTask, s.ScanFile, tasks.ScanFile{Path: path}, bullmq.Attempts(5))
		require.ErrorIs(t, err, bullmq.ErrJobFailed)
	}
}
