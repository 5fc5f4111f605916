package templates

import (
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// typ writes a type. Aliases keep their names where those can be written.
func (f *file) typ(t *model.Type) *jen.Statement {
	switch {
	case t.Alias != nil && !t.Nameable(f.out.Path):
		return f.typ(t.Alias)
	case t.Name != "" && t.Path == "":
		return jen.Id(t.Name)
	case t.Name != "":
		s := jen.Qual(t.Path, t.Name)
		if len(t.Args) > 0 {
			s.TypesFunc(func(g *jen.Group) {
				for _, a := range t.Args {
					g.Add(f.typ(a))
				}
			})
		}
		return s
	}
	switch t.Kind {
	case model.Pointer:
		return jen.Op("*").Add(f.typ(t.Elem))
	case model.Slice:
		return jen.Index().Add(f.typ(t.Elem))
	case model.Array:
		return jen.Index(jen.Lit(int(t.Len))).Add(f.typ(t.Elem))
	case model.Map:
		return jen.Map(f.typ(t.Key)).Add(f.typ(t.Elem))
	case model.Struct:
		return jen.StructFunc(func(g *jen.Group) { f.fields(g, t) })
	case model.Interface:
		return jen.Any()
	}
	return jen.Id(t.Basic)
}

func (f *file) fields(g *jen.Group, t *model.Type) {
	for _, field := range t.Fields {
		s := f.typ(field.Type)
		if !field.Embedded {
			s = jen.Id(field.Name).Add(s)
		}
		if field.Tag != "" {
			s.Op(tagLiteral(field.Tag))
		}
		g.Add(s)
	}
}

func tagLiteral(tag string) string {
	if strings.ContainsAny(tag, "`\r") || !strconv.CanBackquote(tag) {
		return strconv.Quote(tag)
	}
	return "`" + tag + "`"
}

// writable is true when typ writes exactly this type.
func (f *file) writable(t *model.Type) bool {
	switch {
	case t == nil || t.Kind == model.Invalid:
		return false
	case t.Alias != nil && !t.Nameable(f.out.Path):
		return f.writable(t.Alias)
	case t.Name != "":
		for _, a := range t.Args {
			if !f.writable(a) {
				return false
			}
		}
		return t.Nameable(f.out.Path)
	}
	switch t.Kind {
	case model.Pointer, model.Slice, model.Array:
		return f.writable(t.Elem)
	case model.Map:
		return f.writable(t.Key) && f.writable(t.Elem)
	case model.Struct:
		return f.writableFields(t)
	case model.Interface:
		return t.Open
	case model.Chan, model.Func, model.TypeParam, model.UnsafePointer:
		return false
	}
	return true
}

func (f *file) writableFields(t *model.Type) bool {
	for _, field := range t.Fields {
		if !field.Exported || !f.writable(field.Type) {
			return false
		}
		if e := field.Type; field.Embedded && e.Alias != nil && !e.Nameable(f.out.Path) {
			return false // its field would have another name
		}
	}
	return true
}
