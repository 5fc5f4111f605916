package bullmqgen_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
)

const twoFiles = "package tasks\n\n//bullmq:task q/a\ntype A struct {\n\tID string `bullmq:\"dedup\"`\n}\n"

// Generated code is removed when it is certain that its source is gone, and only
// then.
func TestDeletingNeedsCertainty(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	for name, c := range map[string]struct {
		files map[string]string // "": the file is removed
		words string            // of the error, or of why a file is removed
		gone  bool
	}{
		"a stray file of another package": {files: map[string]string{"tasks/stray.go": "package other\n"}, words: "found packages"},
		"an emptied file":                 {files: map[string]string{"tasks/tasks.go": ""}, words: "expected 'package'"},
		"an emptied second file":          {files: map[string]string{"tasks/tasks.go": "package tasks\n", "tasks/b.go": ""}, words: "expected 'package'"},
		"a syntax error":                  {files: map[string]string{"tasks/tasks.go": "package tasks\n\nfunc {\n"}, words: "syntax error"},
		"a directive with a blank":        {files: map[string]string{"tasks/tasks.go": strings.Replace(twoFiles, "//bullmq", "// bullmq", 1)}, words: "looks as if there were one"},
		"a directive with a colon gone":   {files: map[string]string{"tasks/tasks.go": strings.Replace(twoFiles, "//bullmq:", "//bullmq ", 1)}, words: "looks as if there were one"},
		"a mistyped directive":            {files: map[string]string{"tasks/tasks.go": "package tasks\n\n//bulmq:task q/a\ntype A struct{}\n"}, words: "tasks.go:3:1"},
		"a directive in another comment":  {files: map[string]string{"tasks/tasks.go": "package tasks\n\n/*bullmq:task q/a*/\ntype A struct{}\n"}, words: "looks as if there were one"},
		"a build tag":                     {files: map[string]string{"tasks/tasks.go": "//go:build never\n\n" + twoFiles, "tasks/b.go": "package tasks\n"}, words: "choose it with -tags"},
		"a build tag on all files":        {files: map[string]string{"tasks/tasks.go": "//go:build never\n\n" + twoFiles}, words: "build constraints"},
		"a package that is not loaded":    {files: map[string]string{"tasks/tasks.go": "package tasks\n\nimport \"bad path\"\n\nvar _ = 1\n"}, words: "does not load"},

		"no directive any more": {files: map[string]string{"tasks/tasks.go": "package tasks\n\n// A was a task.\ntype A struct{}\n"}, words: "removed, since package example.com/%s/tasks has no tasks any more", gone: true},
		"no Go files any more":  {files: map[string]string{"tasks/tasks.go": "", "tasks/": ""}, words: "there are no Go files in its folder", gone: true},
		"no folder any more":    {files: map[string]string{"tasks": ""}, words: "is gone with its folder", gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := strings.ReplaceAll(name, " ", "-")
			dir := filepath.Join(module, folder)
			writeFile(t, filepath.Join(dir, "tasks", "tasks.go"), twoFiles)
			writeFile(t, filepath.Join(dir, "other", "other.go"), "package other\n\n//bullmq:task other/o\ntype O struct{}\n")
			config := bullmqgen.Config{Dir: dir, Patterns: []string{"./..."}, Env: goEnv()}
			r, err := bullmqgen.Generate(context.Background(), config)
			require.NoError(t, err)
			require.NoError(t, r.Write())
			generated := filepath.Join(dir, "gen", "tasks.gen.go")
			require.FileExists(t, generated)
			before, err := os.ReadFile(filepath.Join(dir, "gen", "bullmq.manifest.json"))
			require.NoError(t, err)

			for file, text := range c.files {
				switch _, folder := c.files["tasks/"]; {
				case file == "tasks":
					require.NoError(t, os.RemoveAll(filepath.Join(dir, file)))
				case folder && file != "tasks/":
					require.NoError(t, os.Remove(filepath.Join(dir, file)))
				case !folder:
					writeFile(t, filepath.Join(dir, file), text)
				}
			}
			said := ""
			r, err = bullmqgen.Generate(context.Background(), config)
			if err != nil {
				said = err.Error()
			} else {
				for _, d := range r.Diagnostics {
					said += d.String() + "\n"
				}
				for _, f := range r.Files {
					said += r.Summary(f) + "\n"
				}
				if !r.Failed() {
					require.NoError(t, r.Write())
				}
			}
			words := c.words
			if strings.Contains(words, "%s") {
				words = fmt.Sprintf(words, folder)
			}
			require.Contains(t, said, words)
			require.Equal(t, c.gone, err == nil && !r.Failed(), said)
			_, err = os.Stat(generated)
			require.Equal(t, c.gone, os.IsNotExist(err), said)
			after, err := os.ReadFile(filepath.Join(dir, "gen", "bullmq.manifest.json"))
			require.NoError(t, err)
			require.Equal(t, c.gone, string(before) != string(after))
			require.Contains(t, string(after), `"other"`)
		})
	}
}

