package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var packages = []string{module, module + "/interop", module + "/runtime", module + "/runtime/model", module + "/templates"}

func TestEveryPackageIsRunOnce(t *testing.T) {
	t.Parallel()
	p := choose(packages, false)
	require.Equal(t, 5, p.total)
	require.Empty(t, p.leftOut)
	require.Equal(t, [][]string{
		{"test", "-timeout=1h", "-race", module + "/runtime"},
		{"test", "-timeout=1h", module, module + "/interop", module + "/runtime/model", module + "/templates"},
	}, p.groups)
}

func TestAShortRunSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	p := choose(packages, true)
	require.Equal(t, [][]string{{"test", "-timeout=1h", "-short", module, module + "/runtime", module + "/templates"}}, p.groups)
	require.Equal(t, []string{"interop (real Node peers)", "runtime/model (random calls against a model)", omitted}, p.leftOut)
	require.Equal(t, "ok: 3 packages; left out: interop (real Node peers); 42s",
		(&report{done: 3}).summary(true, p.leftOut[:1], 42*time.Second))
}

// What packages say is not mixed, its last lines are those of the go command,
// and a failure is named again at the end.
func TestOutputOfSeveralCommandsIsKeptApart(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	r := &report{to: &got, total: 3}
	one, two := &output{report: r}, &output{report: r}
	for _, part := range []struct {
		to   *output
		text string
	}{
		{one, "--- FAIL: TestX (0.01s)\n    x_te"}, {two, "ok  \t" + module + "/b\t1.2s\n"},
		{one, "st.go:3: wrong\nFAIL\nFAIL\t" + module + "/a\t0.2s\n"}, {one, "FAIL\n"}, {two, "warning"},
	} {
		_, err := part.to.Write([]byte(part.text))
		require.NoError(t, err)
	}
	one.close()
	two.close()
	require.Equal(t, "ok  \t"+module+"/b\t1.2s\t[1/3]\n"+
		"--- FAIL: TestX (0.01s)\n    x_test.go:3: wrong\nFAIL\nFAIL\t"+module+"/a\t0.2s\t[2/3]\nwarning", got.String())
	require.Equal(t, "FAIL: 1 of 3 packages failed: a; 1m0s", r.summary(false, nil, time.Minute))
}

// A name in the lists that no package has would leave nothing out.
func TestEveryPackageOfTheListsExists(t *testing.T) {
	t.Parallel()
	for _, name := range append(slices.Collect(maps.Keys(long)), raced...) {
		found, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(name), "*_test.go"))
		require.NoError(t, err)
		require.NotEmpty(t, found, name)
	}
}
