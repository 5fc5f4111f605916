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
	Dir   string // absolute
	Fset  *token.FileSet
	Files []*ast.File
	Types *types.Package
	Info  *types.Info
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
	known := newTypes(units)
	var described []*model.Package
	for _, u := range units {
		if p := newReader(u, known, l).read(); p != nil {
			described = append(described, p)
		}
	}
	return described
}
