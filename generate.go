package bullmqgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bullmq-gen/bullmq-gen/internal/check"
	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/naming"
	"github.com/bullmq-gen/bullmq-gen/internal/source"
	"github.com/bullmq-gen/bullmq-gen/templates"
)

// Version is the version of the generator, and of the runtime it is made with.
const Version = "0.1.0"

// DefaultOut is where generated code goes unless Config says otherwise.
const DefaultOut = "../gen"

// Config says what to generate.
type Config struct {
	// Dir is the folder in which Patterns are understood, and to which the
	// names of files in messages are relative. Empty: the current one.
	Dir string
	// Base is the folder to which the names of files in messages are relative, if
	// that is not Dir.
	Base string
	// Patterns are packages as the go command takes them. Empty: the one in Dir.
	Patterns []string
	// Out is the folder of the generated package, seen from the folder of each
	// annotated package. Empty: DefaultOut.
	Out string
	// Tags are build tags, separated by commas.
	Tags string
	// NoGuard leaves out the declarations that keep stale code from compiling
	// after a field or tag of a payload itself has changed.
	NoGuard bool
	// NoManifest leaves out bullmq.manifest.json, NoTypeScript the module for Node
	// programs and its type declarations. Those that are there are removed.
	NoManifest, NoTypeScript bool
	// Env is the environment of the go command. Nil: that of the program.
	Env []string
	// Logf is told what is done and how long it takes, by several goroutines. It
	// may be nil.
	Logf func(format string, args ...any)
}

// Result is what a run comes to. Nothing is written before Write is called.
type Result struct {
	// Diagnostics are errors and warnings, sorted by position.
	Diagnostics []Diagnostic
	// Files are all files of the run, sorted by path; none when there is an error.
	Files []File

	dir, base string
	lines     map[declaration]int
}

// Generate computes the code for the packages that the patterns match. What is
// wrong with their source is in the result; an error says what kept them from
// being read.
func Generate(ctx context.Context, c Config) (*Result, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", dir)
	}
	if len(c.Patterns) == 0 {
		c.Patterns = []string{"."}
	}
	c.Out = cmp.Or(c.Out, DefaultOut)
	from := source.Config{Dir: dir, Patterns: c.Patterns, Tags: c.Tags, Env: c.Env, Logf: c.Logf}
	base, err := filepath.Abs(cmp.Or(c.Base, dir))
	if err != nil {
		return nil, err
	}
	l := &diag.List{Base: base}
	loaded, err := source.Load(ctx, from, l)
	if err != nil {
		return nil, err
	}
	r := &Result{dir: dir, base: base, lines: linesOf(loaded.Annotated)}
	if err := r.generate(c, from, loaded, l); err != nil {
		return nil, err
	}
	r.Diagnostics = diagnostics(l)
	if l.Failed() {
		r.Files = nil
	}
	return r, nil
}

// generate checks what was loaded and fills in the files.
func (r *Result) generate(c Config, from source.Config, loaded *source.Loaded, l *diag.List) error {
	check.Packages(loaded.Annotated, loaded.Children, check.Options{TypeScript: !c.NoTypeScript}, l)
	all := source.Outputs(from, loaded, c.Out, l)
	outputs := slices.DeleteFunc(slices.Clone(all), func(o *model.Output) bool { return len(o.Packages) == 0 })
	planned := plan(c, outputs)
	j := &judge{loaded: loaded, planned: planned, l: l, doubted: map[string]bool{}, roots: rootsOf(from.Dir, c.Patterns)}
	var orphans, manifests, gone []File
	if !l.Failed() { // else nothing is written, and packages with errors look as if they had no tasks
		var err error
		if orphans, err = j.findOrphans(c); err != nil {
			return err
		}
		if manifests, gone, err = j.planManifests(outputs, c); err != nil {
			return err
		}
	}
	planned, orphans = append(planned, manifests...), append(orphans, gone...)
	for _, o := range outputs {
		o.Existing = source.Declared(o.Dir, namesIn(o.Dir, planned, orphans))
	}
	check.Outputs(all, l)
	if !l.Failed() && len(planned)+len(orphans) == 0 {
		in := strings.Join(c.Patterns, " ")
		if !strings.Contains(in, "...") {
			in += "; ./... takes in the packages below"
		}
		l.Warnf(position{}, "no //bullmq:task and no //bullmq:queue in %s", in)
	}
	if l.Failed() {
		return nil
	}
	if err := emit(planned); err != nil {
		return err
	}
	for i := range planned {
		if err := planned[i].compare(l); err != nil {
			return err
		}
	}
	r.Files = append(planned, orphans...)
	sortFiles(r.Files)
	return nil
}

// plan says which files come from each package, and how they are made.
func plan(c Config, outputs []*model.Output) []File {
	var planned []File
	for _, o := range outputs {
		for _, p := range o.Packages {
			add := func(name string, content func() ([]byte, error)) {
				planned = append(planned, File{
					Path: filepath.Join(o.Dir, name), Source: p.Path,
					pos: check.Position(p), content: content, ours: templates.Ours,
				})
			}
			add(naming.File(p.Name), func() ([]byte, error) {
				return templates.Go(o, p, templates.NewNames(o, p), templates.Options{NoGuard: c.NoGuard})
			})
			if !c.NoTypeScript {
				add(naming.Declarations(p.Name), func() ([]byte, error) { return templates.TypeScript(p), nil })
				add(naming.Module(p.Name), func() ([]byte, error) { return templates.JavaScript(p), nil })
			}
		}
	}
	return planned
}

// emit fills in the contents of the planned files.
func emit(planned []File) error {
	errs := make([]error, len(planned))
	var wait sync.WaitGroup
	for i := range planned {
		file, err := &planned[i], &errs[i]
		wait.Go(func() { file.Content, *err = file.content() })
	}
	wait.Wait()
	return errors.Join(errs...)
}
