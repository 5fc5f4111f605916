// Compat plays the scenarios of package interop with published releases of
// BullMQ for Node.js, and writes what it found to docs/compatibility.md.
//
//	go run ./interop/compat 5.1.0 5.40.0 6.0.0
//
// Each release is installed with npm into a folder of its own below the user's
// cache. A scenario that a release cannot take part in, since it has no such
// call, is "not in this release".
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const document = "docs/compatibility.md"

func main() {
	kept := flag.Bool("kept", false, "take the results of an earlier run, where there are some")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, `usage: make compat VERSIONS="5.1.0 5.40.0 6.0.0"`)
		os.Exit(2)
	}
	var all []*release
	for _, version := range flag.Args() {
		r, err := results(version, *kept)
		if err != nil {
			fmt.Fprintf(os.Stderr, "bullmq %s: %v\n", version, err)
			os.Exit(1)
		}
		fmt.Println(r.summary())
		all = append(all, r)
		if err := write(document, page(all)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// release is what was found of one release.
type release struct {
	version string
	cells   []cell
}

// cell is a scenario in one direction.
type cell struct {
	Group, Feature, Mark, Test string
	GoFirst                    bool
}

// The marks of cells.
const (
	yes      = "yes"
	no       = "**no**"
	notThere = "not in this release"
	nothing  = "–" // there is nothing to play
)

// cacheFolder is the folder of the installed releases below the user's cache.
const cacheFolder = "bullmq-gen-compat"

// results plays all scenarios with a release, or reads what an earlier run has found.
func results(version string, kept bool) (*release, error) {
	home, err := home(version)
	if err != nil {
		return nil, err
	}
	path, r := filepath.Join(home, "results.json"), &release{version: version}
	if text, err := os.ReadFile(path); kept && err == nil {
		return r, json.Unmarshal(text, &r.cells)
	}
	if r, err = play(version); err != nil {
		return nil, err
	}
	text, err := json.Marshal(r.cells)
	if err != nil {
		return nil, err
	}
	return r, os.WriteFile(path, text, 0o600)
}

// home is the folder of a release below the user's cache.
func home(version string) (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, cacheFolder, version), err
}

// play installs a release and plays all scenarios with it.
func play(version string) (*release, error) {
	pkg, err := install(version)
	if err != nil {
		return nil, err
	}
	results, err := os.CreateTemp("", "compat-*.json")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(results.Name()) }()
	_ = results.Close()
	cmd := exec.Command("go", "test", "./interop", "-run", "^TestRelease$", "-json", "-count=1", "-parallel=24", "-timeout=1h")
	cmd.Env = append(os.Environ(), "BULLMQ_REQUIRE=1", "BULLMQ_RELEASE="+version, "BULLMQ_RELEASE_PACKAGE="+pkg, "BULLMQ_RELEASE_RESULTS="+results.Name())
	if os.Getenv("BULLMQ_PATIENCE") == "" {
		cmd.Env = append(cmd.Env, "BULLMQ_PATIENCE=75s")
	}
	cmd.Stderr = os.Stderr
	out, runErr := cmd.Output() // an error says only that some scenario failed
	text, err := os.ReadFile(results.Name())
	if err != nil {
		return nil, err
	}
	r := &release{version: version}
	if err := json.Unmarshal(text, &r.cells); err != nil {
		return nil, fmt.Errorf("no results: %w\n%s", errors.Join(err, runErr), tail(out))
	}
	outputs := outputOf(bytes.NewReader(out))
	for i := range r.cells {
		c := &r.cells[i]
		output := outputs["TestRelease/cells/"+strings.ReplaceAll(c.Test, " ", "_")]
		c.Mark = markOf(c.Mark, output)
		if c.Mark == no {
			fmt.Fprintf(os.Stderr, "--- %s: %s\n%s\n", version, c.Test, tail([]byte(output)))
		}
	}
	return r, nil
}

// install installs a release, unless it is there, and returns its folder.
func install(version string) (string, error) {
	home, err := home(version)
	if err != nil {
		return "", err
	}
	pkg := filepath.Join(home, "node_modules", "bullmq")
	if _, err := os.Stat(filepath.Join(pkg, "package.json")); err == nil {
		return pkg, nil
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(home, "package.json"), []byte("{\"private\": true}\n"), 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("npm", "install", "--prefix", home, "--silent", "--no-audit", "--no-fund", "bullmq@"+version, "ioredis@5") // 6.x leaves ioredis to the program
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("npm install: %w: %s", err, out)
	}
	return pkg, nil
}

// outputOf returns the output of each test, in the form of go test -json.
func outputOf(in io.Reader) map[string]string {
	out := map[string]string{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e struct{ Test, Output string }
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			out[e.Test] += e.Output
		}
	}
	return out
}

var unknownCall = regexp.MustCompile(`is not a function|is not a constructor|this version has no|unknown operation`)

func markOf(mark, output string) string {
	switch {
	case mark == yes:
		return yes
	case strings.HasPrefix(mark, "- "):
		return nothing
	case unknownCall.MatchString(output):
		return notThere
	}
	return no
}

func tail(b []byte) string { return string(b[max(0, len(b)-3000):]) }
