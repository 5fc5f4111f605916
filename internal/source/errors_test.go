package source

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPositionsOfTheGoCommand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a/b.go:3:7": "a/b.go:3:7", "/x y/b.go:3": "/x y/b.go:3:1", `C:\a\b.go:3:7`: `C:\a\b.go:3:7`,
	} {
		pos, ok := parsePos(text)
		require.True(t, ok)
		require.Equal(t, want, pos.String())
	}
	for _, none := range []string{"", "-", "b.go", `C:\a\b.go`} {
		_, ok := parsePos(none)
		require.False(t, ok, none)
	}
}

// The words are those of releases of x/tools that met newer toolchains.
func TestAnXToolsThatIsTooOldIsNamed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`internal error: package "context" without types was imported from "example.com/tasks"`,
		`could not import fmt (cannot import "fmt" (unknown iexport format version 5), export data is newer version - update tool)`,
		`unsupported version of go: exit status 2`,
		`package requires newer Go version go1.99 (application built with go1.26)`,
	} {
		require.Contains(t, tooOld(text), "go get golang.org/x/tools@latest", text)
	}
	require.Empty(t, tooOld("undefined: x"))
	require.ErrorContains(t, loadError(errors.New("export data is newer version")), "x/tools")
	require.ErrorContains(t, loadError(errors.New("no go command")), "load packages: no go command")
}
