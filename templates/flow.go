package templates

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// flow writes what makes jobs of the task parts of flows.
func (f *file) flow(q *model.Queue, t *model.Task) {
	if t.Parent() {
		f.flowStruct(t)
		f.resultsStruct(t)
	}
	if t.Grows() {
		f.addChildren(t)
	}
	if t.Node() {
		f.node(q, t)
	}
}

// node writes the type of the task's jobs in flows, and what makes them.
func (f *file) node(q *model.Queue, t *model.Task) {
	name, deprecated := t.GoName+"Node", model.Deprecation(t.Doc)
	f.say(prose(fmt.Sprintf("%s is a job of task %s in a flow.", name, called(t.Name)), deprecated))
	f.Type().Id(name).Struct(jen.Op("*").Add(runtime("Node")))
	f.Line()

	params := []jen.Code{jen.Id("p").Add(f.payload(t))}
	method, args := "Node", []jen.Code{jen.Id("p")}
	what := fmt.Sprintf("Flow%s makes a job of task %s for a flow, on queue %s. It does not add the job.", t.GoName, called(t.Name), called(q.Name))
	if t.Parent() {
		params = append(params, jen.Id("f").Id(t.GoName+"Flow"))
		method, args = "NodeWith", append(args, jen.Id("f").Dot("slots").Call())
		what = fmt.Sprintf("Flow%s makes a job of task %s for a flow, on queue %s, with the children that it waits for. It does not add the job.", t.GoName, called(t.Name), called(q.Name))
	}
	params = append(params, jen.Id("opts").Op("...").Add(runtime("NodeOption")))
	args = append(args, jen.Id("opts").Op("..."))
	f.say(prose(what, deprecated))
	f.Func().Id("Flow" + t.GoName).Params(params...).Id(name).
		Block(jen.Return(jen.Id(name).Values(jen.Id(t.Var()).Dot(method).Call(args...))))
	f.Line()
}

// slotForm is what the kinds of slots look like in Go, and in the runtime.
var slotForm = map[model.SlotKind]struct {
	spec, child, read, comment string
	of                         func(elem *jen.Statement) *jen.Statement
}{
	model.One: {"SlotOne", "OneChild", "ReadOne", "exactly one",
		func(elem *jen.Statement) *jen.Statement { return elem }},
	model.Optional: {"SlotOptional", "OptionalChild", "ReadOptional", "one or none",
		func(elem *jen.Statement) *jen.Statement { return jen.Op("*").Add(elem) }},
	model.Many: {"SlotMany", "ManyChildren", "ReadMany", "any number",
		func(elem *jen.Statement) *jen.Statement { return jen.Index().Add(elem) }},
	model.Keyed: {"SlotKeyed", "KeyedChildren", "ReadKeyed", "any number, by key",
		func(elem *jen.Statement) *jen.Statement { return jen.Map(jen.String()).Add(elem) }},
}

// flowStruct writes the struct that holds the children to be added.
func (f *file) flowStruct(t *model.Task) {
	name := t.GoName + "Flow"
	f.say(prose(fmt.Sprintf("%s holds the children of a new job of task %s.", name, called(t.Name)), ""))
	f.Type().Id(name).StructFunc(func(g *jen.Group) {
		for _, s := range t.Slots {
			if s.Field.Doc != "" {
				for _, line := range prose(s.Field.Doc, "") {
					g.Comment(line)
				}
			}
			form := slotForm[s.Kind]
			node := jen.Qual(s.Package.Output.Path, s.Task.GoName+"Node")
			g.Id(s.Field.Name).Add(form.of(node)).Comment("// " + form.comment)
		}
	})
	f.Line()
	f.Func().Params(jen.Id("f").Id(name)).Id("slots").Params().Index().Add(runtime("Slot")).Block(
		jen.Return(jen.Index().Add(runtime("Slot")).CustomFunc(members, func(g *jen.Group) {
			for _, s := range t.Slots {
				g.Add(runtime(slotForm[s.Kind].child)).Call(jen.Lit(s.Name), jen.Id("f").Dot(s.Field.Name))
			}
		})),
	)
	f.Line()
}

