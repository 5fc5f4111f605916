package scripts

import (
	"crypto/sha1" //nolint:gosec // the name that Redis gives to a script
	"encoding/hex"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// Every script is assembled, and both servers take it under the name that we
// call it by.
func TestServersTakeAllScripts(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, Names())
	for _, srv := range []*testredis.Server{testredis.Any(t), testredis.Mini(t)} {
		c := srv.Client(t)
		for _, name := range Names() {
			s := Load(name)
			require.Equal(t, name, s.Name)
			sum := sha1.Sum([]byte(s.Source)) //nolint:gosec // see above
			require.Equal(t, hex.EncodeToString(sum[:]), s.SHA)
			sha, err := c.ScriptLoad(t.Context(), s.Source).Result()
			require.NoError(t, err, name)
			require.Equal(t, s.SHA, sha, name)
		}
	}
}

// A script sees only what Redis gives to every script: a name that is misspelt
// would be an error only when that line runs.
func TestScriptsUseKnownNamesOnly(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, n := range strings.Fields("redis KEYS ARGV cjson string table math unpack type tostring tonumber pairs ipairs pcall error next") {
		known[n] = true
	}
	for _, name := range Names() {
		chunk, err := parse.Parse(strings.NewReader(Load(name).Source), name)
		require.NoError(t, err, name)
		proto, err := lua.Compile(chunk, name)
		require.NoError(t, err, name)
		eachGlobal(proto, func(global string, line int, set bool) {
			require.True(t, known[global], "%s: %q in line %d of the assembled script is not known to all servers", name, global, line)
			require.False(t, set, "%s: %q is set in line %d of the assembled script: make it local", name, global, line)
		})
	}
}

// eachGlobal calls f for each use of a global in compiled code: an instruction
// is its code in the upper 6 bits, and the number of the name in the lower 18.
func eachGlobal(p *lua.FunctionProto, f func(name string, line int, set bool)) {
	for i, inst := range p.Code {
		if op := int(inst >> 26); op == lua.OP_GETGLOBAL || op == lua.OP_SETGLOBAL {
			f(p.Constants[inst&(1<<18-1)].String(), p.DbgSourcePositions[i], op == lua.OP_SETGLOBAL)
		}
	}
	for _, inner := range p.FunctionPrototypes {
		eachGlobal(inner, f)
	}
}

// What a script calls of the shared pieces is there: the head names the piece
// that has it, or one that needs that piece.
func TestScriptsNameThePiecesTheyUse(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`\b(?:L|cold\(\))\.([a-z_]+)\(`)
	define := regexp.MustCompile(`function L\.([a-z_]+)\(`)
	for _, name := range Names() {
		source := Load(name).Source
		defined := map[string]bool{}
		for _, m := range define.FindAllStringSubmatch(source, -1) { // the functions themselves are found as calls too
			require.False(t, defined[m[1]], "%s: L.%s is defined twice", name, m[1])
			defined[m[1]] = true
		}
		for _, m := range call.FindAllStringSubmatch(source, -1) {
			require.True(t, defined[m[1]], "%s: no piece in its head has L.%s", name, m[1])
		}
	}
}

// A piece can be used by itself, with those that it names.
func TestPiecesNameWhatTheyNeed(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`\bL\.([a-z_]+)\(`)
	used := map[string]bool{}
	for _, name := range Names() {
		for _, prefix := range []string{"-- lib:", "-- lazy:"} {
			for _, lib := range headList(mustRead(name+".lua"), prefix) {
				used[lib] = true
			}
		}
	}
	for _, lib := range pieces(t) {
		source := assemble([]string{lib}, map[string]bool{})
		for _, m := range call.FindAllStringSubmatch(source, -1) {
			require.True(t, strings.Contains(source, "function L."+m[1]+"("), "lib/%s.lua uses L.%s: name its piece after -- needs:", lib, m[1])
		}
		for _, n := range headList(mustRead("lib/"+lib+".lua"), "-- needs:") {
			used[n] = true
		}
	}
	for _, lib := range pieces(t) {
		require.True(t, used[lib] || lib == "prelude", "lib/%s.lua is not used by any script", lib)
	}
}

// The first lines of a script say what it is called with and what it answers.
func TestHeadsSayHowToCall(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		var head strings.Builder
		for line := range strings.Lines(mustRead(name + ".lua")) {
			if !strings.HasPrefix(line, "--") {
				break
			}
			head.WriteString(line)
		}
		for _, word := range []string{"KEYS", "ARGV", "Reply"} {
			require.Contains(t, head.String(), word, "%s: its head does not say %s", name, word)
		}
	}
}

func TestStrip(t *testing.T) {
	t.Parallel()
	require.Equal(t, "local a = 1 -- stays\nreturn a\n", strip("-- head\n\n  local a = 1 -- stays\n\t-- goes\nreturn a"))
}

func TestLoadOfNothing(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "bullmq: script no-such.lua: open no-such.lua: file does not exist", func() { Load("no-such") })
}

func pieces(t *testing.T) []string {
	t.Helper()
	names, err := fs.Glob(files, "lib/*.lua")
	require.NoError(t, err)
	for i, n := range names {
		names[i] = strings.TrimSuffix(path.Base(n), ".lua")
	}
	return names
}
