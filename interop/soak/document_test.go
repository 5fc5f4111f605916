package soak

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The document names tests as proof: each of them exists.
func TestEveryTestThatTheDocumentNamesExists(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.FromSlash(document))
	require.NoError(t, err)
	named := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, named)
	var tests strings.Builder
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		tests.Write(b)
		return err
	}))
	for _, name := range named {
		require.Contains(t, tests.String(), "func "+name[1]+"(", "docs/reliability.md names a test that does not exist")
	}
}
