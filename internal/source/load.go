package source

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
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
	// Children are described packages that the patterns do not match, and whose
	// tasks stand in slots of the Annotated, or in slots of one another.
	Children []*model.Package

	modules map[string]Module // of annotated packages and of Children, by path
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
	for wanted := paths; ; {
		if err != nil {
			return nil, err
		}
		c.logf("types loaded (%v)", time.Since(start).Round(time.Millisecond))
		trial := &diag.List{Base: l.Base}
		missing, err2 := loaded.describe(found, paths, trial)
		if err2 != nil {
			return nil, err2
		}
		if missing = slices.DeleteFunc(missing, func(path string) bool { return slices.Contains(wanted, path) }); len(missing) == 0 {
			l.Join(trial)
			return loaded, nil
		}
		c.logf("asking for what declares their types too: %s", strings.Join(missing, " "))
		for _, p := range found {
			if !slices.Contains(wanted, p.PkgPath) {
				wanted = append(wanted, p.PkgPath)
			}
		}
		wanted = append(wanted, missing...)
		found, err = c.loadTypes(ctx, wanted)
	}
}

// describe reads the packages at paths among those that were found, and returns
// the paths of others that it needs for that: what declares types of payloads, for
// their comments and constants, and what declares tasks of children. They are
// needed whatever else is in the run, so that one package has one output.
func (loaded *Loaded) describe(found []*packages.Package, paths []string, l *diag.List) (missing []string, err error) {
	all, more, err := units(found, paths, l)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	r := newTypes(append(all, more...))
	loaded.Annotated = r.read(all, l)
	loaded.Children = nil
	for read := map[string]bool{}; ; {
		next := slices.DeleteFunc(slices.Clone(more), func(u *Unit) bool { return read[u.Types.Path()] || !r.children[u.Types.Path()] })
		if len(next) == 0 {
			break
		}
		for _, u := range next {
			read[u.Types.Path()] = true
		}
		for _, p := range found {
			if read[p.PkgPath] && reportSyntax(p, l) {
				return nil, nil
			}
		}
		loaded.Children = append(loaded.Children, r.read(next, l)...)
	}
	loaded.modules = map[string]Module{}
	for _, u := range append(all, more...) {
		loaded.modules[u.Types.Path()] = u.Module
	}
	for path := range r.missing {
		missing = append(missing, path)
	}
	slices.Sort(missing)
	return missing, nil
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

// units are the packages as Read takes them: those at paths, and the others that
// could be read.
func units(found []*packages.Package, paths []string, l *diag.List) (all, more []*Unit, err error) {
	slices.SortFunc(found, func(a, b *packages.Package) int { return strings.Compare(a.PkgPath, b.PkgPath) })
	broken := false
	for _, p := range found {
		if slices.Contains(paths, p.PkgPath) {
			broken = reportSyntax(p, l) || broken
		}
	}
	if broken {
		return nil, nil, nil // what is missing from a broken file would only mislead
	}
	for _, p := range found {
		asked := slices.Contains(paths, p.PkgPath)
		if p.Types == nil || len(p.GoFiles) == 0 {
			if asked {
				return nil, nil, errors.New("the go command says nothing about package " + p.PkgPath)
			}
			continue
		}
		u := &Unit{
			Dir: filepath.Dir(p.GoFiles[0]), Fset: p.Fset, Files: p.Syntax, Types: p.Types, Info: p.TypesInfo,
			Errors: p.TypeErrors, Said: said(p), Beside: !asked,
		}
		if p.Module != nil {
			u.Module = Module{p.Module.Path, p.Module.Dir}
		}
		if asked {
			all = append(all, u)
		} else {
			more = append(more, u)
		}
	}
	return all, more, nil
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
