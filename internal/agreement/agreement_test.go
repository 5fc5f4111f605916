package agreement

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
	"github.com/bullmq-gen/bullmq-gen/internal/manifest"
	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
)

// SeedEnv and SizeEnv are the environment variables for another seed, and for more
// types.
const (
	SeedEnv = "BULLMQ_TYPES_SEED"
	SizeEnv = "BULLMQ_TYPES"
)

func setting(t *testing.T, name string, without int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return without
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

// trial is a value for a payload.
type trial struct {
	payload string
	value   *value
	right   bool // a value of the type, and not a changed one
}

// verdict is what the decoder says of a value.
type verdict struct {
	Problem string
	// Again is the text of the decoded value, and Problem2 what the decoder says of it.
	Again, Problem2 string
}

func TestSchemaDecoderAndTypeScriptAgreeOnRandomTypes(t *testing.T) {
	t.Parallel()
	seed, size := setting(t, SeedEnv, 1), setting(t, SizeEnv, 40)
	m := &maker{Rand: rand.New(rand.NewPCG(uint64(seed), 1))}
	dir := t.TempDir()
	payloads, trials := m.trials(size)
	writeModule(t, dir, m.source.String(), payloads)
	document := generate(t, dir)
	schemas, loose := compileAll(t, document)
	verdicts := decodeAll(t, dir, trials)
	compiled := typeCheck(t, dir, trials)
	faults := 0
	for i, trial := range trials {
		text := trial.value.String()
		problem := trial.compare(schemas[trial.payload], loose[trial.payload], verdicts[i], compiled, i)
		if problem == "" {
			continue
		}
		if faults++; faults <= 20 {
			t.Errorf("%s=%d, %s: %s\n%s", SeedEnv, seed, trial.payload, text, problem)
		}
	}
	if faults > 0 {
		t.Errorf("%d of %d values, of\n%s", faults, len(trials), m.source.String())
	}
	right := 0
	for i := range trials {
		if verdicts[i].Problem == "" {
			right++
		}
	}
	t.Logf("%d types, %d values, %d of them right", m.n, len(trials), right)
	require.Greater(t, right, len(trials)/4, "most values are wrong")
}

// compare says what disagrees on the value, or nothing.
func (tr *trial) compare(strict, loose *jsonschema.Schema, v verdict, compiled map[int]string, i int) string {
	text := []byte(tr.value.String())
	schema := validate(strict, text)
	switch {
	case tr.right && v.Problem != "":
		return "the decoder refuses a right value: " + v.Problem
	case tr.right && schema != nil:
		return "the schema refuses a right value: " + schema.Error()
	case schema == nil && v.Problem != "" && !onlyTheDecoderKnows(v.Problem):
		return "the schema takes it, the decoder does not: " + v.Problem
	case schema != nil && v.Problem == "":
		return "the decoder takes it, the schema does not: " + schema.Error()
	case v.Problem == "" && v.Problem2 != "":
		return "is written as " + v.Again + ", which is refused: " + v.Problem2
	case v.Problem == "" && validate(strict, []byte(v.Again)) != nil:
		return "is written as " + v.Again + ", which the schema refuses"
	}
	if compiled == nil {
		return ""
	}
	refused, isRefused := compiled[i]
	switch typed := validate(loose, text); {
	case typed == nil && isRefused:
		return "tsc refuses what the schema takes: " + refused
	case typed != nil && !isRefused:
		return "tsc takes what the schema refuses: " + typed.Error()
	}
	return ""
}

func validate(s *jsonschema.Schema, text []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// trials makes payloads, and values for each.
func (m *maker) trials(size int) (payloads []string, trials []trial) {
	for i := range size {
		name := fmt.Sprintf("P%d", i)
		var payload strings.Builder
		s := &shape{src: name, kind: object, size: -1}
		for range 1 + m.IntN(4) {
			m.field(s, &payload, 3)
		}
		fmt.Fprintf(&m.source, "//bullmq:task q/%s\ntype %s struct {\n%s}\n\n", strings.ToLower(name), name, payload.String())
		payloads = append(payloads, name)
		for n := range 30 {
			v := valueOf(m.Rand, s, false, 5)
			for range min(n/10, 2) {
				mutate(m.Rand, v)
			}
			trials = append(trials, trial{name, v, n < 10})
		}
	}
	return payloads, trials
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
}

// writeModule writes a module with the types and a program that decodes them. Its
// path lets it import internal packages.
func writeModule(t *testing.T, dir, source string, payloads []string) {
	t.Helper()
	testneed.Modules(t)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	const path = "github.com/bullmq-gen/bullmq-gen"
	writeFile(t, filepath.Join(dir, "go.mod"), strings.Replace(string(mod), "module "+path, "module "+path+"/random", 1)+
		fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => %q\n", path, path, root))
	writeFile(t, filepath.Join(dir, "go.sum"), string(sum))
	writeFile(t, filepath.Join(dir, "tasks", "tasks.go"), support+source)
	var types strings.Builder
	for _, name := range payloads {
		fmt.Fprintf(&types, "\t%q: try[tasks.%s],\n", name, name)
	}
	writeFile(t, filepath.Join(dir, "main.go"), fmt.Sprintf(program, types.String()))
}

const program = `package main

import (
	"encoding/json"
	"io"
	"os"
	"regexp"

	"github.com/bullmq-gen/bullmq-gen/internal/jsdecode"
	"github.com/bullmq-gen/bullmq-gen/internal/jsjson"
	"github.com/bullmq-gen/bullmq-gen/random/tasks"
)

var types = map[string]func([]byte) verdict{
%s}

type verdict struct{ Problem, Again, Problem2 string }

// refused are values that Go programs do not send, and take from others: JavaScript
// does not hold the one, and the other is no text.
var refused = regexp.MustCompile("is beyond |half of a surrogate pair")

func try[T any](text []byte) verdict {
	var v T
	if err := jsdecode.Decode("payload", text, &v); err != nil {
		return verdict{Problem: err.Error()}
	}
	again, err := jsjson.Marshal(v)
	if err != nil && refused.MatchString(err.Error()) {
		return verdict{Again: string(text)}
	}
	if err != nil {
		return verdict{Again: "nothing", Problem2: err.Error()}
	}
	if err := jsdecode.Decode("payload", again, new(T)); err != nil {
		return verdict{Again: string(again), Problem2: err.Error()}
	}
	return verdict{Again: string(again)}
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var trial [2]string
		if err := in.Decode(&trial); err == io.EOF {
			return
		} else if err != nil {
			panic(err)
		}
		if err := out.Encode(types[trial[0]]([]byte(trial[1]))); err != nil {
			panic(err)
		}
	}
}
`

// generate writes the generated files and returns the manifest.
func generate(t *testing.T, dir string) *manifest.Document {
	t.Helper()
	r, err := bullmqgen.Generate(context.Background(), bullmqgen.Config{Dir: dir, Patterns: []string{"./tasks"}, Env: append(os.Environ(), "GOWORK=off")})
	require.NoError(t, err)
	for _, d := range r.Diagnostics {
		require.Equal(t, bullmqgen.SeverityWarning, d.Severity, "%v", d)
	}
	require.NoError(t, r.Write())
	text, err := os.ReadFile(filepath.Join(dir, "gen", manifest.FileName))
	require.NoError(t, err)
	d, err := manifest.Parse(text)
	require.NoError(t, err)
	return d
}

// compileAll compiles the schema of each payload, and what of it TypeScript can
// express.
func compileAll(t *testing.T, d *manifest.Document) (strict, loose map[string]*jsonschema.Schema) {
	t.Helper()
	strict, loose = map[string]*jsonschema.Schema{}, map[string]*jsonschema.Schema{}
	for _, task := range d.Packages[0].Queues[0].Tasks {
		text, err := json.Marshal(task.Data)
		require.NoError(t, err)
		strict[task.Go.Name] = compile(t, text)
		var any map[string]any
		require.NoError(t, json.Unmarshal(text, &any))
		text, err = json.Marshal(typeScript(any))
		require.NoError(t, err)
		loose[task.Go.Name] = compile(t, text)
	}
	return strict, loose
}

func compile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	require.NoError(t, c.AddResource("mem:schema", doc))
	s, err := c.Compile("mem:schema")
	require.NoError(t, err, "%s", text)
	return s
}

// decodeAll asks the decoder about each value.
func decodeAll(t *testing.T, dir string, trials []trial) []verdict {
	t.Helper()
	var in bytes.Buffer
	e := json.NewEncoder(&in)
	for _, trial := range trials {
		require.NoError(t, e.Encode([2]string{trial.payload, trial.value.String()}))
	}
	run := exec.Command("go", "run", ".")
	run.Dir, run.Env, run.Stdin = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod"), &in
	var problems bytes.Buffer
	run.Stderr = &problems
	out, err := run.Output()
	require.NoError(t, err, problems.String())
	verdicts := make([]verdict, len(trials))
	d := json.NewDecoder(bytes.NewReader(out))
	for i := range verdicts {
		require.NoError(t, d.Decode(&verdicts[i]))
	}
	return verdicts
}

var compilerError = regexp.MustCompile(`^trials\.ts\((\d+),\d+\): error (.*)`)

// typeCheck returns what tsc says of each value that it refuses; nil: there is no
// tsc. The values are types here: objects of which the compiler does not expect
// that they have no unknown members.
func typeCheck(t *testing.T, dir string, trials []trial) map[int]string {
	t.Helper()
	modules, err := filepath.Abs("../../interop/node/node_modules")
	require.NoError(t, err)
	compiler := filepath.Join(modules, "typescript", "bin", "tsc")
	node, err := exec.LookPath("node")
	if _, err2 := os.Stat(compiler); err != nil || err2 != nil {
		if testneed.All() {
			testneed.Missing(t, "the TypeScript compiler", "run make setup")
		}
		t.Log("without the TypeScript compiler: run make setup")
		return nil
	}
	declarations, err := os.ReadFile(filepath.Join(dir, "gen", "tasks.gen.d.ts"))
	require.NoError(t, err)
	writeFile(t, filepath.Join(dir, "ts", "tasks.gen.ts"), string(declarations))
	require.NoError(t, os.Symlink(modules, filepath.Join(dir, "ts", "node_modules")))
	var file strings.Builder
	file.WriteString("import type { Tasks } from \"./tasks.gen\";\n")
	for i, trial := range trials {
		fmt.Fprintf(&file, "export const t%d: %s extends Tasks[\"q\"][%q][\"data\"] ? 1 : 0 = 1;\n", i, trial.value.write(true), strings.ToLower(trial.payload))
	}
	writeFile(t, filepath.Join(dir, "ts", "trials.ts"), file.String())
	tsc := exec.Command(node, compiler, "--pretty", "false", "--strict", "--noEmit", "--skipLibCheck", "--preserveSymlinks",
		"--target", "es2022", "--module", "node16", "--moduleResolution", "node16", "trials.ts")
	tsc.Dir = filepath.Join(dir, "ts")
	out, _ := tsc.CombinedOutput() // it fails, since there are errors to be found
	refused := map[int]string{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		m := compilerError.FindStringSubmatch(lines.Text())
		if m == nil {
			require.True(t, strings.HasPrefix(lines.Text(), " "), "%s", lines.Text())
			continue
		}
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		refused[n-2] = m[2]
	}
	require.NotEmpty(t, refused)
	return refused
}
