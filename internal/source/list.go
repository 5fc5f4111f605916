// Package source loads Go packages, finds the declarations in them that have
// bullmq directives, and describes these as package model does.
package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
)

// Config says what to load.
type Config struct {
	Dir      string   // of the go command
	Patterns []string // as the go command takes them
	Tags     string   // build tags, separated by commas
	Env      []string // of the go command; nil: the program's own
	// Logf is told what happens, by several goroutines; it may be nil.
	Logf func(format string, args ...any)

	texts *texts // of a load
}

func (c *Config) logf(format string, args ...any) {
	if c.Logf != nil {
		c.Logf(format, args...)
	}
}

func (c *Config) packages(ctx context.Context, mode packages.LoadMode) *packages.Config {
	cfg := &packages.Config{Context: ctx, Mode: mode, Dir: c.Dir, Env: c.Env}
	if c.Tags != "" {
		cfg.BuildFlags = []string{"-tags=" + c.Tags}
	}
	return cfg
}

// Listed is a package that a pattern matches.
type Listed struct {
	Path, Name, Dir string
	Module          Module
	// Annotated is true when a file of the package may have directives.
	Annotated bool
	// Hidden is true when a file that build constraints leave out may have some.
	Hidden bool
	// Problem is what the go command says is wrong with the package, or "".
	Problem string
}

// Module is the Go module of a package; its path is "" when there is none.
type Module struct{ Path, Dir string }

// mention is what makes a file worth a closer look: a line with a directive,
// or with a comment that may be meant as one.
var mention = regexp.MustCompile(`(?im)^[ \t]*//[ \t]*bullmq[ \t]*:[ \t]*[a-z]`)

// list finds the packages that the patterns match and looks for directives in
// their text. It asks the go command for no types: only packages with
// directives are worth that, and the others may not even compile.
func (c *Config) list(ctx context.Context, l *diag.List) ([]*Listed, error) {
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedModule
	c.logf("asking for packages")
	found, err := packages.Load(c.packages(ctx, mode), c.Patterns...)
	if err != nil {
		return nil, loadError(err)
	}
	var listed []*Listed
	for _, p := range found {
		here := &Listed{Path: p.PkgPath, Name: p.Name, Dir: p.Dir}
		if p.Module != nil {
			here.Module = Module{p.Module.Path, p.Module.Dir}
		}
		if len(p.GoFiles) > 0 && here.Dir == "" {
			here.Dir = filepath.Dir(p.GoFiles[0])
		}
		if here.Annotated, err = c.anyMentions(p.GoFiles); err != nil {
			return nil, err
		}
		here.Hidden = WarnIgnored(p.IgnoredFiles, l)
		if err := c.listErrors(p, here, l); err != nil {
			return nil, err
		}
		listed = append(listed, here)
	}
	if len(listed) == 0 {
		return nil, fmt.Errorf("no packages match %s", strings.Join(c.Patterns, " "))
	}
	return listed, nil
}

// listErrors passes on what the go command says about a package, unless the
// package is none of our business. Of a package that it cannot make out, such as
// one of files with two package names, it knows no files: then all in the folder
// are looked at.
func (c *Config) listErrors(p *packages.Package, here *Listed, l *diag.List) error {
	for _, e := range p.Errors {
		here.Problem = cmp.Or(here.Problem, strings.TrimSpace(e.Msg))
		annotated := here.Annotated
		if !annotated && here.Dir != "" {
			files, _ := filepath.Glob(filepath.Join(escape(here.Dir), "*.go")) // the pattern is well-formed
			annotated, _ = c.anyMentions(slices.DeleteFunc(files, func(f string) bool { return !isSource(filepath.Base(f)) }))
			annotated = annotated && !here.Hidden // which is told otherwise
		}
		switch pos, hasPos := parsePos(e.Pos); {
		case annotated && hasPos:
			l.Errorf(pos, "%s", e.Msg)
		case annotated && len(p.GoFiles) == 0:
			l.Errorf(token.Position{}, "package %s: %s", p.PkgPath, strings.TrimSpace(e.Msg))
		case len(p.GoFiles) == 0 && len(p.IgnoredFiles) == 0 && here.Dir == "":
			return errors.New(strings.TrimSpace(e.Msg))
		default:
			c.logf("%s: %s", p.PkgPath, e.Msg)
		}
	}
	if here.Annotated && p.PkgPath == "command-line-arguments" {
		return errors.New("give packages, such as . or ./..., not files")
	}
	return nil
}

func (c *Config) anyMentions(files []string) (bool, error) {
	for _, f := range files {
		if ok, err := c.mentions(f); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func mentions(file string) (bool, error) {
	if filepath.Ext(file) != ".go" {
		return false, nil
	}
	text, err := os.ReadFile(file)
	return err == nil && mention.Match(text), err
}

// WarnIgnored names those of the files which build constraints leave out whose
// directives are left out with them.
func WarnIgnored(files []string, l *diag.List) (any bool) {
	for _, f := range files {
		if ok, err := mentions(f); ok && err == nil && !strings.HasSuffix(f, "_test.go") {
			any = true
			l.Warnf(position(f, 1, 1), "build constraints leave this file out, and its directives with it: choose it with -tags or GOOS, or move the annotated types to a file without constraints")
		}
	}
	return any
}
