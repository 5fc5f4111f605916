package bullmqgen_test

import (
	"bytes"
	"context"
	"flag"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
)

var update = flag.Bool("update", false, "record what is generated as what is wanted")

// The corpus is in testdata/generator: one archive a case, named as a
// sentence. Its head says what the case is about, and may have lines
//
//	args: -out ../x ./...    instead of ./...
//	env: GOOS=windows        for the go command
//	nobuild                  when the result does not compile here
//	also: manifest ts        to compare these files too; they are made anyway
//	vet misses: WORDS, since REASON   lines that the analyzer does not say, or not so
//	vet skips: REASON        the analyzer does not get to see the source
//
// Files below want/ are what is expected: want/stderr.txt the diagnostics, the
// others what is generated. All other files are the input. They are below a
// folder of the case's name in the module example.com.
func TestCorpus(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	var good []string
	t.Run("cases", func(t *testing.T) {
		for _, file := range archives(t, "testdata/generator/*.txtar") {
			c := readCase(t, file)
			if !c.fails() && !c.nobuild && !c.ownModule() {
				good = append(good, "./"+c.name+"/...")
			}
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.unpack(t, module)
				got := c.run(t, module)
				if *update {
					c.record(t, got)
				}
				require.Equal(t, c.want, got)
			})
		}
	})
	t.Run("all good cases compile", func(t *testing.T) {
		if *update {
			t.Skip("run again without -update")
		}
		good = slices.DeleteFunc(good, func(pattern string) bool { // with -run not all cases are there
			_, err := os.Stat(filepath.Join(module, strings.TrimSuffix(pattern, "/...")))
			return err != nil
		})
		if len(good) == 0 {
			t.Skip("no good case was run")
		}
		vet := goCommand(module, append([]string{"vet"}, good...)...)
		out, err := vet.CombinedOutput()
		require.NoError(t, err, string(out))
	})
}

// The cases below nocompile generate code, then change a file (those below
// after/), and then must not compile, with the words of want/words.txt.
func TestNoCompile(t *testing.T) {
	t.Parallel()
	notShort(t)
	module := newModule(t)
	for _, file := range archives(t, "testdata/generator/nocompile/*.txtar") {
		c := readCase(t, file)
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := c.unpack(t, module)
			r, err := bullmqgen.Generate(context.Background(), bullmqgen.Config{Dir: dir, Patterns: []string{"./tasks"}, Env: goEnv()})
			require.NoError(t, err)
			require.Empty(t, r.Diagnostics)
			require.NoError(t, r.Write())
			before, err := goCommand(module, "build", "./"+c.name+"/...").CombinedOutput()
			require.NoError(t, err, string(before))

			words := c.want["words.txt"]
			require.NotEmpty(t, words)
			c.overwrite(t, dir)
			out, err := goCommand(module, "build", "./"+c.name+"/...").CombinedOutput()
			require.Error(t, err, "it compiles")
			for line := range strings.Lines(words) {
				require.Contains(t, string(out), strings.TrimSpace(line))
			}
		})
	}
}

// notShort leaves a test out of a short run.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out with -short")
	}
}

func archives(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// corpusCase is one archive.
type corpusCase struct {
	name, file string
	args       []string
	env        []string
	nobuild    bool
	also       []string
	misses     []miss
	vetSkips   string
	input      map[string]string
	want       map[string]string
	archive    *txtar.Archive
}

func readCase(t *testing.T, file string) *corpusCase {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	c := &corpusCase{
		name: strings.TrimSuffix(filepath.Base(file), ".txtar"), file: file,
		args:  []string{"./..."},
		input: map[string]string{}, want: map[string]string{},
		archive: txtar.Parse(text),
	}
	for line := range strings.Lines(string(c.archive.Comment)) {
		line = strings.TrimSpace(line)
		if args, ok := strings.CutPrefix(line, "args: "); ok {
			c.args = strings.Fields(args)
		}
		if env, ok := strings.CutPrefix(line, "env: "); ok {
			c.env = strings.Fields(env)
		}
		if also, ok := strings.CutPrefix(line, "also: "); ok {
			c.also = strings.Fields(also)
		}
		if why, ok := strings.CutPrefix(line, "vet skips: "); ok {
			c.vetSkips = why
		}
		if missed, ok := strings.CutPrefix(line, "vet misses: "); ok {
			words, why, _ := strings.Cut(missed, ", since ")
			c.misses = append(c.misses, miss{words, why})
		}
		c.nobuild = c.nobuild || line == "nobuild"
	}
	for _, f := range c.archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "want/"); ok {
			c.want[name] = string(f.Data)
		} else {
			c.input[f.Name] = string(f.Data)
		}
	}
	return c
}

func (c *corpusCase) fails() bool {
	return strings.Contains(c.want["stderr.txt"], ": bullmq: ") && len(c.want) == 1
}

func (c *corpusCase) ownModule() bool { return c.input["go.mod"] != "" || c.input["go.work"] != "" }

