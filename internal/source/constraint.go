package source

import (
	"go/ast"
	"go/build/constraint"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/naming"
)

// constrained is a file with declarations of ours and its build constraint.
type constrained struct {
	pos  token.Position
	expr string // "" when the file has none
}

// constraintOf puts together when the go command reads the file: its
// //go:build line, its name, and cgo.
func (r *reader) constraintOf(file *ast.File) constrained {
	c := constrained{pos: r.position(file.Package)}
	var parts []string
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			break
		}
		for _, line := range group.List {
			if expr, err := constraint.Parse(line.Text); err == nil && constraint.IsGoBuild(line.Text) {
				parts = append(parts, operand(expr))
			}
		}
	}
	parts = append(parts, nameConstraint(filepath.Base(c.pos.Filename))...)
	// What was parsed of a file that imports C is what cgo made of it.
	if !slices.Contains(r.pkg.GoFiles, r.pkg.Fset.File(file.Package).Name()) {
		parts = append(parts, "cgo")
	}
	c.expr = strings.Join(parts, " && ")
	return c
}

func operand(e constraint.Expr) string {
	if _, or := e.(*constraint.OrExpr); or {
		return "(" + e.String() + ")"
	}
	return e.String()
}

// nameConstraint returns the operating system and the architecture that a
// file's name asks for.
func nameConstraint(file string) []string {
	stem, _, _ := strings.Cut(file, ".")
	parts := strings.Split(stem, "_")
	n := len(parts)
	if naming.Portable(file) {
		return nil
	}
	if n > 2 && !naming.Portable("x_"+parts[n-2]+"_"+parts[n-1]+".go") && !naming.Portable("x_"+parts[n-2]+".go") {
		return parts[n-2:]
	}
	return parts[n-1:]
}

// commonConstraint returns the constraint that all files with declarations of
// ours have. The generated file gets it too, so there can be only one.
func (r *reader) commonConstraint() string {
	first := r.constraints[0]
	for _, c := range r.constraints[1:] {
		if c.expr != first.expr {
			odd := c
			if odd.expr == "" {
				odd = first
			}
			r.l.Errorf(odd.pos, "this file is built only for %s, but other files with directives of this package are not: move the annotated types to files without build constraints, or to a package of their own", odd.expr)
			return ""
		}
	}
	if e, err := constraint.Parse("//go:build " + first.expr); err == nil && first.expr != "" {
		return e.String() // without needless parentheses
	}
	return ""
}
