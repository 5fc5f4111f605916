// Command bullmq-gen generates typed Go code from annotated structs. See
// package bullmqgen and docs/directives.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
	"github.com/bullmq-gen/bullmq-gen/internal/source"
)

const usage = `bullmq-gen generates typed Go code for BullMQ tasks from directives on structs.

  bullmq-gen [flags] [packages]        generate; packages as for go, default .
  bullmq-gen list [flags] [packages]   list queues and tasks; default ./...
  bullmq-gen graph [flags] [packages]  draw flows; -format text, mermaid or dot
  bullmq-gen init [folder]             write a sample package and its test

Put this into one Go file of a module: //go:generate go tool bullmq-gen ./...

  -out DIR      folder of the generated package, relative to each annotated
                package (default ../gen)
  -check        write nothing; report stale files and unsafe changes
  -against REV  write nothing; compare with the manifests of a git revision
  -tags LIST    build tags, separated by commas
  -guard=false, -manifest=false, -ts=false   omit the lines that keep stale
                code from compiling, the manifest, or the files for Node
  -C DIR        run in DIR          -json     print messages and files as JSON
  -v            print each step     -version  print the version

Exit status: 0 success; 1 errors in the source, or -check found stale files, or
-against unsafe changes; 2 failure, with -check also for errors in the source.
Directives: docs/directives.md of https://github.com/bullmq-gen/bullmq-gen
`

// The exit status.
const (
	ok      = 0
	failed  = 1
	trouble = 2
)

func main() {
	debug.SetGCPercent(400) // a run is short: it saves a third of its time for some megabytes
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

type options struct {
	config              bullmqgen.Config
	guard, check        bool
	manifest, types     bool
	json, verbose, info bool
	// against is a git revision, or "".
	against string
	list    bool
	// graph is how flows are to be drawn, or "".
	graph string
}

// dry is true for runs that write nothing.
func (o *options) dry() bool { return o.check || o.against != "" || o.looks() }

// looks is true for commands that only show what there is.
func (o *options) looks() bool { return o.list || o.graph != "" }

// parse reads the command line.
func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{guard: true}
	flags := flag.NewFlagSet("bullmq-gen", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	if len(args) > 0 {
		switch args[0] {
		case "list":
			o.list, args = true, args[1:]
		case "graph":
			flags.StringVar(&o.graph, "format", "text", "")
			args = args[1:]
		}
	}
	flags.StringVar(&o.config.Out, "out", bullmqgen.DefaultOut, "")
	flags.BoolVar(&o.check, "check", false, "")
	flags.StringVar(&o.against, "against", "", "")
	flags.StringVar(&o.config.Tags, "tags", "", "")
	flags.BoolVar(&o.guard, "guard", true, "")
	flags.BoolVar(&o.manifest, "manifest", true, "")
	flags.BoolVar(&o.types, "ts", true, "")
	flags.StringVar(&o.config.Dir, "C", "", "")
	flags.BoolVar(&o.json, "json", false, "")
	flags.BoolVar(&o.verbose, "v", false, "")
	flags.BoolVar(&o.info, "version", false, "")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	empty := false
	flags.Visit(func(f *flag.Flag) { empty = empty || f.Name == "against" && strings.TrimSpace(o.against) == "" })
	if empty {
		return nil, errors.New("-against is empty: name a git revision, such as origin/main")
	}
	o.config.Patterns = flags.Args()
	if os.Getenv("GOFILE") != "" && os.Getenv("GOPACKAGE") != "" && !o.json {
		if dir, err := filepath.Abs(o.config.Dir); err == nil { // go generate runs in the folder of the package, and its user elsewhere
			o.config.Base = source.ModuleDir(dir)
		}
	}
	if o.looks() && len(o.config.Patterns) == 0 {
		o.config.Patterns = []string{"./..."}
	}
	o.config.NoGuard, o.config.NoManifest, o.config.NoTypeScript = !o.guard, !o.manifest, !o.types
	if (o.against != "" || o.looks()) && !o.manifest {
		return nil, errors.New("-against, list and graph need the manifest: leave -manifest=false out")
	}
	if o.graph != "" && o.json {
		return nil, errors.New("graph draws, and -json has no flows: the manifest says the same")
	}
	if o.graph != "" && drawings[o.graph] == nil {
		return nil, fmt.Errorf("-format is %q: use text, mermaid or dot", o.graph)
	}
	if o.verbose {
		o.config.Logf = func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	complain := func(err error) int {
		fmt.Fprintf(stderr, "bullmq-gen: %v\n", err)
		return trouble
	}
	if len(args) > 0 && args[0] == "init" {
		if err := initialize(args[1:], stdout); err != nil {
			return complain(err)
		}
		return ok
	}
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return ok
	case err != nil:
		return complain(fmt.Errorf("%w; bullmq-gen -h shows all flags", err))
	case o.info:
		fmt.Fprintln(stdout, "bullmq-gen", bullmqgen.Version)
		return ok
	}
	result, err := bullmqgen.Generate(ctx, o.config)
	if err != nil {
		return complain(err)
	}
	changes, err := compare(ctx, result, o)
	if err != nil {
		return complain(err)
	}
	if err := report(result, changes, o, stdout, stderr); err != nil {
		return complain(err)
	}
	if !o.dry() && !result.Failed() {
		if err := result.Write(); err != nil {
			return complain(err)
		}
	}
	return status(result, changes, o)
}

// compare says what changes mean for jobs that are in the queues.
func compare(ctx context.Context, result *bullmqgen.Result, o *options) ([]bullmqgen.Change, error) {
	switch {
	case result.Failed():
		return nil, nil
	case o.against != "":
		return result.CompatibilityWith(ctx, o.against)
	case o.looks():
		return nil, nil
	}
	changes, err := result.Compatibility()
	if !o.check { // who generates wants to know what is not well, and no more
		changes = slices.DeleteFunc(changes, func(c bullmqgen.Change) bool { return c.Level == bullmqgen.Safe })
	}
	return changes, err
}

// status is the exit status of a run that went through.
func status(result *bullmqgen.Result, changes []bullmqgen.Change, o *options) int {
	switch {
	case result.Failed() && (o.check || o.against != ""):
		return trouble
	case result.Failed(),
		o.check && len(result.Changes()) > 0,
		o.against != "" && bullmqgen.Breaks(changes):
		return failed
	}
	return ok
}
