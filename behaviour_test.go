package bullmqgen_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
)

// The program in testdata/behaviour imports what is generated for cases of the
// corpus and runs it on an embedded server. It is one program, since linking
// takes longer than all it does.
func TestBehaviour(t *testing.T) {
	t.Parallel()
	notShort(t)
	module := newModule(t)
	imported := regexp.MustCompile(`"example\.com/(\w+)/[\w/]*gen"`)
	var cases []string
	for _, file := range archives(t, "testdata/behaviour/*.go") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		writeFile(t, filepath.Join(module, "behaviour", filepath.Base(file)), string(text))
		for _, m := range imported.FindAllStringSubmatch(string(text), -1) {
			cases = append(cases, m[1])
		}
	}
	slices.Sort(cases)
	cases = slices.Compact(cases)
	require.GreaterOrEqual(t, len(cases), 40)
	for _, name := range cases {
		readCase(t, "testdata/generator/"+name+".txtar").unpack(t, module)
	}
	r, err := bullmqgen.Generate(context.Background(), bullmqgen.Config{Dir: module, Patterns: []string{"./..."}, Env: goEnv()})
	require.NoError(t, err)
	require.False(t, r.Failed(), "%v", r.Diagnostics)
	require.NoError(t, r.Write())
	out, err := goCommand(module, "test", "-count=1", "-vet=off", "./behaviour").CombinedOutput()
	require.NoError(t, err, string(out))
	t.Logf("%s", out)
}
