package source

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/check"
	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/naming"
)

// Outputs finds the package that each annotated package is generated into:
// the folder out, seen from the folder of the source.
func Outputs(c Config, loaded *Loaded, out string, l *diag.List) []*model.Output {
	byDir := map[string]*model.Output{}
	var outputs []*model.Output
	find := func(p *model.Package, l *diag.List) *model.Output {
		dir := OutputDir(p.Dir, out)
		o := byDir[dir]
		if o == nil {
			if o = newOutput(p, loaded.modules[p.Path], dir, out, l); o == nil {
				return nil
			}
			byDir[dir] = o
			outputs = append(outputs, o)
		}
		p.Output = o
		return o
	}
	for _, p := range loaded.Annotated {
		o := find(p, l)
		if o == nil {
			continue
		}
		imports := &importer{module: loaded.modules[p.Path], context: build.Default, known: map[string][]string{}}
		imports.context.BuildTags = strings.Split(c.Tags, ",")
		reportCycle(imports, p, o, l)
		o.Packages = append(o.Packages, p)
	}
	for _, p := range loaded.Children {
		if o := find(p, l); o != nil {
			o.Children = append(o.Children, p)
		}
	}
	return outputs
}

// OutputOf is what Outputs finds for one package when nothing is known of the
// others: a cycle of more than one import is not seen.
func OutputOf(p *model.Package, module Module, out string, l *diag.List) *model.Output {
	o := newOutput(p, module, OutputDir(p.Dir, out), out, l)
	if o != nil {
		reportCycle(&importer{}, p, o, l)
		o.Packages = append(o.Packages, p)
	}
	return o
}

// OutputDir is the folder that the package in dir is generated into.
func OutputDir(dir, out string) string {
	if filepath.IsAbs(out) {
		return filepath.Clean(out)
	}
	return filepath.Join(dir, out)
}

// newOutput describes the package in dir, or reports why p cannot be
// generated into it.
func newOutput(p *model.Package, module Module, dir, out string, l *diag.List) *model.Output {
	pos := check.Position(p)
	switch rel, err := filepath.Rel(module.Dir, dir); {
	case module.Path == "":
		l.Errorf(pos, "package %s is in no Go module: run go mod init, since the generated package needs an import path", p.Path)
	case err != nil || !filepath.IsLocal(rel) || ModuleDir(dir) != module.Dir:
		l.Errorf(pos, "the output %s is outside of module %s: choose another folder with -out", out, module.Path)
	case dir == p.Dir:
		l.Errorf(pos, "the output must be another package than %s itself: choose another folder with -out", p.Path)
	default:
		o := &model.Output{Dir: dir, Path: path.Join(module.Path, filepath.ToSlash(rel))}
		if o.Name = packageName(dir); o.Name == "" {
			l.Errorf(pos, "the folder %s gives no package name for the output: choose another with -out", filepath.Base(dir))
			return nil
		}
		return o
	}
	return nil
}

// ModuleDir returns the folder of the module that dir belongs to, or "". The
// folder dir need not exist yet.
func ModuleDir(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// packageName is the name of the package in dir: that of the files which the
// user has there, or else one made from the folder's name.
func packageName(dir string) string {
	for _, file := range parseDir(dir, parser.PackageClauseOnly, nil) {
		if !isOurs(file.syntax) {
			return file.syntax.Name.Name
		}
	}
	return naming.Package(filepath.Base(dir))
}

type parsed struct {
	fset   *token.FileSet
	syntax *ast.File
}

// parseDir parses the Go files of a package's folder, as far as they can be,
// without those to skip.
func parseDir(dir string, mode parser.Mode, skip []string) []parsed {
	entries, _ := os.ReadDir(dir) // a folder that is not there has no files
	var files []parsed
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !isSource(name) || slices.Contains(skip, name) {
			continue
		}
		fset := token.NewFileSet()
		file, _ := parser.ParseFile(fset, filepath.Join(dir, name), nil, mode|parser.ParseComments|parser.SkipObjectResolution)
		if file != nil && file.Name != nil && token.IsIdentifier(file.Name.Name) && file.Name.Name != "_" {
			files = append(files, parsed{fset, file})
		}
	}
	return files
}

// isOurs is true for files that this program wrote.
func isOurs(file *ast.File) bool {
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			break
		}
		for _, c := range group.List {
			if strings.TrimSpace(c.Text) == model.Header {
				return true
			}
		}
	}
	return false
}

// isSource is true for files that the go command takes for a package's source.
func isSource(name string) bool {
	return filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") && name[0] != '_' && name[0] != '.'
}

// Declared returns what the files in dir declare at package level, without
// those to skip.
func Declared(dir string, skip []string) []model.Declared {
	var all []model.Declared
	for _, f := range parseDir(dir, 0, skip) {
		for _, d := range f.syntax.Decls {
			for _, name := range declaredBy(d) {
				all = append(all, model.Declared{Name: name.Name, Pos: f.fset.Position(name.Pos()), Ours: isOurs(f.syntax)})
			}
		}
	}
	return all
}

func declaredBy(d ast.Decl) []*ast.Ident {
	var names []*ast.Ident
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.Name != "init" {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	return slices.DeleteFunc(names, func(n *ast.Ident) bool { return n.Name == "_" })
}