// resultsStruct writes the struct that holds what the children returned, and
// the function that reads it.
func (f *file) resultsStruct(t *model.Task) {
	name := t.GoName + "Results"
	f.say(prose(fmt.Sprintf("%s holds the results of the children of a job of task %s.", name, called(t.Name)), ""))
	f.Type().Id(name).StructFunc(func(g *jen.Group) {
		for _, s := range t.Slots {
			if t.Silent(s) {
				continue
			}
			field := g.Id(s.Field.Name).Add(slotForm[s.Kind].of(f.childResult(t, s)))
			if c := whyMissing(t, s); c != "" {
				field.Comment("// " + c)
			}
		}
	})
	f.Line()
	var reads []jen.Code
	for _, s := range t.Slots {
		form := slotForm[s.Kind]
		into := jen.Op("&").Id("in").Dot(s.Field.Name)
		if t.Silent(s) {
			into = jen.New(form.of(runtime("None")))
		}
		reads = append(reads, runtime(form.read).Call(jen.Id("c"), jen.Lit(s.Name), into))
	}
	all := jen.Add(reads[0])
	if len(reads) > 1 {
		all = jen.Qual("errors", "Join").Custom(arguments, reads...)
	}
	f.Func().Id("read"+name).Params(jen.Id("c").Op("*").Add(runtime("ChildSet"))).Params(jen.Id("in").Id(name), jen.Err().Error()).Block(
		jen.Err().Op("=").Add(all),
		jen.Return(jen.Id("in"), jen.Err()),
	)
	f.Line()
}

// addChildren writes the function that adds children to a running job.
func (f *file) addChildren(t *model.Task) {
	name := "Add" + t.GoName + "Children"
	f.say(prose(fmt.Sprintf("%s adds children to the running job of task %s, once for each step, and returns the results of all its children. "+
		"While a child is unfinished, it returns an error. The handler must return that error: the job then waits for its children and runs again.", name, called(t.Name)), model.Deprecation(t.Doc)))
	f.Func().Id(name).Params(
		jen.Id("ctx").Qual("context", "Context"), jen.Id("job").Op("*").Add(runtime("Job")).Types(f.payload(t)), jen.Id("step").String(), jen.Id("f").Id(t.GoName+"Flow"),
	).Params(jen.Id(t.GoName+"Results"), jen.Error()).Block(
		jen.Return(runtime("AddChildrenTo").Call(jen.Id("ctx"), jen.Id("job"), jen.Id("step"), jen.Id("f").Dot("slots").Call(), jen.Id("read"+t.GoName+"Results"))),
	)
	f.Line()
}

// childResult is the type of what one child in the slot returned.
func (f *file) childResult(t *model.Task, s *model.Slot) *jen.Statement {
	result := f.result(s.Task)
	if t.Outcome(s) {
		return runtime("Outcome").Types(result)
	}
	return result
}

// whyMissing says when a slot has less than was added in it.
func whyMissing(t *model.Task, s *model.Slot) string {
	switch {
	case t.Early():
		return "may have failed, or not be finished"
	case t.Outcome(s):
		return "may have failed"
	case s.OnFail != model.Remove:
		return ""
	case s.Kind == model.Optional:
		return "nil too if it failed"
	}
	return "without those that failed"
}

// slotSpecs declares the slots to the runtime.
func slotSpecs(t *model.Task) *jen.Statement {
	return jen.Index().Add(runtime("SlotSpec")).CustomFunc(members, func(g *jen.Group) {
		for _, s := range t.Slots {
			var l literal
			l.set("Name", jen.Lit(s.Name))
			if s.Kind != model.One {
				l.set("Kind", runtime(slotForm[s.Kind].spec))
			}
			l.set("Queue", jen.Lit(s.Queue.Name))
			l.set("Job", jen.Lit(s.Task.Name))
			if names := s.Task.EarlierNames(); len(names) > 0 {
				l.set("Aliases", texts(names))
			}
			if s.Task.Codec != nil {
				l.set("Codec", jen.Qual(s.Package.Output.Path, s.Task.Var()).Dot("Spec").Call().Dot("Codec"))
			}
			if policy := onFail[s.OnFail]; policy != "" {
				l.set("OnFail", runtime(policy))
			}
			g.Add(l.inline(jen.Empty()))
		}
	})
}

// onFail are the runtime's names of policies other than the zero value.
var onFail = map[model.Policy]string{
	model.Fail: "OnFailFail", model.Continue: "OnFailContinue", model.Ignore: "OnFailIgnore", model.Remove: "OnFailRemove",
}

// childrenGuard writes a declaration that compiles only while the slots are
// what they are now.
func (f *file) childrenGuard(t *model.Task) {
	actual := t.Children.Actual()
	if f.guarded[actual] || !f.writable(t.Children) || !f.writableFields(actual) {
		return
	}
	f.guarded[actual] = true
	f.Comment(fmt.Sprintf("// Does not compile? %s has changed: run go generate.", t.Children.Name))
	f.Var().Id("_").StructFunc(func(g *jen.Group) { f.fields(g, actual) }).Op("=").Add(f.typ(t.Children)).Values()
	f.Line()
}
