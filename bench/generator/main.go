// Command generator measures bullmq-gen on a module of 200 tasks in 20
// packages, beside the go command alone: what "go list -export -deps" takes for
// the same packages is what any tool with types takes at least. It prints a
// table and, with -write, puts it into docs/performance.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 9, "how often each is measured")
	write := flag.Bool("write", false, "write the table into docs/performance.md")
	keep := flag.Bool("keep", false, "keep the module, and say where it is")
	flag.Parse()
	if err := run(*rounds, *write, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "generator:", err)
		os.Exit(1)
	}
}

func run(rounds int, write, keep bool) error {
	repository, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bullmq-gen-bench-")
	if err != nil {
		return err
	}
	if keep {
		fmt.Println(dir)
	} else {
		defer os.RemoveAll(dir)
	}
	binary := filepath.Join(dir, "bullmq-gen")
	if _, err := call(repository, "go", "build", "-o", binary, "./cmd/bullmq-gen"); err != nil {
		return err
	}
	module := filepath.Join(dir, "module")
	if err := writeModule(module, repository); err != nil {
		return err
	}
	for _, warm := range [][]string{{binary, "./..."}, {"go", "build", "./..."}, {"go", "list", "-export", "-deps", "./..."}} {
		if _, err := call(module, warm...); err != nil {
			return err
		}
	}
	table, err := measure(module, binary, rounds)
	if err != nil {
		return err
	}
	fmt.Print(table)
	if write {
		return intoDocument(filepath.Join(repository, "docs", "performance.md"), table)
	}
	return nil
}

// work is one thing to be timed, with what makes it ready.
type work struct {
	name    string
	prepare func(round int) error
	args    []string
}

// measure takes turns with all works, so that each sees the same machine.
func measure(module, binary string, rounds int) (string, error) {
	annotated := make([]string, packages)
	for p := range packages {
		annotated[p] = fmt.Sprintf("./team%02d/tasks", p)
	}
	edit := func(round int) error { // an edit that changes code, types and manifest
		extra := fmt.Sprintf("\n\tExtra%d int `json:\"extra%d,omitempty\"`", round, round)
		return os.WriteFile(filepath.Join(module, taskFile(7, 3)), []byte(task(7, 3, extra)), 0o644)
	}
	works := []work{
		{"`go list -export -deps` of the annotated packages", nil, append([]string{"go", "list", "-export", "-deps"}, annotated...)},
		{"`bullmq-gen ./...`, nothing has changed", nil, []string{binary, "./..."}},
		{"`bullmq-gen ./...` after one task was edited", edit, []string{binary, "./..."}},
	}
	costs := make([][]cost, len(works))
	for round := range rounds {
		for i, w := range works {
			if w.prepare != nil {
				if err := w.prepare(round); err != nil {
					return "", err
				}
			}
			c, err := call(module, w.args...)
			if err != nil {
				return "", err
			}
			costs[i] = append(costs[i], c)
		}
	}
	return render(works, costs), nil
}

// cost is what one run took: by the clock, and of the processors, that of the
// go command included.
type cost struct{ wall, cpu time.Duration }

// render is the table of the medians.
func render(works []work, costs [][]cost) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d tasks in %d packages, median of %d rounds (least to largest), %d cores, %s.\n\n", packages*tasksPerPackage, packages, len(costs[0]), runtime.NumCPU(), runtime.Version())
	b.WriteString("| what | ms | to the go command | CPU ms | to the go command |\n| --- | --- | --- | --- | --- |\n")
	for i, w := range works {
		fmt.Fprintf(&b, "| %s", w.name)
		for _, of := range []func(cost) time.Duration{
			func(c cost) time.Duration { return c.wall },
			func(c cost) time.Duration { return c.cpu },
		} {
			var times []time.Duration
			var ratios []float64
			for round, c := range costs[i] {
				times = append(times, of(c))
				ratios = append(ratios, float64(of(c))/float64(of(costs[0][round])))
			}
			slices.Sort(times)
			slices.Sort(ratios)
			n := len(times)
			fmt.Fprintf(&b, " | %d (%d to %d) | %.1fx", times[n/2].Milliseconds(), times[0].Milliseconds(), times[n-1].Milliseconds(), ratios[n/2])
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// call runs a command and returns what that took.
func call(dir string, args ...string) (cost, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return cost{}, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return cost{time.Since(begin), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

// The table stands between these lines.
const (
	begin = "<!-- generator: written by cd bench && go run ./generator -write -->\n"
	end   = "<!-- end of generator -->"
)

func intoDocument(path, table string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, found := strings.Cut(string(text), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		return errors.New(path + " lacks the lines that the table stands between")
	}
	return os.WriteFile(path, []byte(head+begin+table+end+tail), 0o644)
}
