package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// vetTool and generator are the commands as users run them.
var vetTool, generator string

func TestMain(m *testing.M) {
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bullmq-vet-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	vetTool, generator = filepath.Join(dir, "bullmq-vet"), filepath.Join(dir, "bullmq-gen")
	for binary, source := range map[string]string{vetTool: ".", generator: "../bullmq-gen"} {
		if out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

// A payload inside another one and a slot for jobs of another package are well,
// though neither package tells all about them.
var good = map[string]string{
	"go.mod": "module example.com/app\n\ngo 1.26.0\n",
	"pages/pages.go": `package pages

//bullmq:task pages/render result=string
type Render struct {
	Number int    ` + "`json:\"number\" bullmq:\"priority\"`" + `
}
`,
	"pages/pages_test.go": `package pages

import "testing"

// bullmq:task in a comment of a test is nobody's business.
func TestNothing(t *testing.T) {}
`,
	"tasks/tasks.go": `package tasks

import "example.com/app/pages"

//bullmq:task reports/build children=Parts
type Build struct {
	First pages.Render ` + "`json:\"first\"`" + `
}

type Parts struct {
	Pages []pages.Render ` + "`bullmq:\"onfail=fail\"`" + `
}
`,
}

// bad has one mistake of each kind that can be mended without a thought.
const bad = `package tasks

//bullmq:tsk orders/ship
type Ship struct{}

//bullmq:task orders/pack "lif" reslt=int
//bullmq:retry atempts=3 backof=fixed:1s
//bullmq:schedule @daily payload=NewPak
type Pack struct {
	ID     string ` + "`json:\"id\" bullmq:\"dedupe\"`" + `
	Tenant string ` + "`json:\"tenant\"`" + `
}

func NewPack() Pack { return Pack{} }

// bullmq:task orders/unpack
type Unpack struct{}

//bullmq:queue limit=1/1s group=Tennant
const Orders = "orders"

//bullmq:task orders/send children=Sent
type Send struct{}

type Sent struct {
	Boxes []Ship ` + "`bullmq:\"onfail=ignor\"`" + `
}
`

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// run returns the exit status of a command in dir, and what it says.
func run(t *testing.T, dir, name string, args ...string) (code int, output string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), string(bytes.ReplaceAll(out, []byte(dir+string(filepath.Separator)), nil))
}

// said are the diagnostics in what go vet, or the command, prints.
func said(output string) []string {
	var lines []string
	for line := range strings.Lines(output) {
		if strings.Contains(line, ": bullmq: ") {
			lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), "./"))
		}
	}
	return lines
}

func TestGoVet(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	write(t, dir, good)
	for _, args := range [][]string{{vetTool, "./..."}, {"go", "vet", "-vettool=" + vetTool, "./..."}} {
		code, output := run(t, dir, args[0], args[1:]...)
		require.Zero(t, code, output)
		require.Empty(t, output)
	}

	write(t, dir, map[string]string{"tasks/tasks.go": bad})
	code, output := run(t, dir, generator, "./...")
	require.Equal(t, 1, code)
	want := said(output)
	require.Len(t, want, 11)
	for _, args := range [][]string{{vetTool, "./..."}, {"go", "vet", "-vettool=" + vetTool, "./..."}} {
		code, output := run(t, dir, args[0], args[1:]...)
		require.NotZero(t, code)
		require.Equal(t, want, said(output))
	}
	code, output = run(t, filepath.Join(dir, "tasks"), "go", "vet", "-vettool="+vetTool, "-warnings=false")
	require.NotZero(t, code)
	require.Len(t, said(output), 10)
	require.NotContains(t, output, "warning")
}

// What is not clear to the compiler is not clear to go vet.
func TestGoVetOfWhatDoesNotCompile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, good)
	write(t, dir, map[string]string{"tasks/more.go": "package tasks\n\nvar x = undefined\n"})
	code, output := run(t, dir, "go", "vet", "-vettool="+vetTool, "./...")
	require.NotZero(t, code)
	require.Contains(t, output, "tasks/more.go:3:9: undefined: undefined")
}

// The fixes of the analyzer leave nothing to say.
func TestFixes(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	write(t, dir, map[string]string{"go.mod": good["go.mod"], "tasks/tasks.go": bad})
	code, output := run(t, dir, vetTool, "-fix", "./...")
	require.Zero(t, code, output)
	fixed, err := os.ReadFile(filepath.Join(dir, "tasks", "tasks.go"))
	require.NoError(t, err)
	want := bad
	for _, change := range [][2]string{
		{"//bullmq:tsk", "//bullmq:task"}, {`"lif" reslt`, `"lif" result`}, {"atempts=", "attempts="}, {"backof=", "backoff="},
		{"NewPak", "NewPack"}, {`"dedupe`, `"dedup`}, {"// bullmq:task", "//bullmq:task"}, {"=Tennant", "=Tenant"}, {"ignor\"", "ignore\""},
	} {
		require.Contains(t, want, change[0])
		want = strings.Replace(want, change[0], change[1], 1)
	}
	require.Equal(t, want, string(fixed))
	// What stands in quotes, and may have another meaning there, is left alone.
	_, output = run(t, dir, vetTool, "./...")
	left := said(output)
	require.Len(t, left, 2)
	require.Equal(t, `tasks/tasks.go:6:27: bullmq: unexpected "lif" in //bullmq:task; did you mean "lifo"?`, left[0])
	require.Contains(t, left[1], "bullmq: warning: jobs of a schedule are never deduplicated")
}
