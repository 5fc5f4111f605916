package source

import (
	"go/ast"
	"go/types"

	"github.com/bullmq-gen/bullmq-gen/internal/directive"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// readFunc reads a function with directives: one that converts old payloads.
func (r *reader) readFunc(f *ast.FuncDecl, lines []*directive.Directive) {
	var upgrades []*model.Upgrade
	for _, d := range lines {
		if d.Name != "upgrade" {
			r.misplaced(d, &above{what: "a function"})
			continue
		}
		u := &model.Upgrade{GoName: f.Name.Name, FuncPos: r.position(f.Name.Pos())}
		u.From, u.Pos = d.ReadUpgrade(r.l)
		upgrades = append(upgrades, u)
	}
	if len(upgrades) == 0 {
		return
	}
	first := upgrades[0]
	r.readConversion(f, first)
	for _, u := range upgrades[1:] {
		u.Old, u.OldPos, u.New, u.NewPos, u.Fails = first.Old, first.OldPos, first.New, first.NewPos, first.Fails
	}
	r.out.Upgrades = append(r.out.Upgrades, upgrades...)
}

// readConversion fills in what the function takes and returns, unless it is not
// of the form func(Old) (New, error) or func(Old) New.
func (r *reader) readConversion(f *ast.FuncDecl, u *model.Upgrade) {
	if f.Type.TypeParams != nil {
		r.l.Errorf(u.FuncPos, "func %s has type parameters, and an upgrade is for one payload: write a function without them that calls it", u.GoName)
		return
	}
	broken := r.types.errorsIn(f.Type.Pos(), f.Type.End())
	for _, e := range broken {
		r.l.Errorf(r.position(e.Pos), "%s", e.Msg)
	}
	obj, _ := r.unit.Info.Defs[f.Name].(*types.Func)
	if obj == nil || len(broken) > 0 {
		return
	}
	sig := obj.Signature()
	params, results := sig.Params(), sig.Results()
	form := "func " + u.GoName + "(old Old) (New, error)"
	switch {
	case params.Len() != 1 || sig.Variadic():
		r.l.Errorf(r.position(f.Type.Params.Pos()), "func %s must take one old payload: write %s", u.GoName, form)
		return
	case results.Len() == 0:
		r.l.Errorf(u.FuncPos, "func %s returns nothing, and an upgrade makes a new payload: write %s", u.GoName, form)
		return
	case results.Len() > 2 || results.Len() == 2 && !isError(results.At(1).Type()):
		r.l.Errorf(r.position(f.Type.Results.Pos()), "func %s must return the new payload, and an error or nothing more: write %s", u.GoName, form)
		return
	}
	u.Fails = results.Len() == 2
	u.Old, u.OldPos = r.types.of(params.At(0).Type()), r.position(f.Type.Params.List[0].Type.Pos())
	u.New, u.NewPos = r.types.of(results.At(0).Type()), r.position(f.Type.Results.List[0].Type.Pos())
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }
