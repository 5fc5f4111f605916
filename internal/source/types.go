package source

import (
	"cmp"
	"go/ast"
	"go/build"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// typeReader turns go/types into the model's types. It makes one value of
// each declared type, so that recursive types end.
type typeReader struct {
	fset *token.FileSet
	// loaded are the packages whose source is there, by path: true for those of
	// the run, in which something can be reported.
	loaded map[string]bool
	// missing are packages that declare types which are described here, or tasks
	// of children, and whose source is not there.
	missing map[string]bool
	// children are packages that have tasks of children, as far as is known.
	children map[string]bool
	fields   map[token.Pos]*ast.Field    // by the position of the name, in loaded packages
	specs    map[token.Pos]*ast.TypeSpec // likewise
	docs     map[token.Pos]string        // of types, likewise
	// qualified are the positions of what stands before a dot.
	qualified map[token.Pos]bool
	errors    []types.Error
	said      []string // what the go command says about the packages

	known   typeutil.Map // of *model.Type
	aliases map[*types.Alias]*model.Type
	locks   map[types.Type]string
	// instances are those of generic types on the way from the type that is
	// described to the one that is looked at.
	instances map[*types.TypeName][]instance
}

func newTypes(units []*Unit) *typeReader {
	r := &typeReader{
		loaded: map[string]bool{}, missing: map[string]bool{}, children: map[string]bool{},
		fields:    map[token.Pos]*ast.Field{},
		specs:     map[token.Pos]*ast.TypeSpec{},
		docs:      map[token.Pos]string{},
		qualified: map[token.Pos]bool{},
		aliases:   map[*types.Alias]*model.Type{},
		locks:     map[types.Type]string{},
		instances: map[*types.TypeName][]instance{},
	}
	for _, u := range units {
		r.fset = u.Fset
		r.loaded[u.Types.Path()] = !u.Beside
		r.errors = append(r.errors, u.Errors...)
		r.said = append(r.said, u.Said...)
		for _, file := range u.Files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.StructType:
					r.noteFields(n)
				case *ast.SelectorExpr:
					r.qualified[n.X.Pos()] = true
				case *ast.GenDecl:
					r.noteDocs(n)
				}
				return true
			})
		}
	}
	return r
}

func (r *typeReader) noteFields(s *ast.StructType) {
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			r.fields[name.Pos()] = f
		}
		if len(f.Names) == 0 {
			if name := embeddedName(f.Type); name != nil {
				r.fields[name.Pos()] = f
			}
		}
	}
}

// embeddedName is the identifier that go/types takes for an embedded field.
func embeddedName(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.StarExpr:
		return embeddedName(e.X)
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return embeddedName(e.X)
	case *ast.IndexListExpr:
		return embeddedName(e.X)
	case *ast.ParenExpr:
		return embeddedName(e.X)
	}
	return nil
}

func (r *typeReader) noteDocs(d *ast.GenDecl) {
	for _, s := range d.Specs {
		if t, ok := s.(*ast.TypeSpec); ok {
			r.specs[t.Name.Pos()] = t
			r.docs[t.Name.Pos()] = docOf(d, t.Doc).Text()
		}
	}
}

// docOf is the comment of a spec: its own, or that of a declaration without
// parentheses.
func docOf(d *ast.GenDecl, own *ast.CommentGroup) *ast.CommentGroup {
	if own == nil && !d.Lparen.IsValid() {
		return d.Doc
	}
	return own
}

