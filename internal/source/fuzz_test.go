package source

import (
	"errors"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"github.com/bullmq-gen/bullmq-gen/internal/check"
	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/manifest"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/templates"
)

// noImports lets every import fail.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not found") }

// readText reads one file as a package, whatever it holds, without the go command.
func readText(text string) (*model.Package, *diag.List) {
	l := &diag.List{}
	p := &packages.Package{PkgPath: "example.com/tasks", Fset: token.NewFileSet(), GoFiles: []string{"tasks.go"}}
	file, err := parseDeclarations(p.Fset, "tasks.go", []byte(text))
	if err != nil {
		l.Errorf(token.Position{}, "%v", err)
		return nil, l
	}
	p.Name, p.Syntax = file.Name.Name, []*ast.File{file}
	p.TypesInfo = &types.Info{Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: noImports{}, Error: func(err error) { p.TypeErrors = append(p.TypeErrors, err.(types.Error)) }}
	p.Types, _ = config.Check(p.PkgPath, p.Fset, p.Syntax, p.TypesInfo) // its errors are collected
	found := []*packages.Package{p}
	return newReader(p, &Listed{Path: p.PkgPath, Dir: "/tasks"}, newTypes(found), l).read(), l
}

// Whatever the source is, there are diagnostics or code that is valid Go;
// never a panic, and never an end that does not come.
func FuzzSource(f *testing.F) {
	archives, err := filepath.Glob("../../testdata/generator/*.txtar")
	require.NoError(f, err)
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		require.NoError(f, err)
		for _, file := range archive.Files {
			if filepath.Ext(file.Name) == ".go" && filepath.Dir(file.Name) == "tasks" {
				f.Add(string(file.Data))
			}
		}
	}
	f.Add("package p\n\n//bullmq:task q/a\ntype T = G[int]\n\ntype G[P any] struct{ F *G[*P] }")
	f.Add("package p\n\n//bullmq:task q/a\ntype T struct{ *T; U }\n\ntype U struct{ *T `bullmq:\"dedup\"` }")
	f.Fuzz(func(t *testing.T, text string) {
		p, l := readText(text)
		if p == nil {
			return
		}
		check.Packages([]*model.Package{p}, check.Options{TypeScript: true}, l)
		o := &model.Output{Dir: "/gen", Path: "example.com/gen", Name: "gen", Packages: []*model.Package{p}}
		check.Outputs([]*model.Output{o}, l)
		for _, d := range l.Sorted() {
			require.NotEmpty(t, d.Message)
		}
		if l.Failed() {
			return
		}
		code, err := templates.Go(o, p, templates.NewNames(o), templates.Options{})
		require.NoError(t, err)
		require.NotEmpty(t, templates.TypeScript(p))
		_, err = manifest.New([]*manifest.Package{manifest.Of(o, p)}).Bytes()
		require.NoError(t, err)
		formatted, err := format.Source(code)
		require.NoError(t, err)
		require.Equal(t, string(formatted), string(code))
		again, err := templates.Go(o, p, templates.NewNames(o), templates.Options{})
		require.NoError(t, err)
		require.Equal(t, string(code), string(again))
	})
}
