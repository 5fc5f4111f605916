package diag

import (
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is said, and written, is the same on every system.
func TestShort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, file, separator, want string }{
		{"/m", "/m/tasks/a.go", "/", "tasks/a.go"},
		{"/m/", "/m/tasks/a.go", "/", "tasks/a.go"},
		{"/m", "/mail/a.go", "/", "/mail/a.go"},
		{"/m", "/m", "/", "/m"},
		{"/m", "/m/", "/", "/m/"},
		{"/", "/m/a.go", "/", "m/a.go"},
		{"", "/m/a.go", "/", "/m/a.go"},
		{"/m", "", "/", ""},
		{"/m", `/m/a\b.go`, "/", `a\b.go`},
		{"/M", "/m/a.go", "/", "/m/a.go"},
		{`C:\m`, `C:\m\tasks\a.go`, `\`, "tasks/a.go"},
		{`c:\m`, `C:\M\tasks\a.go`, `\`, "tasks/a.go"},
		{`C:\m`, `D:\m\a.go`, `\`, "D:/m/a.go"},
		{`C:\`, `C:\a.go`, `\`, "a.go"},
		{`\\server\share`, `\\server\share\x y\a.go`, `\`, "x y/a.go"},
	} {
		require.Equal(t, c.want, short(c.base, c.file, c.separator), "%v", c)
	}
}

func TestSuggestionsAreThoseOfTheLastDiagnostic(t *testing.T) {
	t.Parallel()
	l := &List{Base: "/m"}
	pos := token.Position{Filename: "/m/a.go", Line: 2, Column: 3}
	l.Errorf(pos, "first")
	l.Suggest("a", "b")
	l.Warnf(pos, "second, beside %v", pos)
	l.Suggest("c", "")
	require.Equal(t, []Diagnostic{
		{Pos: token.Position{Filename: "a.go", Line: 2, Column: 3}, Message: "first", Old: "a", New: "b"},
		{Pos: token.Position{Filename: "a.go", Line: 2, Column: 3}, Severity: Warning, Message: "second, beside a.go:2:3"},
	}, l.Sorted())
	require.Equal(t, 1, l.Errors())
}
