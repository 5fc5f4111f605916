// Package scripts holds the Lua that runs inside Redis: one file an operation,
// shared pieces in lib.
//
// The head of a script names what it needs of lib:
//
//	-- lib: marker events      functions are there as L.name
//	-- lazy: parent dedup      the same, behind cold(): made when first asked for
//
// A closure costs Redis about 0.1 microseconds each time a script runs, so the
// scripts of the hot path keep what is rare behind cold(), as in
// cold().release_parent(...). With both, cold() adds to the L that is there.
// A lib file may begin with "-- needs: other lib files".
//
// Comments and indentation are cut before a script is sent: the server keeps
// the text of each one.
package scripts

import (
	"crypto/sha1" //nolint:gosec // the name that Redis gives to a script
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
)

//go:embed *.lua lib/*.lua
var files embed.FS

// Script is an assembled script.
type Script struct {
	Name   string // of the file, without its ending
	Source string
	SHA    string // what EVALSHA takes
}

// Load assembles the script of a name. It panics when there is none, or when
// it names a piece that does not exist: both are errors of this module itself,
// and a test loads all of them.
func Load(name string) *Script {
	src := mustRead(name + ".lua")
	var b strings.Builder
	b.WriteString(strip(mustRead("lib/prelude.lua")))
	libs, lazy, done := headList(src, "-- lib:"), headList(src, "-- lazy:"), map[string]bool{}
	if libs != nil {
		b.WriteString("local L = {}\n" + assemble(libs, done))
	}
	switch {
	case lazy != nil && libs != nil:
		b.WriteString("local complete\nlocal function cold()\nif complete then return L end\ncomplete = true\n" + assemble(lazy, done) + "return L\nend\n")
	case lazy != nil:
		b.WriteString("local L\nlocal function cold()\nif L then return L end\nL = {}\n" + assemble(lazy, done) + "return L\nend\n")
	}
	b.WriteString(strip(src))
	sum := sha1.Sum([]byte(b.String())) //nolint:gosec // see above
	return &Script{Name: name, Source: b.String(), SHA: hex.EncodeToString(sum[:])}
}

// Names lists the scripts.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the embedded root always opens
	}
	var names []string
	for _, e := range entries {
		if n, ok := strings.CutSuffix(e.Name(), ".lua"); ok {
			names = append(names, n)
		}
	}
	return names
}

// assemble returns the pieces that are not done and all that they need, each
// once, needed ones first.
func assemble(libs []string, done map[string]bool) string {
	var b strings.Builder
	var add func(string)
	add = func(lib string) {
		if done[lib] {
			return
		}
		done[lib] = true
		src := mustRead("lib/" + lib + ".lua")
		for _, n := range headList(src, "-- needs:") {
			add(n)
		}
		b.WriteString(strip(src))
	}
	for _, l := range libs {
		add(l)
	}
	return b.String()
}

// headList reads the words of the first comment line that starts with a prefix.
func headList(src, prefix string) []string {
	for line := range strings.Lines(src) {
		if !strings.HasPrefix(line, "--") {
			return nil
		}
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return strings.Fields(rest)
		}
	}
	return nil
}

// strip drops indentation, empty lines and lines that are only a comment.
func strip(src string) string {
	var b strings.Builder
	for line := range strings.Lines(src) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "--") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func mustRead(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("bullmq: script %s: %v", name, err))
	}
	return string(b)
}
