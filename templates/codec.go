package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// codec is a function that returns the codec: the variable may be set, or what
// the function needs, after package variables were.
func (f *file) codec(c *model.Codec) *jen.Statement {
	value := jen.Qual(f.pkg.Path, c.GoName)
	if c.Call {
		value.Call()
	}
	return jen.Func().Params().Add(runtime("Codec")).Block(jen.Return(value))
}
