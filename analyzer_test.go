package bullmqgen_test

import (
	"cmp"
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
)

// miss is what the analyzer does not say: lines with these words, and why.
type miss struct{ words, why string }

// The analyzer says of each package what Generate says of it, but for what the
// head of a case lists as missed.
func TestAnalyzerSaysWhatGenerateSays(t *testing.T) {
	t.Parallel()
	notShort(t)
	module := newModule(t)
	for _, file := range archives(t, "testdata/generator/*.txtar") {
		c := readCase(t, file)
		if c.vetSkips != "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.unpack(t, module)
			want := c.diagnostics()
			got, err := c.analyze(t, module)
			require.NoError(t, err)
			for _, m := range c.misses {
				wanted := slices.Clone(want)
				missed := func(in []string) func(string) bool {
					return func(line string) bool { return strings.Contains(line, m.words) && !slices.Contains(in, line) }
				}
				want = slices.DeleteFunc(want, missed(got))
				got = slices.DeleteFunc(got, missed(wanted)) // said in other words
				require.Less(t, len(want), len(wanted), "it does not miss %q, though %s", m.words, m.why)
			}
			require.Equal(t, want, got)
		})
	}
}

// diagnostics are those of the recorded lines that are about the source.
func (c *corpusCase) diagnostics() []string {
	lines := []string{}
	for line := range strings.Lines(c.want["stderr.txt"]) {
		if strings.Contains(line, ": bullmq: ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// analyze runs the analyzer as the case's command line has it.
func (c *corpusCase) analyze(t *testing.T, module string) ([]string, error) {
	t.Helper()
	a := bullmqgen.NewAnalyzer()
	tags := a.Flags.String("tags", "", "")
	a.Flags.Bool("guard", true, "")
	a.Flags.Bool("manifest", true, "")
	require.NoError(t, a.Flags.Parse(slices.Clone(c.args)))
	patterns := a.Flags.Args()
	out := a.Flags.Lookup("out").Value
	require.NoError(t, out.Set(strings.ReplaceAll(out.String(), "$WORK", module)))
	a.Flags = flag.FlagSet{}

	dir := filepath.Join(module, c.name)
	found, err := packages.Load(&packages.Config{
		Mode: packages.LoadSyntax | packages.NeedModule, Dir: dir, Env: goEnv(c.env...), BuildFlags: []string{"-tags=" + *tags}, Tests: true,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{a}, found, nil)
	if err != nil {
		return nil, err
	}
	said := []bullmqgen.Diagnostic{}
	for action := range graph.All() {
		if action.Err != nil {
			return nil, action.Err
		}
		for _, d := range action.Diagnostics {
			pos := action.Package.Fset.Position(d.Pos)
			rel, err := filepath.Rel(dir, pos.Filename)
			require.NoError(t, err)
			said = append(said, bullmqgen.Diagnostic{File: filepath.ToSlash(rel), Line: pos.Line, Column: pos.Column, Message: d.Message})
		}
	}
	return linesOf(said, c.name, module), nil
}

// linesOf are the diagnostics as the command prints them in the case's folder.
func linesOf(said []bullmqgen.Diagnostic, name, module string) []string {
	slices.SortFunc(said, func(a, b bullmqgen.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column, cmp.Compare(a.Message, b.Message))
	})
	said = slices.Compact(said)
	lines := []string{}
	for _, d := range said {
		line := strings.Replace(d.String(), ": bullmq: bullmq: ", ": bullmq: ", 1)
		line = strings.ReplaceAll(line, module+"/", "$WORK/")
		parts := strings.Split(line, "example.com/"+name+"/") // paths of packages are as they are
		for i := range parts {
			parts[i] = strings.ReplaceAll(parts[i], name+"/", "")
		}
		lines = append(lines, strings.Join(parts, "example.com/"+name+"/"))
	}
	return lines
}
