package source

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// Unit is a package that is parsed and type-checked, by Load or by somebody
// else, such as an editor.
type Unit struct {
	Dir    string // absolute
	Module Module
	// Beside is true for a package that is no part of the run, and is read for what
	// others use of it.
	Beside bool
	Fset   *token.FileSet
	Files  []*ast.File
	Types  *types.Package
	Info   *types.Info
	// Errors are those of the type checker. They matter where they touch a
	// declaration of ours.
	Errors []types.Error
	// Said is what the go command says about the package and its imports. It
	// explains those that cannot be imported.
	Said []string
}

// Read describes the packages among the units that declare something of ours.
// All units have one Fset.
func Read(units []*Unit, l *diag.List) []*model.Package {
	return newTypes(units).read(units, l)
}

// read describes those of the units that declare something of ours.
func (r *typeReader) read(units []*Unit, l *diag.List) []*model.Package {
	var described []*model.Package
	for _, u := range units {
		if p := newReader(u, r, l).read(); p != nil {
			described = append(described, p)
		}
	}
	return described
}
