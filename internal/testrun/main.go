// Testrun runs the tests of this module and shows how far they are: a line for
// each package as the go command writes it, and at the end one line that says
// what was run and how long it took.
//
//	go run ./internal/testrun [-short]
//
// Packages whose tests run much at once in their own process are run with the
// race detector; the others, which start programs or make one call after
// another, without, side by side with them. With -short the tests that take
// longest are left out, and the output says which.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

const module = "github.com/bullmq-gen/bullmq-gen"

// raced are the packages, below the module's path, whose tests run much at once.
var raced = []string{"/runtime", "/runtime/redisq", "/runtime/redisq/audit", "/runtime/bullmqtest", "/internal/guard", "/internal/testredis", "/example/app"}

// long are the packages that -short leaves out.
var long = map[string]string{
	"/interop":       "real Node peers",
	"/interop/soak":  "a fleet of Go and Node programs under faults",
	"/runtime/model": "random calls against a model",
}

// omitted is what -short leaves out of packages that are run: their tests ask
// testing.Short.
const omitted = "modules of users that are built, what does not compile, the analyzer on the corpus, TypeScript, the race detector"

func main() {
	short := flag.Bool("short", false, "leave out the tests that take longest")
	flag.Parse()
	out, err := exec.Command("go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "./...").Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "list the packages:", err)
		os.Exit(2)
	}
	p := choose(strings.Fields(string(out)), *short)
	if !p.run(os.Stdout) {
		os.Exit(1)
	}
}

// plan is what is run, and what is left out.
type plan struct {
	groups  [][]string // arguments of the go command, each with packages of its own
	total   int        // packages
	leftOut []string
}

// choose makes the plan for packages.
func choose(packages []string, short bool) *plan {
	p := &plan{}
	race, plain := []string{"test", "-timeout=1h", "-race"}, []string{"test", "-timeout=1h"}
	if short {
		plain = append(plain, "-short")
	}
	withRace, without := len(race), len(plain)
	for _, path := range packages {
		name := strings.TrimPrefix(path, module)
		switch why := long[name]; {
		case short && why != "":
			p.leftOut = append(p.leftOut, strings.TrimPrefix(name, "/")+" ("+why+")")
			continue
		case !short && slices.Contains(raced, name):
			race = append(race, path)
		default:
			plain = append(plain, path)
		}
		p.total++
	}
	if len(race) > withRace {
		p.groups = append(p.groups, race)
	}
	if len(plain) > without {
		p.groups = append(p.groups, plain)
	}
	if short {
		p.leftOut = append(p.leftOut, omitted)
	}
	return p
}

// run runs all groups side by side and reports whether all passed.
func (p *plan) run(to io.Writer) bool {
	began := time.Now()
	fmt.Fprintf(to, "testing %d packages\n", p.total)
	r := &report{to: to, total: p.total}
	var all sync.WaitGroup
	failed := make([]error, len(p.groups))
	for i, args := range p.groups {
		all.Go(func() {
			out := &output{report: r}
			cmd := exec.Command("go", args...)
			cmd.Stdout, cmd.Stderr = out, out
			failed[i] = cmd.Run()
			out.close()
		})
	}
	all.Wait()
	ok := !slices.ContainsFunc(failed, func(err error) bool { return err != nil })
	fmt.Fprintln(to, r.summary(ok, p.leftOut, time.Since(began)))
	return ok
}

// report writes what packages say, one package at a time.
type report struct {
	mu     sync.Mutex
	to     io.Writer
	total  int
	done   int
	failed []string
}

// add writes the output of one package, and how far the run is behind its last line.
func (r *report) add(text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	last := bytes.TrimRight(text, "\n")
	if at := bytes.LastIndexByte(last, '\n'); at >= 0 {
		last = last[at+1:]
	}
	if bytes.HasPrefix(last, []byte("FAIL\t")) {
		r.failed = append(r.failed, strings.TrimPrefix(strings.Fields(string(last))[1], module+"/"))
	}
	fmt.Fprintf(r.to, "%s\t[%d/%d]\n", bytes.TrimRight(text, "\n"), r.done, r.total)
}

// rest writes what belongs to no package.
func (r *report) rest(text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.to.Write(text)
}

// summary is the last line.
func (r *report) summary(ok bool, leftOut []string, took time.Duration) string {
	var b strings.Builder
	if ok {
		fmt.Fprintf(&b, "ok: %d packages", r.done)
	} else {
		fmt.Fprintf(&b, "FAIL: %d of %d packages failed: %s", len(r.failed), r.total, strings.Join(r.failed, ", "))
	}
	if len(leftOut) > 0 {
		fmt.Fprintf(&b, "; left out: %s", strings.Join(leftOut, ", "))
	}
	fmt.Fprintf(&b, "; %v", took.Round(time.Second))
	return b.String()
}

// output cuts what one go command writes into what each package says.
type output struct {
	report *report
	text   []byte // of the package that is not at its end
	line   []byte // that is not at its end
}

func (o *output) Write(b []byte) (int, error) {
	o.line = append(o.line, b...)
	for {
		end := bytes.IndexByte(o.line, '\n')
		if end < 0 {
			return len(b), nil
		}
		line := o.line[:end+1]
		o.line = o.line[end+1:]
		if string(line) == "FAIL\n" && len(o.text) == 0 {
			continue // the go command's own last line
		}
		o.text = append(o.text, line...)
		if closes(line) {
			o.report.add(o.text)
			o.text = nil
		}
	}
}

// closes reports whether a line is the last one that the go command writes of a package.
func closes(line []byte) bool {
	return bytes.HasPrefix(line, []byte("ok  \t")) || bytes.HasPrefix(line, []byte("FAIL\t"))
}

func (o *output) close() { o.report.rest(append(o.text, o.line...)) }
