package bullmqgen_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
)

// What is generated from a package is the same whether it is generated alone, as
// go generate does, or with others, and whatever was generated before it.
func TestOneInputHasOneOutput(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	for _, file := range archives(t, "testdata/generator/*.txtar") {
		if c := readCase(t, file); !c.fails() && !c.nobuild && !c.ownModule() && len(c.args) == 1 && len(c.env) == 0 {
			c.unpack(t, module)
		}
	}
	generate := func(dir, pattern string) *bullmqgen.Result {
		r, err := bullmqgen.Generate(context.Background(), bullmqgen.Config{Dir: dir, Patterns: []string{pattern}, Env: goEnv()})
		require.NoError(t, err)
		require.False(t, r.Failed(), "%v", r.Diagnostics)
		return r
	}
	together := generate(module, "./...")
	sources := sourceDirs(t, module)
	require.Greater(t, len(sources), 80)
	slices.Reverse(sources)
	for _, dir := range sources {
		require.NoError(t, generate(dir, ".").Write())
	}
	alone := map[string]string{}
	for _, f := range generate(module, "./...").Files {
		alone[f.Path] = string(f.State)
	}
	for _, f := range together.Files {
		if f.State == bullmqgen.Orphan {
			delete(alone, f.Path)
			continue
		}
		require.Equal(t, "fresh", alone[f.Path], "made alone and with others: %s", f.Path)
		text, err := os.ReadFile(f.Path)
		require.NoError(t, err)
		require.Equal(t, string(f.Content), strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n"), f.Path)
	}
}

var directiveLine = regexp.MustCompile(`(?m)^\s*//bullmq:`)

// sourceDirs are the folders below dir that have directives.
func sourceDirs(t *testing.T, dir string) []string {
	t.Helper()
	var dirs []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && directiveLine.Match(text) && !slices.Contains(dirs, filepath.Dir(path)) {
			dirs = append(dirs, filepath.Dir(path))
		}
		return err
	}))
	return dirs
}
