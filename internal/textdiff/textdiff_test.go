package textdiff

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
	"pgregory.net/rapid"
)

func TestUnified(t *testing.T) {
	t.Parallel()
	require.Empty(t, Unified("a", "b", "same\n", "same\n"))
	require.Equal(t, "--- a\n+++ b\n@@ -1,4 +1,4 @@\n 1\n-2\n+two\n 3\n 4\n", Unified("a", "b", "1\n2\n3\n4\n", "1\ntwo\n3\n4\n"))
	require.Equal(t, "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+new\n", Unified("a", "b", "", "new\n"))
	require.Equal(t, "--- a\n+++ b\n@@ -1,1 +0,0 @@\n-old\n", Unified("a", "b", "old\n", ""))
	require.Equal(t, "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-x\n\\ No newline at end of file\n+x\n", Unified("a", "b", "x", "x\n"))
}

func TestDistantChangesAreHunksOfTheirOwn(t *testing.T) {
	t.Parallel()
	old := strings.Repeat("same\n", 20)
	diff := Unified("a", "b", "1\n"+old+"2\n", "one\n"+old+"two\n")
	require.Equal(t, 2, strings.Count(diff, "@@ -"))
	require.Contains(t, diff, "@@ -1,4 +1,4 @@")
	require.Contains(t, diff, "@@ -19,4 +19,4 @@")
}

func TestTextsWithNothingInCommonEndSoon(t *testing.T) {
	t.Parallel()
	diff := Unified("a", "b", strings.Repeat("x\n", 3000), strings.Repeat("y\n", 3000))
	require.Equal(t, 3000, strings.Count(diff, "\n-x"))
	require.Equal(t, 3000, strings.Count(diff, "\n+y"))
}

// The edits must lead from the old text to the new one, whatever they are.
func TestEditsLeadFromOldToNew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "d\n"})
		a := rapid.SliceOfN(line, 0, 30).Draw(t, "old")
		b := rapid.SliceOfN(line, 0, 30).Draw(t, "new")
		var old, new []string
		for _, e := range compare(a, b) {
			if e.op != '+' {
				old = append(old, e.line)
			}
			if e.op != '-' {
				new = append(new, e.line)
			}
		}
		require.Equal(t, strings.Join(a, ""), strings.Join(old, ""))
		require.Equal(t, strings.Join(b, ""), strings.Join(new, ""))
	})
}

func TestPatchAcceptsIt(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("patch"); err != nil {
		testneed.Missing(t, "the program patch", "apt-get install patch")
	}
	old := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n"
	new := "0\n1\n2\n3\nfour\n5\n6\n7\n8\n9\n10\n11\n12\n14\n15\n16\n"
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte(old), 0o644))
	patch := exec.Command("patch", "-s", file)
	patch.Stdin = strings.NewReader(Unified("file", "file", old, new))
	out, err := patch.CombinedOutput()
	require.NoError(t, err, string(out))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, new, string(text))
}
