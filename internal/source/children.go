package source

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/bullmq-gen/bullmq-gen/internal/directive"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// readChildren resolves children=T.
func (r *reader) readChildren(s *ast.TypeSpec, t *model.Task, arg *directive.Arg) {
	if arg == nil {
		return
	}
	t.ChildrenPos = arg.ValuePos
	found, failed := r.typeIn(s, arg, "its jobs wait for no others")
	if found == nil || failed {
		return
	}
	t.Children = r.types.of(found)
	r.wantSlots(found)
	for found != nil {
		r.reportFields(found)
		alias, ok := found.(*types.Alias)
		if !ok {
			return
		}
		found = alias.Rhs()
	}
}

// wantSlots notes which packages the types of the slots are declared in.
func (r *reader) wantSlots(t types.Type) {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for f := range s.Fields() {
		t := f.Type()
		for {
			if a, ok := t.(*types.Alias); ok {
				r.types.wantTasks(a.Obj().Pkg())
				t = a.Rhs()
				continue
			}
			inner, ok := t.(interface{ Elem() types.Type }) // *T, []T, map[string]T
			if !ok {
				break
			}
			t = inner.Elem()
		}
		if n, ok := t.(*types.Named); ok {
			r.types.wantTasks(n.Obj().Pkg())
		}
	}
}

// reportFields reports what the type checker says of a declared struct beside
// the types of its fields, such as that two have one name. Errors in those types
// are part of the model.
func (r *reader) reportFields(t types.Type) {
	declared, ok := t.(interface{ Obj() *types.TypeName })
	if !ok {
		return
	}
	spec := r.types.specs[declared.Obj().Pos()]
	if spec == nil {
		return
	}
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, e := range r.types.errorsIn(s.Pos(), s.End()) {
		inType := func(f *ast.Field) bool { return within(e.Pos, f.Type) }
		if !slices.ContainsFunc(s.Fields.List, inType) {
			r.l.Errorf(r.position(e.Pos), "%s", e.Msg)
		}
	}
}

func within(pos token.Pos, n ast.Node) bool { return n.Pos() <= pos && pos <= n.End() }
