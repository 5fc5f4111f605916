package bullmqgen_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
	"github.com/bullmq-gen/bullmq-gen/internal/manifest"
)

// Each case below testdata/compat has a package before and after a change, and
// says what the change means for jobs that are in the queues.
func TestCompatibility(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	cases := map[string]*corpusCase{}
	for _, file := range archives(t, "testdata/compat/*.txtar") {
		c := readCase(t, file)
		for name, text := range c.input {
			writeFile(t, filepath.Join(module, c.name, name), text)
		}
		cases[c.name] = c
	}
	documents := map[string]*manifest.Document{}
	for _, version := range []string{"before", "after"} { // two of one task in one run are an error
		r, err := bullmqgen.Generate(context.Background(), bullmqgen.Config{Dir: module, Patterns: []string{"./.../" + version}, Out: "gen", Env: goEnv()})
		require.NoError(t, err)
		require.False(t, r.Failed(), "%v", r.Diagnostics)
		for _, f := range r.Files {
			if filepath.Base(f.Path) == manifest.FileName {
				d, err := manifest.Parse(f.Content)
				require.NoError(t, err)
				documents[r.Relative(filepath.Dir(filepath.Dir(f.Path)))] = d
			}
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := documents[name+"/before"], documents[name+"/after"]
			require.NotNil(t, before)
			require.NotNil(t, after)
			require.Empty(t, manifest.Compare(before, before))
			require.Empty(t, manifest.Compare(after, after))
			var lines strings.Builder
			for _, change := range manifest.Compare(before, after) {
				lines.WriteString(change.String() + "\n")
			}
			got := map[string]string{"changes.txt": lines.String()}
			if *update {
				c.record(t, got)
			}
			require.Equal(t, c.want, got)
		})
	}
}