// unpack writes the input below the module. A go.mod of the case gets what
// the runtime needs.
func (c *corpusCase) unpack(t *testing.T, module string) (dir string) {
	t.Helper()
	dir = filepath.Join(module, c.name)
	for name, text := range c.input {
		if strings.HasPrefix(name, "after/") {
			continue
		}
		if filepath.Base(name) == "go.mod" {
			text += requirements(t)
			writeFile(t, filepath.Join(dir, filepath.Dir(name), "go.sum"), goSum(t))
		}
		writeFile(t, filepath.Join(dir, name), unescape(text))
	}
	return dir
}

// unescape lets archives, which are texts, hold other bytes: ⏎ before the end
// of a line is a carriage return, ⌁ a byte order mark.
func unescape(text string) string {
	return strings.NewReplacer("⏎", "\r", "⌁", "\ufeff").Replace(text)
}

func (c *corpusCase) overwrite(t *testing.T, dir string) {
	t.Helper()
	for name, text := range c.input {
		after, ok := strings.CutPrefix(name, "after/")
		if !ok {
			continue
		}
		if script, ok := strings.CutSuffix(after, ".replace"); ok { // two lines: old text, new text
			old, new, _ := strings.Cut(strings.TrimSpace(text), "\n")
			was, err := os.ReadFile(filepath.Join(dir, script))
			require.NoError(t, err)
			require.Contains(t, string(was), old)
			after, text = script, strings.ReplaceAll(string(was), old, new)
		}
		writeFile(t, filepath.Join(dir, after), text)
	}
}

// run generates, and returns what is to be compared with want.
func (c *corpusCase) run(t *testing.T, module string) map[string]string {
	t.Helper()
	config := bullmqgen.Config{Dir: filepath.Join(module, c.name), Env: goEnv(c.env...)}
	flags := flag.NewFlagSet("args", flag.ContinueOnError)
	flags.StringVar(&config.Out, "out", "", "")
	flags.StringVar(&config.Tags, "tags", "", "")
	guard, types, manifest := flags.Bool("guard", true, ""), flags.Bool("ts", true, ""), flags.Bool("manifest", true, "")
	require.NoError(t, flags.Parse(c.args))
	config.NoGuard, config.NoTypeScript, config.NoManifest = !*guard, !*types, !*manifest
	config.Patterns = flags.Args()
	config.Out = strings.ReplaceAll(config.Out, "$WORK", module)

	got := map[string]string{}
	r, err := bullmqgen.Generate(context.Background(), config)
	if err != nil {
		got["stderr.txt"] = clean("bullmq-gen: "+err.Error()+"\n", module)
		return got
	}
	var stderr strings.Builder
	for _, d := range r.Diagnostics {
		stderr.WriteString(clean(d.String()+"\n", module))
	}
	for _, f := range r.Files {
		if f.State == bullmqgen.Orphan {
			stderr.WriteString(r.Summary(f) + "\n")
			continue
		}
		if filepath.Ext(f.Path) != ".go" {
			if slices.Contains(c.also, kindOf(f.Path)) {
				got[r.Relative(f.Path)] = string(f.Content)
			}
			continue
		}
		formatted, err := format.Source(f.Content)
		require.NoError(t, err)
		require.Equal(t, string(formatted), string(f.Content), "not as gofmt writes it")
		got[r.Relative(f.Path)] = string(f.Content)
	}
	if stderr.Len() > 0 {
		got["stderr.txt"] = stderr.String()
	}
	if !r.Failed() {
		require.NoError(t, r.Write())
	}
	return got
}

// kindOf is what a case calls a file that is not Go.
func kindOf(path string) string {
	switch {
	case strings.HasSuffix(path, ".d.ts"):
		return "ts"
	case strings.HasSuffix(path, ".js"):
		return "js"
	}
	return "manifest"
}

// clean puts a placeholder for paths of this machine.
func clean(text, module string) string { return strings.ReplaceAll(text, module, "$WORK") }

// record writes got as what is wanted into the archive.
func (c *corpusCase) record(t *testing.T, got map[string]string) {
	t.Helper()
	c.archive.Files = slices.DeleteFunc(c.archive.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "want/") })
	names := make([]string, 0, len(got))
	for name := range got {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c.archive.Files = append(c.archive.Files, txtar.File{Name: "want/" + name, Data: []byte(got[name])})
	}
	require.NoError(t, os.WriteFile(c.file, txtar.Format(c.archive), 0o644))
	c.want = got
}

// newModule makes a module that uses the runtime of this repository.
func newModule(t *testing.T) string {
	t.Helper()
	testneed.Modules(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	writeFile(t, filepath.Join(dir, "go.mod"), "module example.com\n\ngo 1.26.0\n"+requirements(t))
	writeFile(t, filepath.Join(dir, "go.sum"), goSum(t))
	return dir
}

// requirements are the lines of a go.mod that make the runtime and what it
// needs available.
func requirements(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	_, requires, ok := bytes.Cut(text, []byte("\nrequire"))
	require.True(t, ok)
	root, err := os.Getwd()
	require.NoError(t, err)
	const runtime = "github.com/bullmq-gen/bullmq-gen"
	return "\nrequire " + runtime + " v0.0.0\n\nreplace " + runtime + " => " + root + "\n\nrequire" + string(requires)
}

func goSum(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	return string(text)
}

// goEnv is the environment of the go command: it fetches nothing.
func goEnv(more ...string) []string {
	return append(append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK="), more...)
}

func goCommand(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, goEnv()
	return cmd
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}
