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

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
)

const usage = `bullmq-gen generates typed Go code for BullMQ tasks, from structs with
directives in their comments.

  bullmq-gen [flags] [packages]   packages as for the go command; default .

Once for a module, in any of its Go files:

  //go:generate go tool bullmq-gen ./...

Flags:
  -out DIR      folder of the generated package, seen from each annotated
                package (default ../gen); its name is the folder's
  -check        write nothing; show what would change
  -tags LIST    build tags, separated by commas
  -guard=false  leave out the lines that keep stale code from compiling
  -manifest=false, -ts=false
                leave out bullmq.manifest.json, or the types for Node programs
  -C DIR        run in DIR
  -json         print diagnostics and files as JSON
  -v            say what is done
  -version      print the version

Exit status: 0 all is well; 1 there are errors in the source, or with -check
something would change; 2 trouble, and with -check also errors in the source.
Directives: docs/directives.md of https://github.com/bullmq-gen/bullmq-gen
`

// The exit status.
const (
	ok      = 0
	failed  = 1
	trouble = 2
)

func main() {
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
}

// parse reads the command line.
func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{guard: true}
	flags := flag.NewFlagSet("bullmq-gen", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.config.Out, "out", bullmqgen.DefaultOut, "")
	flags.BoolVar(&o.check, "check", false, "")
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
	o.config.Patterns = flags.Args()
	o.config.NoGuard, o.config.NoManifest, o.config.NoTypeScript = !o.guard, !o.manifest, !o.types
	if o.verbose {
		o.config.Logf = func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return ok
	case err != nil:
		fmt.Fprintf(stderr, "bullmq-gen: %v; bullmq-gen -h shows all flags\n", err)
		return trouble
	case o.info:
		fmt.Fprintln(stdout, "bullmq-gen", bullmqgen.Version)
		return ok
	}
	result, err := bullmqgen.Generate(ctx, o.config)
	if err != nil {
		fmt.Fprintf(stderr, "bullmq-gen: %v\n", err)
		return trouble
	}
	if err := report(result, o, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "bullmq-gen: %v\n", err)
		return trouble
	}
	return finish(result, o, stderr)
}

// finish writes the files, or says how they stand.
func finish(result *bullmqgen.Result, o *options, stderr io.Writer) int {
	switch {
	case result.Failed() && o.check:
		return trouble
	case result.Failed():
		return failed
	case o.check && len(result.Changes()) > 0:
		return failed
	case o.check:
		return ok
	}
	if err := result.Write(); err != nil {
		fmt.Fprintf(stderr, "bullmq-gen: %v\n", err)
		return trouble
	}
	return ok
}
