package naming

import (
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

// C023: whatever a job is called, its Go name is an identifier, or there is none.
func TestExported(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"emails":      "Emails",
		"send-email":  "SendEmail",
		"send_email":  "SendEmail",
		"a.b/c":       "ABC",
		"émail":       "Émail",
		"already":     "Already",
		"HTTPFetch":   "HTTPFetch",
		"x2fa":        "X2fa",
		"type":        "Type",
		"{shop}-mail": "ShopMail",
		"2fa":         "",
		"日本":          "",
		"":            "",
		" ":           "",
		"--":          "",
	} {
		require.Equal(t, want, Exported(text), "%q", text)
	}
}

func TestPackage(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]string{
		"gen": "gen", "my-gen": "mygen", "v2": "v2", "a.b": "ab", "my_gen": "my_gen", "Gen": "gen",
		"2": "", "type": "", "": "", "_": "", "main": "", ".": "",
	} {
		require.Equal(t, want, Package(folder), "%q", folder)
	}
}

func TestFileIsReadEverywhere(t *testing.T) {
	t.Parallel()
	for pkg, want := range map[string]string{
		"tasks": "tasks.gen.go", "linux": "linux.gen.go", "my_tasks": "my_tasks.gen.go",
		"x_linux": "x_linux_.gen.go", "x_amd64": "x_amd64_.gen.go", "x_linux_arm": "x_linux_arm_.gen.go",
		"x_linux_test": "x_linux_test_.gen.go", "_x": "x_x.gen.go",
	} {
		require.Equal(t, want, File(pkg))
		require.True(t, Portable(File(pkg)), pkg)
	}
}

// C023: keywords and predeclared names are no names of ours.
func TestScopeGivesLegalFreeNames(t *testing.T) {
	t.Parallel()
	var s Scope[string]
	_, ok := s.Take("ctx", "a parameter")
	require.True(t, ok)
	holder, ok := s.Take("ctx", "someone else")
	require.False(t, ok)
	require.Equal(t, "a parameter", holder)

	require.Equal(t, "ctxTask", s.Free("ctx", "Task", ""))
	require.Equal(t, "ctxTask2", s.Free("ctx", "Task", ""))
	for _, wish := range []string{"type", "func", "range", "len", "nil", "true", "error", "any", "string"} {
		name := s.Free(wish, "Task", "")
		require.Equal(t, wish+"Task", name)
		require.True(t, token.IsIdentifier(name))
	}
	require.Equal(t, "sendWelcome", s.Free("sendWelcome", "Task", ""))
}