// of returns the model of t.
func (r *typeReader) of(t types.Type) *model.Type {
	if a, ok := t.(*types.Alias); ok {
		return r.alias(a)
	}
	m := &model.Type{}
	if n, ok := t.(*types.Named); ok {
		if known := r.known.At(t); known != nil {
			return known.(*model.Type)
		}
		r.known.Set(t, m)
		r.name(m, n.Obj(), n.TypeArgs(), n.TypeParams())
		if isRawMessage(t) { // one name with every Go version, so that one source gives one output
			m.Name, m.Path, m.Package = "RawMessage", "encoding/json", "json"
		}
	}
	leave, ends := r.enter(t)
	defer leave()
	if !ends {
		m.Why = "the type has no end: it needs ever more type arguments"
		return m
	}
	r.structure(m, t)
	if m.Kind == model.Invalid {
		m.Why = r.whyNamed(t)
	}
	m.Methods = methodsOf(t)
	m.Lock = r.lockIn(t)
	if n, ok := t.(*types.Named); ok && !m.SelfMade() && r.want(n.Obj().Pkg(), m.Kind) && m.Kind == model.String {
		m.Consts = constsOf(n)
	}
	return m
}

// want notes that a package declares a type of a kind that is described with its
// comments or its constants, and is true when they are at hand. Those of the
// standard library are left out: they differ from one Go release to the next.
func (r *typeReader) want(p *types.Package, k model.Kind) bool {
	switch k {
	case model.Struct, model.Slice, model.Array, model.Map, model.String:
	default:
		return false
	}
	if p == nil || p.Path() == model.RuntimePath || isStandard(p.Path()) {
		return false
	}
	_, there := r.loaded[p.Path()]
	if !there {
		r.missing[p.Path()] = true
	}
	return there
}

// wantTasks notes that the type of a slot is declared in p.
func (r *typeReader) wantTasks(p *types.Package) {
	if p == nil || r.children[p.Path()] || isStandard(p.Path()) {
		return
	}
	r.children[p.Path()] = true
	if _, there := r.loaded[p.Path()]; !there {
		r.missing[p.Path()] = true
	}
}

// isStandard is true for packages of the standard library.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	if strings.Contains(first, ".") {
		return false
	}
	p, err := build.Default.Import(path, "", build.FindOnly)
	return err == nil && p.Goroot
}

func (r *typeReader) alias(a *types.Alias) *model.Type {
	if known := r.aliases[a]; known != nil {
		return known
	}
	if obj := a.Obj(); obj.Name() == "RawMessage" && obj.Pkg() != nil && obj.Pkg().Path() == "encoding/json" {
		return r.of(a.Rhs())
	}
	m := &model.Type{}
	r.aliases[a] = m
	r.name(m, a.Obj(), a.TypeArgs(), a.TypeParams())
	m.Alias = r.of(a.Rhs())
	m.Kind = m.Alias.Kind
	return m
}

func (r *typeReader) name(m *model.Type, obj *types.TypeName, args *types.TypeList, params *types.TypeParamList) {
	m.Name, m.Pos, m.Doc = obj.Name(), r.fset.Position(obj.Pos()), r.docs[obj.Pos()]
	if p := obj.Pkg(); p != nil {
		m.Path, m.Package = p.Path(), p.Name()
	}
	for arg := range args.Types() {
		m.Args = append(m.Args, r.of(arg))
	}
	m.Params = params.Len() - args.Len()
}

// structure fills in what t is made of, below its name.
func (r *typeReader) structure(m *model.Type, t types.Type) {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		m.Kind, m.Basic = basicKind(u), basicName(u)
	case *types.Pointer:
		m.Kind, m.Elem = model.Pointer, r.of(u.Elem())
	case *types.Slice:
		m.Kind, m.Elem = model.Slice, r.of(u.Elem())
	case *types.Array:
		m.Kind, m.Elem, m.Len = model.Array, r.of(u.Elem()), u.Len()
	case *types.Map:
		m.Kind, m.Key, m.Elem = model.Map, r.of(u.Key()), r.of(u.Elem())
	case *types.Chan:
		m.Kind, m.Elem = model.Chan, r.of(u.Elem())
	case *types.Signature:
		m.Kind = model.Func
	case *types.Interface:
		m.Kind, m.Open = model.Interface, u.Empty()
		if _, ok := t.(*types.TypeParam); ok {
			m.Kind = model.TypeParam
		}
	case *types.Struct:
		m.Kind = model.Struct
		for i := range u.NumFields() {
			m.Fields = append(m.Fields, r.field(u.Field(i), u.Tag(i)))
		}
	}
}

