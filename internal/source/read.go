package source

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/directive"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// reader makes the model of one package.
type reader struct {
	unit  *Unit
	types *typeReader
	l     *diag.List
	out   *model.Package
	// constraints are the build constraints of files with declarations of ours.
	constraints []constrained
}

// above are the directives above a declaration.
type above struct {
	lines []*directive.Directive
	// what the declaration is, in words.
	what string
}

func newReader(u *Unit, t *typeReader, l *diag.List) *reader {
	return &reader{unit: u, types: t, l: l, out: &model.Package{
		Path: u.Types.Path(), Name: u.Types.Name(), Dir: u.Dir,
	}}
}

// read returns the model, or nil when the package declares nothing of ours.
func (r *reader) read() *model.Package {
	for _, file := range r.unit.Files {
		if isOurs(file) {
			continue
		}
		for _, s := range file.Imports {
			r.out.Imports = append(r.out.Imports, model.Import{Path: strings.Trim(s.Path.Value, "\"`"), Pos: r.position(s.Pos())})
		}
		before := r.declared()
		r.readFile(file)
		if r.declared() > before {
			r.constraints = append(r.constraints, r.constraintOf(file))
		}
	}
	if r.declared() == 0 {
		return nil
	}
	r.out.Constraint = r.commonConstraint()
	return r.out
}

// declared is how many declarations of ours were read.
func (r *reader) declared() int { return len(r.out.Tasks) + len(r.out.Queues) + len(r.out.Upgrades) }

func (r *reader) position(p token.Pos) token.Position { return r.unit.Fset.Position(p) }

func (r *reader) readFile(file *ast.File) {
	attached := map[*ast.CommentGroup]*above{}
	for _, d := range file.Decls {
		r.attach(d, attached)
	}
	for _, group := range file.Comments {
		found := r.directives(group)
		if a := attached[group]; a != nil && a.what == "" {
			a.lines = found
			continue
		}
		for _, d := range found {
			r.misplaced(d, attached[group])
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if a := attached[d.Doc]; a != nil && len(a.lines) > 0 {
				r.readFunc(d, a.lines)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				r.readSpec(d, s, attached)
			}
		}
	}
}

// directives parses the lines of a comment.
func (r *reader) directives(group *ast.CommentGroup) []*directive.Directive {
	var found []*directive.Directive
	for _, c := range group.List {
		if d := directive.Parse(r.unit.Fset, c, r.l); d != nil && d.Known(r.l) {
			found = append(found, d)
		}
	}
	return found
}

// attach notes which comments stand above which declarations.
func (r *reader) attach(d ast.Decl, attached map[*ast.CommentGroup]*above) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		a := &above{}
		if d.Recv != nil {
			a.what = "a method"
		}
		attached[d.Doc] = a
	case *ast.GenDecl:
		if d.Lparen.IsValid() {
			attached[d.Doc] = &above{what: "a group of declarations: write it above one of them, inside the parentheses"}
		}
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				attached[docOf(d, s.Doc)] = &above{}
			case *ast.ValueSpec:
				a := &above{}
				if d.Tok == token.VAR {
					a.what = "a variable"
				}
				attached[docOf(d, s.Doc)] = a
			}
		}
	}
	delete(attached, nil)
}

func (r *reader) misplaced(d *directive.Directive, a *above) {
	place := "a type"
	switch d.Name {
	case "queue":
		place = "a string constant"
	case "upgrade":
		place = "a function"
	}
	if a == nil {
		r.l.Errorf(d.Pos, "%s must stand directly above the declaration of %s at package level, with no blank line between", d, place)
		return
	}
	r.l.Errorf(d.Pos, "%s belongs above %s, not above %s", d, place, a.what)
}

func (r *reader) readSpec(g *ast.GenDecl, s ast.Spec, attached map[*ast.CommentGroup]*above) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		doc := docOf(g, s.Doc)
		if a := attached[doc]; a != nil && len(a.lines) > 0 {
			r.readType(s, doc.Text(), a.lines)
		}
	case *ast.ValueSpec:
		doc := docOf(g, s.Doc)
		if a := attached[doc]; a != nil && len(a.lines) > 0 && g.Tok == token.CONST {
			r.readConst(s, doc.Text(), a.lines)
		}
	}
}

func (r *reader) readConst(s *ast.ValueSpec, doc string, lines []*directive.Directive) {
	for _, d := range lines {
		if d.Name != "queue" {
			r.misplaced(d, &above{what: "a constant"})
			continue
		}
		if len(s.Names) > 1 {
			r.l.Errorf(d.Pos, "%s must stand above a single constant: declare %s and the others one by one", d, s.Names[0].Name)
			continue
		}
		name := s.Names[0]
		q := &model.Queue{GoName: name.Name, Doc: doc, Pos: r.position(name.Pos())}
		d.ReadQueue(q, r.l)
		if r.constValue(s, q) {
			r.out.Queues = append(r.out.Queues, q)
		}
		break // a second one is reported below
	}
	r.once(lines)
}

// constValue puts the constant's value into q.
func (r *reader) constValue(s *ast.ValueSpec, q *model.Queue) bool {
	c, _ := r.unit.Info.Defs[s.Names[0]].(*types.Const)
	if c == nil || c.Val().Kind() != constant.String {
		why := "its value is not a string"
		if found := r.types.errorsIn(s.Pos(), s.End()); len(found) > 0 {
			why = found[0].Msg
		}
		r.l.Errorf(q.Pos, "the queue's name %s must be a string constant: %s", q.GoName, why)
		return false
	}
	q.Name = constant.StringVal(c.Val())
	if err := directive.QueueProblem(q.Name); err != nil {
		r.l.Errorf(q.Pos, "%v", err)
		return false
	}
	return true
}

// once reports directives that stand above one declaration twice.
func (r *reader) once(lines []*directive.Directive) {
	seen := map[string]bool{}
	for _, d := range lines {
		if seen[d.Name] && d.Name != "alias" && d.Name != "schedule" && d.Name != "upgrade" {
			hint := "write it once, with all its keys"
			if d.Name == "task" {
				hint = "for a second task declare a second type, which may be an alias: type Other = This"
			}
			r.l.Errorf(d.Pos, "%s stands above this declaration twice: %s", d, hint)
		}
		seen[d.Name] = true
	}
}
