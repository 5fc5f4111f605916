package templates

import (
	"maps"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/naming"
)

// locals are the names of parameters and of the method receivers in generated
// code. Nothing else gets them, so nothing is ever shadowed.
var locals = []string{"ctx", "c", "h", "opts", "p", "ps", "result", "w"}

// flowLocals are those that only tasks with children need.
var flowLocals = []string{"err", "f", "in"}

// Names are the names in one file that users do not see: those of its imports.
type Names struct {
	imports map[string]imported // by path
}

type imported struct{ name, as string }

// NewNames chooses the names of a package's file in its output. They depend on
// nothing but that package and what people have written into the output: what is
// generated from other packages begins with capitals, as no import does.
func NewNames(o *model.Output, p *model.Package) *Names {
	var scope naming.Scope[struct{}]
	take := func(names []string) {
		for _, name := range names {
			scope.Take(name, struct{}{})
		}
	}
	take(locals)
	if p.Flows() {
		take(flowLocals)
	}
	for _, d := range o.Existing {
		if !d.Ours {
			take([]string{d.Name})
		}
	}
	take(p.Declares())
	for _, q := range p.Queues {
		take(q.Declares())
		for _, t := range q.Tasks {
			take(t.Declares())
		}
	}
	n := &Names{map[string]imported{}}
	n.chooseImports(o, p, &scope)
	return n
}

// chooseImports gives every package that the file may import a name: its own, if
// that is free. Those that all files need come first.
func (n *Names) chooseImports(o *model.Output, p *model.Package, scope *naming.Scope[struct{}]) {
	choose := func(path, name string) {
		if _, known := n.imports[path]; !known && path != o.Path {
			n.imports[path] = imported{name, scope.Free(name, "pkg", struct{}{})}
		}
	}
	choose("context", "context")
	choose("time", "time")
	if p.Flows() {
		choose("errors", "errors")
	}
	choose(model.RuntimePath, model.RuntimeName)
	choose(p.Path, p.Name)
	others := map[string]string{}
	for _, t := range p.Tasks {
		packagesOf(t.Payload, o.Path, others)
		packagesOf(t.Result, o.Path, others)
		for _, field := range t.Payload.Actual().Fields {
			packagesOf(field.Type, o.Path, others)
		}
		packagesOfSlots(t, o.Path, others)
		for _, u := range t.Upgrades {
			packagesOf(u.Old, o.Path, others)
			for _, field := range u.Old.Actual().Fields {
				packagesOf(field.Type, o.Path, others)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(others)) {
		choose(path, others[path])
	}
}

// packagesOfSlots adds the packages that a task with children names.
func packagesOfSlots(t *model.Task, from string, packages map[string]string) {
	packagesOf(t.Children, from, packages)
	for _, s := range t.Slots {
		packagesOf(s.Field.Type, from, packages)
		packagesOf(s.Task.Result, from, packages)
		packages[s.Package.Output.Path] = s.Package.Output.Name
	}
}

// packagesOf adds the packages that the type expression t names.
func packagesOf(t *model.Type, from string, packages map[string]string) {
	if t == nil {
		return
	}
	if t.Alias != nil && !t.Nameable(from) {
		packagesOf(t.Alias, from, packages)
		return
	}
	for _, a := range t.Args {
		packagesOf(a, from, packages)
	}
	if t.Name != "" {
		if t.Path != "" {
			packages[t.Path] = t.Package
		}
		return
	}
	packagesOf(t.Key, from, packages)
	packagesOf(t.Elem, from, packages)
	for _, field := range t.Fields {
		packagesOf(field.Type, from, packages)
	}
}

// declare tells jennifer the names of the imports.
func (n *Names) declare(f *jen.File) {
	for path, i := range n.imports {
		if i.name == i.as && path != model.RuntimePath {
			f.ImportName(path, i.name)
		} else {
			f.ImportAlias(path, i.as)
		}
	}
}
