package check

import (
	"go/token"
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/naming"
)

// owner is who declares a name in an output.
type owner struct {
	what string
	pos  token.Position
	// queue is set when the name belongs to a queue.
	queue *model.Queue
	// schedules is set when the name belongs to the schedules of a package.
	schedules *model.Package
}

// Outputs checks what is generated into each package and into all of them.
func Outputs(outputs []*model.Output, l *diag.List) {
	for _, o := range outputs {
		clashes(o, l)
		files(o, l)
		for _, p := range o.Packages {
			reachable(o, p, l)
		}
	}
	sharedQueues(outputs, l)
	foreign(outputs, l)
}

// sharedQueues warns of queues whose tasks go to several outputs. A worker
// takes every job of its queue, so the API of a queue should be whole. It may
// be right for programs that never meet on one server, so it is no error.
func sharedQueues(outputs []*model.Output, l *diag.List) {
	type owned struct {
		q *model.Queue
		p *model.Package
		o *model.Output
	}
	first := map[string]owned{}
	for _, o := range outputs {
		for _, p := range o.Packages {
			for _, q := range p.Queues {
				before, shared := first[q.Name]
				if !shared {
					first[q.Name] = owned{q, p, o}
				} else if before.o != o {
					l.Warnf(q.Pos, "queue %q is used by package %s too, at %v: a worker takes all jobs of its queue, and neither package's handler covers them; move the tasks into one package", q.Name, before.p.Path, before.q.Pos)
				}
			}
		}
	}
}

// clashes reports names that two declarations need.
func clashes(o *model.Output, l *diag.List) {
	var scope naming.Scope[owner]
	for _, d := range o.Existing {
		if naming.Predeclared(d.Name) && len(o.Packages) > 0 {
			l.Errorf(d.Pos, "the output declares %s, which is Go's own and which generated code beside it needs: rename it, or choose another folder with -out", d.Name)
		}
		scope.Take(d.Name, owner{what: "a declaration", pos: d.Pos})
	}
	for _, p := range o.Packages {
		for _, q := range p.Queues {
			for _, t := range q.Tasks {
				take(&scope, t.Declares(), owner{what: "type " + t.GoName, pos: t.TypePos}, l)
			}
		}
	}
	for _, p := range o.Packages {
		for _, q := range p.Queues {
			if q.Ident != "" {
				take(&scope, q.Declares(), owner{what: "queue " + q.Name, pos: q.Pos, queue: q}, l)
			}
		}
		take(&scope, p.Declares(), owner{what: "package " + p.Name + ", which has schedules,", pos: firstSchedule(p), schedules: p}, l)
	}
}

// take takes the names for one owner and reports the first that is taken.
func take(scope *naming.Scope[owner], names []string, by owner, l *diag.List) {
	for _, n := range names {
		holder, ok := scope.Take(n, by)
		if ok {
			continue
		}
		if holder == by {
			l.Errorf(by.pos, "%s needs the name %s for two things in the generated package: rename it", by.what, n)
			return
		}
		if by.queue != nil && holder.queue != nil && by.queue.Name == holder.queue.Name {
			l.Errorf(by.pos, "queue %q is used by two packages with one output, the other at %v: move its tasks into one package, or give the packages different outputs with -out", by.queue.Name, holder.pos)
			return
		}
		if by.schedules != nil && holder.schedules != nil {
			l.Errorf(by.pos, "packages %s and %s both have schedules, at %v and here, but an output has one %s: give them different outputs with -out", holder.schedules.Path, by.schedules.Path, holder.pos, n)
			return
		}
		l.Errorf(by.pos, "%s needs the name %s in the generated package, but %s at %v has it: %s", by.what, n, holder.what, holder.pos, cure(by))
		return
	}
}

// firstSchedule is where the package's first schedule is declared.
func firstSchedule(p *model.Package) token.Position {
	for _, t := range p.Tasks {
		for _, s := range t.Schedules {
			return s.At()
		}
	}
	return token.Position{}
}

func cure(o owner) string {
	if o.schedules != nil {
		return "rename that, or give the package another output with -out"
	}
	if o.queue != nil {
		return "declare the queue under another Go name, //bullmq:queue above const OtherName = \"" + o.queue.Name + "\""
	}
	return "rename one of them"
}

// files reports packages that would write one file.
func files(o *model.Output, l *diag.List) {
	var scope naming.Scope[*model.Package]
	for _, p := range o.Packages {
		name := strings.ToLower(naming.File(p.Name)) // some systems do not tell cases apart
		if other, ok := scope.Take(name, p); !ok {
			l.Errorf(Position(p), "packages %s and %s would both be written to %s: rename one of them, or give them different outputs with -out", other.Path, p.Path, naming.File(p.Name))
		}
	}
}

// Position is where a package's first declaration of ours is.
func Position(p *model.Package) token.Position {
	switch {
	case len(p.Tasks) > 0:
		return p.Tasks[0].TypePos
	case len(p.Queues) > 0:
		return p.Queues[0].Pos
	}
	return p.Upgrades[0].Pos
}

// reachable reports types that the output cannot import.
func reachable(o *model.Output, p *model.Package, l *diag.List) {
	if p.Name == "main" {
		l.Errorf(Position(p), "package main cannot be imported by generated code: move the annotated types to a package of their own")
		return
	}
	if !model.Visible(p.Path, o.Path) {
		l.Errorf(Position(p), "package %s is internal and cannot be imported from the output %s: choose an output beside it with -out", p.Path, o.Path)
		return
	}
	for _, t := range p.Tasks {
		if t.Result != nil {
			unreachable(t.Result, o, t.ResultPos, l)
		}
		for _, u := range t.Upgrades {
			unreachable(u.Old, o, u.OldPos, l)
		}
	}
}

// unreachable reports the first part of a type expression that cannot be named.
func unreachable(t *model.Type, o *model.Output, pos token.Position, l *diag.List) bool {
	switch {
	case t == nil:
		return false
	case t.Alias != nil && !t.Nameable(o.Path):
		return unreachable(t.Alias, o, pos, l)
	case t.Path != "" && !token.IsExported(t.Name):
		l.Errorf(pos, "type %s is not exported, so the generated package cannot name it: begin its name with a capital letter", t)
		return true
	case t.Path != "" && !t.Nameable(o.Path):
		l.Errorf(pos, "type %s is in an internal package that the output %s cannot import: declare an alias for it here, type %s = %s", t, o.Path, t.Name, t)
		return true
	}
	parts := t.Args
	if t.Name == "" {
		parts = append(parts, t.Key, t.Elem)
		for _, f := range t.Fields {
			if !f.Exported {
				l.Errorf(pos, "the struct has a field %s that is not exported: declare a type for it, and write its name", f.Name)
				return true
			}
			parts = append(parts, f.Type)
		}
	}
	return slices.ContainsFunc(parts, func(p *model.Type) bool { return unreachable(p, o, pos, l) })
}