// basicName is the one name that is used of a type with two.
func basicName(b *types.Basic) string {
	switch b.Kind() {
	case types.Byte:
		return "byte"
	case types.Int32: // or rune
		return "int32"
	case types.UnsafePointer:
		return "unsafe.Pointer"
	}
	return b.Name()
}

func basicKind(b *types.Basic) model.Kind {
	switch info := b.Info(); {
	case info&types.IsBoolean != 0:
		return model.Bool
	case info&types.IsInteger != 0:
		return model.Int
	case info&types.IsFloat != 0:
		return model.Float
	case info&types.IsComplex != 0:
		return model.Complex
	case info&types.IsString != 0:
		return model.String
	case b.Kind() == types.UnsafePointer:
		return model.UnsafePointer
	}
	return model.Invalid
}

func (r *typeReader) field(v *types.Var, tag string) *model.Field {
	f := &model.Field{
		Name: v.Name(), Embedded: v.Embedded(), Exported: v.Exported(),
		Tag: tag, Pos: r.fset.Position(v.Pos()),
	}
	decl := r.fields[v.Pos()]
	f.Source = decl != nil && r.loaded[v.Pkg().Path()]
	f.TagPos = f.Pos
	raw := false
	if decl != nil {
		f.Doc = decl.Doc.Text()
		if decl.Tag != nil {
			f.TagPos = r.fset.Position(decl.Tag.Pos() + 1)
			raw = strings.HasPrefix(decl.Tag.Value, "`")
		}
	}
	f.Words = tagWords(tag, f.TagPos, raw)
	if f.Exported || f.Embedded || f.Source {
		f.Type = r.of(v.Type())
		if invalid(v.Type()) {
			f.Type = &model.Type{Why: r.whyField(decl)}
		}
	}
	return f
}

// constsOf returns the values of the exported constants of a string type, each
// once.
func constsOf(n *types.Named) []string {
	if n.Obj().Pkg() == nil {
		return nil
	}
	var values []string
	scope := n.Obj().Pkg().Scope()
	for _, name := range scope.Names() {
		c, ok := scope.Lookup(name).(*types.Const)
		if !ok || !c.Exported() || !types.Identical(c.Type(), n) {
			continue
		}
		if v := constant.StringVal(c.Val()); c.Val().Kind() == constant.String && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// methodsOf finds the methods that encoding/json looks for.
func methodsOf(t types.Type) model.Methods {
	var m model.Methods
	if _, ok := t.Underlying().(*types.Interface); ok {
		return m // nothing can be decoded into it
	}
	from := map[string]string{} // by method
	for _, want := range []struct {
		name            string
		params, results int
		found           *bool
	}{
		{"MarshalJSON", 0, 2, &m.MarshalJSON},
		{"UnmarshalJSON", 1, 1, &m.UnmarshalJSON},
		{"MarshalText", 0, 2, &m.MarshalText},
		{"UnmarshalText", 1, 1, &m.UnmarshalText},
		{"MarshalJSONTo", 1, 1, &m.MarshalJSONTo},
		{"UnmarshalJSONFrom", 1, 1, &m.UnmarshalJSONFrom},
	} {
		obj, path, _ := types.LookupFieldOrMethod(t, true, nil, want.name)
		f, ok := obj.(*types.Func)
		if !ok || f.Signature().Params().Len() != want.params || f.Signature().Results().Len() != want.results {
			continue
		}
		*want.found = true
		if s, ok := t.Underlying().(*types.Struct); ok && len(path) > 1 {
			from[want.name] = s.Field(path[0]).Name()
		}
	}
	m.From = cmp.Or(from[used("MarshalJSON", m.MarshalJSON, "MarshalText")], from[used("UnmarshalJSON", m.UnmarshalJSON, "UnmarshalText")])
	return m
}

// used is the one of two methods that encoding/json calls.
func used(first string, has bool, second string) string {
	if has {
		return first
	}
	return second
}
