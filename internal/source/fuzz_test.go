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
	u := &Unit{Dir: "/tasks", Fset: token.NewFileSet()}
	file, err := parseDeclarations(u.Fset, "tasks.go", []byte(text))
	if err != nil {
		l.Errorf(token.Position{}, "%v", err)
		return nil, l
	}
	u.Files = []*ast.File{file}
	u.Info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: noImports{}, Error: func(err error) { u.Errors = append(u.Errors, err.(types.Error)) }}
	u.Types, _ = config.Check("example.com/tasks", u.Fset, u.Files, u.Info) // its errors are collected
	if described := Read([]*Unit{u}, l); len(described) > 0 {
		return described[0], l
	}
	return nil, l
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
	f.Add("package p\n\n//bullmq:task q/a codec=C\ntype T struct{ A int }\n\ntype V struct{ A, B int }\n\n//bullmq:upgrade from=b\n//bullmq:upgrade from=c\nfunc U(v V) (T, error) { return T{}, nil }\n\nvar C D\n\ntype D struct{}")
	f.Add("package p\n\n//bullmq:task q/a\ntype T []int\n\n//bullmq:upgrade from=b\nfunc U(v struct{ A map[string]T }) T { return nil }")
	f.Add("package p\n\n//bullmq:task q/a\ntype T struct{ N Node; P P }\n\ntype Node *struct{ Next Node }\n\ntype P *P")
	f.Fuzz(func(t *testing.T, text string) {
		p, l := readText(text)
		if p == nil {
			return
		}
		check.Packages([]*model.Package{p}, nil, check.Options{TypeScript: true}, l)
		o := &model.Output{Dir: "/gen", Path: "example.com/gen", Name: "gen", Packages: []*model.Package{p}}
		p.Output = o
		check.Outputs([]*model.Output{o}, l)
		for _, d := range l.Sorted() {
			require.NotEmpty(t, d.Message)
		}
		if l.Failed() {
			return
		}
		code, err := templates.Go(o, p, templates.NewNames(o, p), templates.Options{})
		require.NoError(t, err)
		require.NotEmpty(t, templates.TypeScript(p))
		_, err = manifest.New([]*manifest.Package{manifest.Of(o, p)}).Bytes()
		require.NoError(t, err)
		formatted, err := format.Source(code)
		require.NoError(t, err)
		require.Equal(t, string(formatted), string(code))
		again, err := templates.Go(o, p, templates.NewNames(o, p), templates.Options{})
		require.NoError(t, err)
		require.Equal(t, string(code), string(again))
	})
}
