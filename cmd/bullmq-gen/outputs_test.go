package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const otherTasks = "package other\n\n//bullmq:task others/do\ntype Other struct{ B int }\n"

// twoPackages makes a module with two annotated packages and one output.
func twoPackages(t *testing.T) (dir, manifest string) {
	t.Helper()
	dir = module(t, goodTasks)
	write(t, dir, "other/other.go", otherTasks)
	code, _, stderr := start(t, dir, "./...")
	require.Zero(t, code, stderr)
	return dir, filepath.Join(dir, "gen", "bullmq.manifest.json")
}

// A run for one package keeps what the manifest says of the others.
func TestManifestOfAnOutputThatIsShared(t *testing.T) {
	t.Parallel()
	dir, manifest := twoPackages(t)
	whole := read(t, manifest)
	require.Contains(t, whole, "example.com/app/tasks")
	require.Contains(t, whole, "example.com/app/other")
	for _, args := range [][]string{{"-check", "./tasks"}, {"./tasks"}, {"./other"}, {"-check", "./..."}} {
		code, _, stderr := start(t, dir, args...)
		require.Zero(t, code, stderr)
		require.Equal(t, whole, read(t, manifest))
	}
	write(t, dir, "other/other.go", strings.Replace(otherTasks, "B int", "C bool", 1))
	code, _, stderr := start(t, dir, "-v", "./other")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "gen/bullmq.manifest.json: stale")
	changed := read(t, manifest)
	require.Contains(t, changed, `"C"`)
	require.Contains(t, changed, "example.com/app/tasks")
	code, _, stderr = start(t, dir, "-check", "./...")
	require.Zero(t, code, stderr)
}

func TestPackagesThatAreGoneLeaveTheManifest(t *testing.T) {
	t.Parallel()
	dir, manifest := twoPackages(t)
	write(t, dir, "other/other.go", "package other\n")
	code, _, stderr := start(t, dir, "./...")
	require.Zero(t, code, stderr)
	require.NotContains(t, read(t, manifest), "example.com/app/other")
	require.Equal(t, []string{"bullmq.manifest.json", "tasks.gen.d.ts", "tasks.gen.go", "tasks.gen.js"}, files(t, dir, "gen"))
	write(t, dir, "tasks/tasks.go", "package tasks\n")
	code, _, stderr = start(t, dir, "-check", "./...")
	require.Equal(t, failed, code)
	require.Contains(t, stderr, "gen/bullmq.manifest.json: removed, since no package is left to describe")
	require.Contains(t, stderr, "gen/tasks.gen.d.ts: removed, since package example.com/app/tasks has no tasks any more")
	require.Contains(t, stderr, "gen/tasks.gen.js: removed, since package example.com/app/tasks has no tasks any more")
	code, _, stderr = start(t, dir, "./...")
	require.Zero(t, code, stderr)
	require.Empty(t, files(t, dir, "gen"))
}

func TestManifestThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir, manifest := twoPackages(t)
	whole := read(t, manifest)
	conflict := strings.Replace(whole, `"packages"`, "<<<<<<< HEAD\n\"packages\"", 1)
	for _, text := range []string{"", whole[:1], whole[:60], whole[:len(whole)-9], conflict, strings.ReplaceAll(whole, "\n", "\r\n")} {
		write(t, dir, "gen/bullmq.manifest.json", text)
		code, _, stderr := start(t, dir, "./...")
		require.Zero(t, code, stderr)
		require.Equal(t, whole, strings.ReplaceAll(read(t, manifest), "\r\n", "\n"))
	}
	write(t, dir, "gen/bullmq.manifest.json", strings.Replace(whole, `"schemaVersion": 1`, `"schemaVersion": 2`, 1))
	code, _, stderr := start(t, dir, "./...")
	require.Equal(t, trouble, code)
	require.Contains(t, stderr, "update bullmq-gen")
	write(t, dir, "gen/bullmq.manifest.json", `{"mine": true}`)
	code, _, stderr = start(t, dir, "./...")
	require.Equal(t, failed, code)
	require.Contains(t, stderr, "gen/bullmq.manifest.json was not written by bullmq-gen")
	require.Equal(t, `{"mine": true}`, read(t, manifest))
}

func TestManifestAndTypesCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	dir := module(t, goodTasks)
	off := []string{"-manifest=false", "-ts=false", "./..."}
	code, _, stderr := start(t, dir, off...)
	require.Zero(t, code, stderr)
	require.Equal(t, []string{"tasks.gen.go"}, files(t, dir, "gen"))
	code, _, stderr = start(t, dir, "./...")
	require.Zero(t, code, stderr)
	require.Len(t, files(t, dir, "gen"), 4)
	code, _, stderr = start(t, dir, append([]string{"-check"}, off...)...)
	require.Equal(t, failed, code)
	require.Contains(t, stderr, "gen/tasks.gen.d.ts: removed, since what is for Node programs is switched off")
	require.Contains(t, stderr, "gen/tasks.gen.js: removed, since what is for Node programs is switched off")
	require.Contains(t, stderr, "gen/bullmq.manifest.json: removed, since the manifest is switched off")
	code, _, stderr = start(t, dir, off...)
	require.Zero(t, code, stderr)
	require.Equal(t, []string{"tasks.gen.go"}, files(t, dir, "gen"))
}

// A comment that says nothing new to anybody outside changes nothing there.
func TestLinesThatMoveChangeNothing(t *testing.T) {
	t.Parallel()
	dir := module(t, goodTasks)
	code, _, stderr := start(t, dir, "./...")
	require.Zero(t, code, stderr)
	write(t, dir, "tasks/tasks.go", strings.Replace(goodTasks, "package tasks\n", "package tasks\n\n// more\n\n// lines\n", 1))
	code, stdout, stderr := start(t, dir, "-check", "./...")
	require.Zero(t, code, stdout+stderr)
}
