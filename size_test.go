package bullmqgen_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
)

// generated are the sizes of what is generated from the source, by the ends of the
// files' names.
func generated(t *testing.T, source string) map[string]int {
	t.Helper()
	module := newModule(t)
	writeFile(t, filepath.Join(module, "tasks", "tasks.go"), "package tasks\n\n"+source)
	r, err := bullmqgen.Generate(context.Background(), bullmqgen.Config{Dir: filepath.Join(module, "tasks"), Env: goEnv()})
	require.NoError(t, err)
	require.Empty(t, r.Diagnostics)
	sizes := map[string]int{}
	for _, f := range r.Files {
		_, kind, _ := strings.Cut(filepath.Base(f.Path), ".")
		sizes[kind] = len(f.Content)
	}
	require.NoError(t, r.Write())
	out, err := goCommand(module, "vet", "./...").CombinedOutput()
	require.NoError(t, err, string(out))
	return sizes
}

// Types may be nested as deep and connected as much as Go allows.
func TestDeepAndConnectedTypes(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	const n = 120
	source.WriteString("//bullmq:task q/chain\ntype Chain struct{ C0 C0 }\n\n//bullmq:task q/models\ntype Models struct{ M0 *M0 }\n\n//bullmq:task q/embedded\ntype Embedded struct{ E0 }\n\n")
	for i := range n {
		fmt.Fprintf(&source, "type C%d struct{ C%d C%d }\n", i, i+1, i+1)
		fmt.Fprintf(&source, "type M%d struct{ Next *M%d; Other []M%d; All map[string]*M%d }\n", i, (i+1)%n, (i+7)%n, (i*i)%n)
		fmt.Fprintf(&source, "type E%d struct{ E%d; F%d int }\n", i, i+1, i)
	}
	fmt.Fprintf(&source, "type C%d struct{}\ntype E%d struct{ Last string `bullmq:\"dedup\"` }\n", n, n)
	sizes := generated(t, source.String())
	require.Contains(t, sizes, "gen.go")
}

// A flow that many ways lead through is written down once for each task.
func TestTypesOfFlowsGrowWithTheNumberOfTasks(t *testing.T) {
	t.Parallel()
	diamond := func(levels int) int {
		var source strings.Builder
		for i := range levels {
			fmt.Fprintf(&source, "//bullmq:task q/l%d children=K%d\ntype L%d struct{}\n\n//bullmq:task q/r%d children=K%d\ntype R%d struct{}\n\n", i, i, i, i, i, i)
			fmt.Fprintf(&source, "type K%d struct {\n\tL []L%d `bullmq:\"onfail=fail\"`\n\tR []R%d `bullmq:\"onfail=fail\"`\n}\n\n", i, i+1, i+1)
		}
		fmt.Fprintf(&source, "//bullmq:task q/l%d\ntype L%d struct{}\n\n//bullmq:task q/r%d\ntype R%d struct{}\n", levels, levels, levels, levels)
		return generated(t, source.String())["gen.d.ts"]
	}
	small, large := diamond(8), diamond(16)
	require.Less(t, large, 2*small)
}

// A type that many tasks use is described once.
func TestManifestsDescribeEachTypeOnce(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	for i := range 300 {
		fmt.Fprintf(&source, "//bullmq:task q/t%d\ntype T%d struct{ Order Order }\n\n", i, i)
	}
	source.WriteString("type Order struct{ Lines []Line; Customer, Payer Customer }\ntype Line struct{ A, B, C, D, E, F int }\ntype Customer struct{ Name, Street, City, Country, Phone, Mail string }\n")
	require.Less(t, generated(t, source.String())["manifest.json"], 250_000)
}
