package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
)

const annotated = "package p\n\n//bullmq:task q/a\ntype A struct{}\n"

// What the go command is asked is what a run costs: once for the packages and
// once for the types, however many packages there are, and however the
// patterns are written; twice for the types only when they had to be guessed
// wrong.
func TestQuestionsToTheGoCommand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files    map[string]string
		patterns []string
		found    []string
		again    bool
	}{
		"all":            {nil, []string{"./..."}, []string{"app/a", "app/b/c"}, false},
		"some":           {nil, []string{"./b/..."}, []string{"app/b/c"}, false},
		"one":            {nil, []string{"./a"}, []string{"app/a"}, false},
		"overlapping":    {nil, []string{"./a", "./...", "./a"}, []string{"app/a", "app/b/c"}, false},
		"import paths":   {nil, []string{"example.com/app/..."}, []string{"app/a", "app/b/c"}, true},
		"ignored":        {map[string]string{"vendor/v/v.go": annotated, "testdata/t/t.go": annotated, "_x/x.go": annotated, "a/a_test.go": annotated, "a/.b.go": "//bullmq:task"}, []string{"./..."}, []string{"app/a", "app/b/c"}, false},
		"hidden by tags": {map[string]string{"d/d.go": "//go:build never\n\n" + annotated, "d/e.go": "package p\n"}, []string{"./..."}, []string{"app/a", "app/b/c"}, true},
		"another module": {map[string]string{"d/go.mod": "module example.com/d\n", "d/d.go": annotated}, []string{"./..."}, []string{"app/a", "app/b/c"}, true},
		"none":           {nil, []string{"./e"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			write := func(name, text string) {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
			}
			write("go.mod", "module example.com/app\n\ngo 1.26.0\n")
			write("a/a.go", annotated)
			write("b/c/c.go", annotated)
			write("e/e.go", "package e\n")
			for name, text := range c.files {
				write(name, text)
			}
			loaded, said := load(t, Config{Dir: dir, Patterns: c.patterns, Env: append(os.Environ(), "GOFLAGS=", "GOWORK=off")})
			var found []string
			for _, p := range loaded.Annotated {
				found = append(found, strings.TrimPrefix(p.Path, "example.com/"))
			}
			require.Equal(t, c.found, found)
			require.Equal(t, c.again, strings.Contains(said, "asking again"), said)
			require.LessOrEqual(t, strings.Count(said, "asking for types"), 2, said)
			if !c.again && found != nil {
				require.Equal(t, 1, strings.Count(said, "asking for types"), said)
			}
			require.Equal(t, 1, strings.Count(said, "asking for packages"), said)
		})
	}
}

// load returns what was loaded, and what was said meanwhile.
func load(t *testing.T, c Config) (*Loaded, string) {
	t.Helper()
	var mu sync.Mutex
	var said strings.Builder
	c.Logf = func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&said, format+"\n", args...)
	}
	l := &diag.List{Base: c.Dir}
	loaded, err := Load(context.Background(), c, l)
	require.NoError(t, err)
	require.False(t, l.Failed(), l.Sorted())
	mu.Lock()
	defer mu.Unlock()
	return loaded, said.String()
}
