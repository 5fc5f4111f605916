package bullmqgen_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
)

// The declarations of all good cases, and programs that use them, are compiled
// with the types of the real BullMQ of both versions.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	notShort(t)
	modules, err := filepath.Abs("interop/node/node_modules")
	require.NoError(t, err)
	compiler := filepath.Join(modules, "typescript", "bin", "tsc")
	if _, err := os.Stat(compiler); err != nil {
		testneed.Missing(t, "the TypeScript compiler", "run make setup")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		testneed.Missing(t, "node", "install Node.js")
	}
	dir := t.TempDir()
	require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
	wanted := map[string]string{} // words by "file:line"
	for _, file := range archives(t, "testdata/tsc/*.ts") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		writeFile(t, filepath.Join(dir, filepath.Base(file)), string(text))
		wantedErrors(filepath.Base(file), text, wanted)
	}
	require.NotEmpty(t, wanted)
	declarations(t, dir)
	for name, paths := range map[string]string{
		"BullMQ 6": `{"bullmq": ["./node_modules/bullmq"]}`,
		"BullMQ 5": `{"bullmq": ["./node_modules/bullmq5"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := strings.ReplaceAll(name, " ", "") + ".json"
			writeFile(t, filepath.Join(dir, config), `{
				"compilerOptions": {
					"strict": true, "noEmit": true, "skipLibCheck": true,
					"noUnusedLocals": true, "types": ["node"], "preserveSymlinks": true,
					"target": "es2022", "module": "node16", "moduleResolution": "node16", "paths": `+paths+`
				},
				"include": ["*.ts", "*/**/*.ts"], "exclude": ["node_modules"]
			}`)
			tsc := exec.Command(node, compiler, "--pretty", "false", "-p", config)
			tsc.Dir = dir
			out, _ := tsc.CombinedOutput() // it fails, since there are errors to be found
			compareErrors(t, out, wanted)
		})
	}
}

// declarations writes those of all good cases below dir, as files that the
// compiler looks into: it trusts .d.ts files.
func declarations(t *testing.T, dir string) {
	t.Helper()
	module := newModule(t)
	n := 0
	for _, file := range archives(t, "testdata/generator/*.txtar") {
		if c := readCase(t, file); !c.fails() && !c.nobuild && !c.ownModule() && len(c.args) == 1 && len(c.env) == 0 {
			c.unpack(t, module)
			n++
		}
	}
	require.Greater(t, n, 50)
	r, err := bullmqgen.Generate(context.Background(), bullmqgen.Config{Dir: module, Patterns: []string{"./..."}, Env: goEnv()})
	require.NoError(t, err)
	require.False(t, r.Failed(), "%v", r.Diagnostics)
	for _, f := range r.Files {
		if name, ok := strings.CutSuffix(r.Relative(f.Path), ".d.ts"); ok {
			writeFile(t, filepath.Join(dir, filepath.FromSlash(name)+".ts"), string(f.Content))
		}
	}
}

var wantedError = regexp.MustCompile(`// error: (.*)`)

func wantedErrors(file string, text []byte, wanted map[string]string) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		if m := wantedError.FindStringSubmatch(lines.Text()); m != nil {
			wanted[place(file, n)] = m[1]
		}
	}
}

func place(file string, line int) string { return file + ":" + strconv.Itoa(line) }

var compilerError = regexp.MustCompile(`^(\S+)\((\d+),\d+\): (error .*)`)

// compareErrors requires that each error is wanted and each wanted one is there.
func compareErrors(t *testing.T, out []byte, wanted map[string]string) {
	t.Helper()
	got := map[string]string{}
	last, unwanted := "", ""
	for line := range strings.Lines(string(out)) {
		if m := compilerError.FindStringSubmatch(line); m != nil {
			last = m[1] + ":" + m[2]
			if wanted[last] == "" {
				unwanted += line
			}
			got[last] += m[3] + "\n"
			continue
		}
		require.NotEmpty(t, last, line) // the rest of a message is indented
		got[last] += line
	}
	require.Empty(t, unwanted)
	for at, words := range wanted {
		assert.Contains(t, got[at], words, at)
	}
}
