package source

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// Loaded is what the patterns match.
type Loaded struct {
	// All are the matched packages, sorted by path.
	All []*Listed
	// Annotated are those with directives, described.
	Annotated []*model.Package
}

const typed = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedModule | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo

// Load loads what the patterns match. What is wrong with the source goes to l;
// the error is for what kept the source from being read.
//
// There are two questions to the go command, at the same time: which files there
// are, and, for the packages with directives alone, the types. That is faster
// than one for all, since nothing is compiled but what the annotated packages
// import, and it works while the rest of the program does not compile.
func Load(ctx context.Context, c Config, l *diag.List) (*Loaded, error) {
	start := time.Now()
	c.texts = &texts{}
	g := c.guess(ctx)
	defer g.cancel()
	listed, err := c.list(ctx, l)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(listed, func(a, b *Listed) int { return strings.Compare(a.Path, b.Path) })
	loaded := &Loaded{All: listed}
	var paths, dirs []string
	for _, p := range listed {
		if p.Annotated {
			paths, dirs = append(paths, p.Path), append(dirs, p.Dir)
		}
	}
	slices.Sort(dirs)
	c.logf("%d packages, %d with directives (%v)", len(listed), len(paths), time.Since(start).Round(time.Millisecond))
	if len(paths) == 0 {
		return loaded, nil
	}
	found, err, right := g.take(dirs)
	if !right {
		c.logf("asking again, since the guess was wrong")
		found, err = c.loadTypes(ctx, paths)
	}
	if err != nil {
		return nil, err
	}
	c.logf("types loaded (%v)", time.Since(start).Round(time.Millisecond))
	all, err := units(found, listed, l)
	if err != nil {
		return nil, err
	}
	loaded.Annotated = Read(all, l)
	return loaded, nil
}

// loadTypes loads the packages. Types of their dependencies come from export
// data; when there is none of some, because it does not compile or because
// this program cannot read it, all is read from source instead.
func (c *Config) loadTypes(ctx context.Context, paths []string) ([]*packages.Package, error) {
	c.logf("asking for types")
	cfg := c.packages(ctx, typed)
	cfg.ParseFile = parseDeclarations
	found, err := packages.Load(cfg, paths...)
	if err == nil && !slices.ContainsFunc(found, lacksImports) {
		return found, nil
	}
	c.logf("some imports have no export data: reading all from source")
	cfg = c.packages(ctx, typed|packages.NeedDeps)
	cfg.ParseFile = parseDeclarations
	deep, deepErr := packages.Load(cfg, paths...)
	if deepErr != nil {
		return nil, loadError(errors.Join(err, deepErr))
	}
	return deep, nil
}

func lacksImports(p *packages.Package) bool {
	for _, e := range p.TypeErrors {
		if strings.Contains(e.Msg, "could not import") {
			return true
		}
	}
	return slices.ContainsFunc(p.Errors, func(e packages.Error) bool { return tooOld(e.Msg) != "" })
}

// parseDeclarations parses a file and leaves the bodies of functions out: what
// is in them does not matter here, and need not make sense yet.
func parseDeclarations(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
	file, err := parser.ParseFile(fset, name, src, parser.AllErrors|parser.ParseComments|parser.SkipObjectResolution)
	if file == nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
	return file, err
}

// units are the packages as Read takes them.
func units(found []*packages.Package, listed []*Listed, l *diag.List) ([]*Unit, error) {
	slices.SortFunc(found, func(a, b *packages.Package) int { return strings.Compare(a.PkgPath, b.PkgPath) })
	broken := false
	for _, p := range found {
		broken = reportSyntax(p, l) || broken
	}
	if broken {
		return nil, nil // what is missing from a broken file would only mislead
	}
	var all []*Unit
	for _, p := range found {
		at := slices.IndexFunc(listed, func(c *Listed) bool { return c.Path == p.PkgPath })
		if p.Types == nil || at < 0 {
			return nil, errors.New("the go command says nothing about package " + p.PkgPath)
		}
		all = append(all, &Unit{
			Dir: listed[at].Dir, Fset: p.Fset, Files: p.Syntax, Types: p.Types, Info: p.TypesInfo,
			Errors: p.TypeErrors, Said: said(p),
		})
	}
	return all, nil
}

// said is what the go command says about a package and about those that it imports.
func said(p *packages.Package) []string {
	var all []string
	note := func(p *packages.Package) {
		for _, e := range p.Errors {
			if e.Kind == packages.ListError {
				all = append(all, e.Msg)
			}
		}
	}
	note(p)
	for _, path := range slices.Sorted(maps.Keys(p.Imports)) {
		note(p.Imports[path])
	}
	return all
}

// reportSyntax reports what keeps the package's files from being parsed.
func reportSyntax(p *packages.Package, l *diag.List) (broken bool) {
	for _, e := range p.Errors {
		if pos, ok := parsePos(e.Pos); ok && e.Kind == packages.ParseError {
			l.Errorf(pos, "%s", e.Msg)
			broken = true
		}
	}
	return broken
}
