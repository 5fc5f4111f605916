package bullmqgen_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// caseID is an id, and what follows it: no further digit.
var caseID = regexp.MustCompile(`\bC[01][0-9]{2}(?:[^0-9a-f]|$)|TestC[01][0-9]{2}`)

// Every case of the list has a test that names it, and tests name no others.
func TestCasesHaveTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "cases.txt"))
	require.NoError(t, err)
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if id, _, ok := strings.Cut(line, " "); ok && id != "#" {
			require.Regexp(t, `^C[01][0-9]{2}$`, id)
			listed[id] = false
		}
	}
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".txtar"):
			return nil
		}
		b, err := os.ReadFile(path)
		for _, found := range caseID.FindAllString(string(b), -1) {
			id := strings.TrimPrefix(found, "Test")[:4]
			if _, ok := listed[id]; !ok {
				t.Errorf("%s names %s, which is not in testdata/cases.txt", path, id)
			}
			listed[id] = true
		}
		return err
	}))
	for id, found := range listed {
		if !found {
			t.Errorf("no test names %s", id)
		}
	}
}
