package soak

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/interop"
)

// The figures of the last long run stand between these lines of the document.
const (
	document = "../../docs/reliability.md"
	begin    = "<!-- figures: written by make soak -->\n"
	end      = "<!-- end of figures -->\n"
)

// publish prints the figures, and writes them into the document if
// BULLMQ_SOAK_REPORT is 1.
func (f *fleet) publish(g figures) {
	f.Helper()
	text := g.table(f.faults)
	f.Log("\n" + text)
	if os.Getenv("BULLMQ_SOAK_REPORT") != "1" {
		return
	}
	path := filepath.FromSlash(document)
	old, err := os.ReadFile(path)
	require.NoError(f, err)
	head, rest, ok := strings.Cut(string(old), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	require.True(f, ok && ok2, "%s has no place for the figures", document)
	require.NoError(f, os.WriteFile(path, []byte(head+begin+"\n"+text+"\n"+end+tail), 0o600))
}

func (g *figures) table(faults map[string]int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Fleet: 2 Go workers, whose clocks are 2 minutes ahead and behind, a worker of Node %s and one of %s;\n",
		interop.Node6.Version, interop.Node5.Version)
	fmt.Fprintf(&b, "a producer of each runtime. Seed %d, %d seconds, %d faults.\n\n| | |\n| --- | ---: |\n", g.Seed, g.Seconds, g.Faults)
	for _, row := range []struct {
		name string
		n    int
	}{
		{"jobs acknowledged to their producers", g.Acknowledged},
		{"of these lost", 0},
		{"of these stored twice", 0},
		{"adds reported as uncertain, and not repeated", g.Uncertain},
		{"of these stored", g.Stored},
		{"adds reported as refused", g.Refused},
		{"of these stored", 0},
		{"runs of handlers", g.Runs},
		{"of these made necessary by recovery", g.Again},
		{"jobs completed, with the right result", g.Completed},
		{"jobs failed, as they should", g.Failed},
		{"findings of the audit afterwards", 0},
		{"by Node alone: jobs reported as added, and not stored", g.NodeMissing},
		{"by Node alone: jobs run again because a refused completion counts as a failure", g.NodeRepeats},
		{"by Node alone: jobs failed for that reason", g.NodeFailed},
	} {
		fmt.Fprintf(&b, "| %s | %d |\n", row.name, row.n)
	}
	b.WriteString("\n| fault | times |\n| --- | ---: |\n")
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		fmt.Fprintf(&b, "| %s | %d |\n", name, faults[name])
	}
	return b.String()
}
