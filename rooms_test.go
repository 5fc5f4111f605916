package bullmqgen_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rooms are the folders of the runtime and what each may import of this module, at
// most. CONTRIBUTING.md shows the same as a map.
var rooms = map[string][]string{
	"runtime/storage":                   nil,
	"internal/wire":                     nil,
	"internal/guard":                    nil,
	"scripts":                           nil,
	"runtime/cron":                      nil,
	"runtime/internal/engine/hookqueue": {"internal/guard"},
	"runtime/internal/engine/outage":    {"runtime/storage"},
	"runtime/internal/engine/ledger":    {"runtime/storage"},
	"runtime/internal/engine/runner": {"internal/guard", "internal/jsjson", "runtime/internal/engine/ledger",
		"runtime/internal/engine/outage", "runtime/storage"},
	"runtime/internal/engine/lanes": {"runtime/internal/engine/ledger", "runtime/internal/engine/outage",
		"runtime/internal/engine/runner", "runtime/storage"},
	"runtime/internal/engine": {"runtime/internal/engine/hookqueue", "runtime/internal/engine/lanes",
		"runtime/internal/engine/ledger", "runtime/internal/engine/outage", "runtime/internal/engine/runner", "runtime/storage"},
	"runtime": {"internal/guard", "internal/jsdecode", "internal/jsjson", "internal/wire", "runtime/cron", "runtime/internal/engine",
		"runtime/internal/engine/hookqueue", "runtime/internal/engine/lanes", "runtime/internal/engine/ledger",
		"runtime/internal/engine/outage", "runtime/internal/engine/runner", "runtime/storage"},
	"runtime/redisq": {"internal/guard", "internal/jsjson", "internal/wire", "runtime/storage", "scripts"},
	"templates":      {"internal/model", "internal/naming", "internal/tstag"},
}

// ledgerMayCall are the standard packages that the ledger may import: it keeps
// books, and nothing that can wait for a server or call the program.
var ledgerMayCall = []string{"iter", "runtime", "slices", "sync", "sync/atomic", "time"}

func TestEachRoomImportsOnlyWhatTheMapShows(t *testing.T) {
	t.Parallel()
	const module = "github.com/bullmq-gen/bullmq-gen/"
	for room, allowed := range rooms {
		for file, imports := range importsOf(t, room) {
			for _, path := range imports {
				if inside, ok := strings.CutPrefix(path, module); ok {
					require.Contains(t, allowed, inside, "%s: %s must not know it: see the map in CONTRIBUTING.md", file, room)
				} else if room == "runtime/internal/engine/ledger" {
					require.True(t, slices.Contains(ledgerMayCall, path), "%s imports %s: the ledger calls nothing", file, path)
				}
			}
		}
	}
}

func TestTheMapShowsEachRoom(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("CONTRIBUTING.md")
	require.NoError(t, err)
	for room := range rooms {
		require.Contains(t, string(text), "`"+room+"`")
	}
}

// importsOf returns the imports of the source files of a folder, by file.
func importsOf(t *testing.T, dir string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "there is no room %s", dir)
	all := map[string][]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range f.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			all[file] = append(all[file], path)
		}
	}
	return all
}
