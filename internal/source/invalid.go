package source

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// invalid is true when the type checker made nothing of a type expression.
// It does not look into declared types: those are reported where they are
// declared.
func invalid(t types.Type) bool {
	switch t := t.(type) {
	case *types.Basic:
		return t.Kind() == types.Invalid
	case *types.Pointer:
		return invalid(t.Elem())
	case *types.Slice:
		return invalid(t.Elem())
	case *types.Array:
		return invalid(t.Elem()) || t.Len() < 0
	case *types.Map:
		return invalid(t.Key()) || invalid(t.Elem())
	case *types.Chan:
		return invalid(t.Elem())
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			if invalid(arg) {
				return true
			}
		}
	}
	return false
}

// whyField is the type checker's word about a field's type.
func (r *typeReader) whyField(decl *ast.Field) string {
	if decl == nil {
		return "its package does not compile"
	}
	return r.why(decl)
}

// whyNamed is the type checker's word about a declared type.
func (r *typeReader) whyNamed(t types.Type) string {
	named, ok := t.(*types.Named)
	if !ok {
		return ""
	}
	if spec := r.specs[named.Obj().Pos()]; spec != nil {
		return r.why(spec)
	}
	return "its package does not compile"
}

// why looks for an error within n, and then for an import that failed: the
// type checker says nothing more about names of a package that is missing.
func (r *typeReader) why(n ast.Node) string {
	if found := r.errorsIn(n.Pos(), n.End()); len(found) > 0 {
		return found[0].Msg
	}
	if failed := r.failedImports(n.Pos(), ""); len(failed) > 0 {
		return r.whyImport(failed[0])
	}
	return "the type checker cannot tell what it is; does the package compile?"
}

// whyImport replaces the type checker's word about an import by that of the
// go command, which knows the reason.
func (r *typeReader) whyImport(message string) string {
	if hint := tooOld(message); hint != "" {
		return message + "; " + hint
	}
	_, path, _ := strings.Cut(message, "could not import ")
	path, _, _ = strings.Cut(path, " ")
	for _, said := range r.said {
		if strings.Contains(said, path) {
			return said
		}
	}
	return message
}

// errorsIn returns the type checker's errors in a range. Those that only
// explain the one before are left out.
func (r *typeReader) errorsIn(from, to token.Pos) []types.Error {
	var found []types.Error
	for _, e := range r.errors {
		if from <= e.Pos && e.Pos <= to && !strings.HasPrefix(e.Msg, "\t") {
			e.Msg = r.undefined(e)
			found = append(found, e)
		}
	}
	return found
}

// undefined is the message of an error. If that is about what stands before a dot,
// and a package cannot be imported, it says so: the type checker does not know what
// a missing package calls itself.
func (r *typeReader) undefined(e types.Error) string {
	name, ok := strings.CutPrefix(e.Msg, "undefined: ")
	if !ok || !r.qualified[e.Pos] {
		return e.Msg
	}
	return r.undefinedPackage(name, e.Pos)
}

// undefinedPackage is the message about a name that stands before a dot.
func (r *typeReader) undefinedPackage(name string, at token.Pos) string {
	message := "undefined: " + name
	if failed := r.failedImports(at, name); len(failed) > 0 {
		message += ", which may be the name of a package that cannot be imported: " + r.whyImport(failed[0])
	}
	return message
}

// failedImports are the messages about imports of a file that failed, those first
// whose path has the name in it.
func (r *typeReader) failedImports(at token.Pos, name string) []string {
	var found []string
	for _, e := range r.errors {
		if !strings.Contains(e.Msg, "could not import") || r.fset.File(e.Pos) != r.fset.File(at) {
			continue
		}
		path, _, _ := strings.Cut(strings.TrimPrefix(e.Msg, "could not import "), " ")
		if strings.Contains(path, name) {
			found = slices.Insert(found, 0, e.Msg)
		} else {
			found = append(found, e.Msg)
		}
	}
	return found
}
