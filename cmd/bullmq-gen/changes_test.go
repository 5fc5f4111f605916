package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An edit of one task rewrites what is made from its package, and no other
// file: compilers and editors see nothing else change.
func TestAnEditRewritesOneFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/app\n\ngo 1.26.0\n")
	for p := range 4 {
		for n := range 3 {
			name := fmt.Sprintf("Do%d", n)
			text := strings.NewReplacer("Do", name, "jobs/do", fmt.Sprintf("team%d/do-%d", p, n)).Replace(goodTasks)
			write(t, dir, fmt.Sprintf("team%d/tasks/do%d.go", p, n), text)
		}
	}
	code, _, stderr := start(t, dir, "./...")
	require.Zero(t, code, stderr)
	edited := filepath.Join("team2", "tasks", "do1.go")
	for _, step := range []struct {
		old, new string
		want     []string
	}{
		{"", "", nil},
		{"package tasks\n", "package tasks\n\nfunc unrelated() {}\n", nil},
		{"result=int", "result=int lifo", []string{"bullmq.manifest.json", "tasks.gen.go", "tasks.gen.js"}},
		{"// Do1 does.", "// Do1 does it.", []string{"bullmq.manifest.json", "tasks.gen.d.ts", "tasks.gen.go", "tasks.gen.js"}},
		{"A string", "B bool `json:\"b,omitempty\"`\n\tA string", []string{"bullmq.manifest.json", "tasks.gen.d.ts", "tasks.gen.go"}},
	} {
		before := snapshot(t, dir)
		text := read(t, dir, edited)
		require.Contains(t, text, step.old)
		write(t, dir, edited, strings.Replace(text, step.old, step.new, 1))
		code, _, stderr := start(t, dir, "./...")
		require.Zero(t, code, stderr)
		var changed []string
		for name, now := range snapshot(t, dir) {
			was := before[name]
			require.NotNil(t, was, "%s is new", name)
			if name != edited && !(os.SameFile(was, now) && was.ModTime().Equal(now.ModTime())) {
				changed = append(changed, name)
			}
		}
		var want []string
		for _, name := range step.want {
			want = append(want, filepath.Join("team2", "gen", name))
		}
		require.ElementsMatch(t, want, changed, "%q", step.new)
	}
}

// snapshot is what the file system says of each file.
func snapshot(t *testing.T, dir string) map[string]fs.FileInfo {
	t.Helper()
	files := map[string]fs.FileInfo{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		files[strings.TrimPrefix(path, dir+string(filepath.Separator))] = info
		return err
	}))
	return files
}
