package source

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/directive"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// readCodec resolves codec=Name: a variable of the package, or a function that
// returns a codec.
func (r *reader) readCodec(t *model.Task, arg *directive.Arg) {
	if arg == nil {
		return
	}
	refuse := func(format string, args ...any) {
		r.l.Errorf(arg.ValuePos, "codec=%s "+format, append([]any{arg.Value}, args...)...)
	}
	switch name := arg.Value; {
	case name == "":
		r.l.Errorf(arg.Pos, "codec needs the name of a variable or function of this package: write codec=Name, or leave it out")
		return
	case !token.IsIdentifier(name):
		other := name[strings.LastIndexAny(name, ".*&([{")+1:]
		if !token.IsIdentifier(other) {
			other = "Codec"
		}
		refuse("is not the name of a variable or function of this package: declare one here, var %s = ..., and write codec=%s", other, other)
		return
	case r.unit.Types.Scope().Lookup(name) == nil:
		refuse("is not declared in this package: declare it, for example as var %s = bullmq.Gzip(1 << 10)", name)
		return
	case !token.IsExported(name):
		refuse("is not exported, so the generated package cannot use it: begin its name with a capital letter")
		return
	}
	c := &model.Codec{GoName: arg.Value, Pos: arg.ValuePos}
	var typ types.Type
	switch obj := r.unit.Types.Scope().Lookup(arg.Value).(type) {
	case *types.Var:
		typ = obj.Type()
	case *types.Func:
		sig := obj.Signature()
		if sig.TypeParams().Len() > 0 || sig.Params().Len() > 0 || sig.Results().Len() != 1 {
			refuse("is a function, at %v, of another form than func() bullmq.Codec: give it no parameters and one result", r.position(obj.Pos()))
			return
		}
		typ, c.Call = sig.Results().At(0).Type(), true
	default:
		refuse("is neither a variable nor a function, at %v: declare var Codec = ..., and write codec=Codec", r.position(obj.Pos()))
		return
	}
	if why := codecProblem(typ); why != "" {
		refuse("%s", why)
		return
	}
	t.Codec = c
}

// codecProblem says why a value of the type is no codec, or "". It looks at the
// methods and not for the interface: who has a codec of his own need not import
// the package that declares that.
func codecProblem(t types.Type) string {
	if invalid(t) {
		return "has a type that is not known: does the package compile?"
	}
	for _, name := range []string{"Encode", "Decode"} {
		want := fmt.Sprintf("%s(text []byte, of bullmq.CodecInfo) ([]byte, error)", name)
		obj, _, pointer := types.LookupFieldOrMethod(t, false, nil, name)
		f, ok := obj.(*types.Func)
		switch {
		case obj == nil && pointer:
			return fmt.Sprintf("has type %s, whose method %s is one of a pointer to it: let it hold a pointer", typeText(t), name)
		case !ok:
			return fmt.Sprintf("has type %s, which is no codec: it lacks the method %s", typeText(t), want)
		case !isCoding(f.Signature()):
			return fmt.Sprintf("has type %s, which is no codec: its method %s is not %s", typeText(t), name, want)
		}
	}
	return ""
}

// isCoding is true for the form of both methods of a codec.
func isCoding(s *types.Signature) bool {
	if s.Params().Len() != 2 || s.Results().Len() != 2 || s.Variadic() {
		return false
	}
	of, ok := types.Unalias(s.Params().At(1).Type()).(*types.Named)
	return ok && of.Obj().Name() == "CodecInfo" && of.Obj().Pkg() != nil && of.Obj().Pkg().Path() == model.RuntimePath &&
		isBytes(s.Params().At(0).Type()) && isBytes(s.Results().At(0).Type()) && isError(s.Results().At(1).Type())
}

func isBytes(t types.Type) bool {
	return types.Identical(t, types.NewSlice(types.Typ[types.Byte]))
}

// typeText is the type with the names of packages.
func typeText(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}
