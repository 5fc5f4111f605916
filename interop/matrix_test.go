package interop

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// feature is something that peers of both languages must agree on. It is
// played in each cell of the table: with each release of Node's library, and
// with the roles of the two sides exchanged.
type feature struct {
	group string
	name  string
	// play plays it with the first side on the producer, the other on the consumer.
	play func(*cell)
	// lacks says why there is nothing to play in a cell, or "".
	lacks func(*cell) string
}

// cell is a feature with one release and one direction.
type cell struct {
	*kit
	place
	sides
	lib     Library
	goFirst bool
	// The two sides, on a queue of the cell's own.
	producer, consumer *on
}

// queue is another queue of the cell, as both sides see it.
func (c *cell) pair(queue string) (producer, consumer *on) {
	first, second := c.node, c.ga
	if c.goFirst {
		first, second = second, first
	}
	return c.on(first, queue), c.on(second, queue)
}

// base is what the keys of a queue begin with, and how jobs name it.
func (c *cell) base(queue string) string { return c.prefix + ":" + queue }

// v5 reports whether Node's side is 5.x.
func (c *cell) v5() bool { return c.lib.v5() }

// column is a column of the table.
type column struct {
	lib     Library
	goFirst bool
}

var columns = []column{{Node6, false}, {Node6, true}, {Node5, false}, {Node5, true}}

func (c column) String() string {
	if c.goFirst {
		return "Go to Node " + c.lib.Version
	}
	return "Node " + c.lib.Version + " to Go"
}

// marks are what the table says of each cell.
type marks struct {
	mu   sync.Mutex
	cell map[string]map[column]string // by feature
}

func (m *marks) set(f *feature, col column, mark string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cell[f.name] == nil {
		m.cell[f.name] = map[column]string{}
	}
	m.cell[f.name][col] = mark
}

// TestMatrix plays every feature with both releases of Node's library in both
// directions. Under -v it prints the table; `go test ./interop -run Matrix
// -update` writes it to docs/compatibility.md.
func TestMatrix(t *testing.T) {
	t.Parallel()
	f := startFleet(t, sharedPlace(t))
	m := &marks{cell: map[string]map[column]string{}}
	f.play(t, m, columns)
	text := m.page(columns)
	t.Logf("\n%s", text)
	if !t.Failed() && m.complete() {
		checkPage(t, filepath.Join(folder(), "..", "docs", "compatibility.md"), text)
	}
}

// play plays every feature in some columns.
func (f *fleet) play(t *testing.T, m *marks, columns []column) {
	t.Run("cells", func(t *testing.T) {
		for i := range features() {
			feature := features()[i]
			for _, col := range columns {
				t.Run(feature.name+"/"+col.String(), func(t *testing.T) {
					t.Parallel()
					c := f.cell(t, col)
					if feature.lacks != nil {
						if why := feature.lacks(c); why != "" {
							m.set(&feature, col, "- "+why)
							return
						}
					}
					m.set(&feature, col, "failed")
					feature.play(c)
					m.set(&feature, col, "yes")
				})
			}
		}
	})
}

// complete is false when only some cells were run.
func (m *marks) complete() bool {
	for _, f := range features() {
		if len(m.cell[f.name]) != len(columns) {
			return false
		}
	}
	return true
}

// features are all features, in the order of the table.
func features() []feature {
	return slices.Concat(addFeatures, optionFeatures, dedupFeatures, workFeatures, queueFeatures, flowFeatures, scheduleFeatures, faultFeatures)
}

const pageHead = `# Compatibility

This page lists what programs of this module and programs with BullMQ for Node.js
can do on the same queues. Each line is a scenario that a test runs with live peers
of each release, in both directions: the side named first adds the jobs and operates
the queue, and the other one processes them. "yes" means that the scenario passed.

Every scenario is also played on a Redis Cluster of three masters, with the
cluster client of ioredis in Node and that of go-redis here, below the prefix
` + "`{bull}`" + ` (` + "`go test ./interop -run Cluster`" + `). One call is left to Go there:
Node's removeOrphanedJobs does not look on all servers.

All tests run on Redis 7.0. By hand they were also run, and passed, on Redis
8.0.2 and on Valkey 8.0.1, and those of the runtime on Valkey 8.1.1: the variable
BULLMQ_REDIS names the server that they start. Redis 6.2 has not been tried.

This page is written by ` + "`go test ./interop -run Matrix -update`" + `.
`

// page is the table as a page of the documentation.
func (m *marks) page(columns []column) string {
	var b strings.Builder
	b.WriteString(pageHead)
	notes := map[string]int{}
	group := ""
	for _, f := range features() {
		if f.group != group {
			group = f.group
			fmt.Fprintf(&b, "\n## %s\n\n| |", group)
			for _, col := range columns {
				fmt.Fprintf(&b, " %s |", col)
			}
			b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(columns)) + "\n")
		}
		fmt.Fprintf(&b, "| %s |", f.name)
		for _, col := range columns {
			fmt.Fprintf(&b, " %s |", mark(m.cell[f.name][col], notes))
		}
		b.WriteByte('\n')
	}
	if len(notes) > 0 {
		b.WriteString("\nNotes\n\n")
		for _, why := range slices.SortedFunc(maps.Keys(notes), func(x, y string) int { return notes[x] - notes[y] }) {
			fmt.Fprintf(&b, "%d. %s\n", notes[why], why)
		}
	}
	return b.String()
}

// mark is what stands in a cell: reasons become notes.
func mark(s string, notes map[string]int) string {
	why, ok := strings.CutPrefix(s, "- ")
	if !ok {
		return s
	}
	if notes[why] == 0 {
		notes[why] = len(notes) + 1
	}
	return fmt.Sprintf("– (%d)", notes[why])
}

func checkPage(t *testing.T, file, text string) {
	t.Helper()
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	head, releases, _ := strings.Cut(string(have), ReleasesBegin)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text+ReleasesBegin+releases), 0o644))
		return
	}
	require.Equal(t, head, text, "docs/compatibility.md is stale: run `go test ./interop -run Matrix -update`")
}