// Runs that share an output, as go generate of several folders does, keep what
// the others say in the manifest, whatever they read before.
func TestRunsAtOnceShareAManifest(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	const n = 6
	results := make([]*bullmqgen.Result, n)
	for i := range n {
		name := fmt.Sprintf("p%d", i)
		writeFile(t, filepath.Join(module, name, "p.go"), fmt.Sprintf("package %s\n\n//bullmq:task %s/t\ntype T%d struct{}\n", name, name, i))
		var err error
		results[i], err = bullmqgen.Generate(context.Background(), bullmqgen.Config{Dir: filepath.Join(module, name), Env: goEnv()})
		require.NoError(t, err)
		require.Empty(t, results[i].Diagnostics)
	}
	var wait sync.WaitGroup
	errs := make([]error, n)
	for i, r := range results {
		wait.Go(func() { errs[i] = r.Write() })
	}
	wait.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	r, err := bullmqgen.Generate(context.Background(), bullmqgen.Config{Dir: module, Patterns: []string{"./..."}, Env: goEnv()})
	require.NoError(t, err)
	require.Empty(t, r.Changes())

	// A run that would remove the manifest finds that others describe something now.
	require.NoError(t, os.RemoveAll(filepath.Join(module, "gen")))
	first, err := bullmqgen.Generate(context.Background(), bullmqgen.Config{Dir: filepath.Join(module, "p0"), Env: goEnv()})
	require.NoError(t, err)
	require.NoError(t, first.Write())
	writeFile(t, filepath.Join(module, "p0", "p.go"), "package p0\n")
	last, err := bullmqgen.Generate(context.Background(), bullmqgen.Config{Dir: filepath.Join(module, "p0"), Env: goEnv()})
	require.NoError(t, err)
	require.NoError(t, results[1].Write())
	require.NoError(t, last.Write())
	text, err := os.ReadFile(filepath.Join(module, "gen", "bullmq.manifest.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), "example.com/p1")
	require.NotContains(t, string(text), "example.com/p0")
}

// A manifest with marks of a merge is made anew by a run that knows all that it
// describes, and by no other.
func TestAManifestThatCannotBeReadIsNotCutShort(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	for _, name := range []string{"a", "b"} {
		writeFile(t, filepath.Join(module, name, name+".go"), fmt.Sprintf("package %s\n\n//bullmq:task %s/t\ntype T%s struct{}\n", name, name, name))
	}
	generate := func(dir, pattern string) *bullmqgen.Result {
		r, err := bullmqgen.Generate(context.Background(), bullmqgen.Config{Dir: dir, Patterns: []string{pattern}, Env: goEnv()})
		require.NoError(t, err)
		return r
	}
	require.NoError(t, generate(module, "./...").Write())
	file := filepath.Join(module, "gen", "bullmq.manifest.json")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	writeFile(t, file, strings.Replace(string(whole), `"schemaVersion"`, "<<<<<<< HEAD\n\"schemaVersion\"", 1))
	alone := generate(filepath.Join(module, "a"), ".")
	require.True(t, alone.Failed())
	require.Contains(t, alone.Diagnostics[0].String(), "it describes package example.com/b too")
	require.NoError(t, generate(module, "./...").Write())
	again, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(whole), string(again))
}
