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

// Every mistake of the table in the README is in testdata/mistakes.txt, with a case
// of the generator or a test that shows it, and nothing else is there.
func TestMistakesHaveCases(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(readme), "## When mistakes are detected")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n\nIn CI")
	listed := mistakes(t)
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		if len(cells) < 2 || strings.Contains(line, "---") || strings.HasPrefix(line, "| mistake") {
			continue
		}
		rows++
		_, text, found := strings.Cut(strings.TrimPrefix(cells[0], "| "), "in other ways: ")
		if !found {
			text = strings.TrimPrefix(cells[0], "| ")
		}
		for mistake := range strings.SplitSeq(text, ", ") {
			require.NotEmpty(t, listed[mistake], "nothing shows where %q is detected: add it to testdata/mistakes.txt", mistake)
			delete(listed, mistake)
		}
	}
	require.Greater(t, rows, 5)
	require.Empty(t, listed, "the table in README.md has these no more")
}

// mistakes reads testdata/mistakes.txt. All that it names exists.
func mistakes(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "mistakes.txt"))
	require.NoError(t, err)
	tests := testNames(t)
	listed := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		mistake, names, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for name := range strings.FieldsSeq(names) {
			_, errGood := os.Stat(filepath.Join("testdata", "generator", name+".txtar"))
			_, errBad := os.Stat(filepath.Join("testdata", "generator", "nocompile", name+".txtar"))
			require.True(t, tests[name] || errGood == nil || errBad == nil, "testdata/mistakes.txt names %s, which does not exist", name)
			listed[mistake] = append(listed[mistake], name)
		}
	}
	return listed
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testNames are the names of all tests of the module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
		return err
	}))
	return names
}
