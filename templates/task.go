package templates

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// task writes everything about a task but its part in the queue's handler.
func (f *file) task(q *model.Queue, t *model.Task) {
	if !f.options.NoGuard {
		f.guard(t.Payload, t.GoName, f.payload(t))
		f.guardOld(t)
		if t.Parent() {
			f.childrenGuard(t)
		}
	}
	f.declaration(q, t)
	f.flow(q, t)
	f.enqueue(q, t)
	if !t.Parent() { // many flows are added as nodes
		f.enqueueMany(q, t)
	}
	f.handle(t)
}

func (f *file) payload(t *model.Task) *jen.Statement { return jen.Qual(f.pkg.Path, t.GoName) }

// result is the type of the task's result.
func (f *file) result(t *model.Task) *jen.Statement {
	if t.Result == nil {
		return runtime("None")
	}
	return f.typ(t.Result)
}

// guard writes a declaration that compiles only while a payload, written as
// typ, is what it is now. Payloads with parts that cannot be written here have
// none.
func (f *file) guard(t *model.Type, name string, typ *jen.Statement) {
	actual := t.Actual()
	if actual.Kind != model.Struct || !f.writableFields(actual) {
		return
	}
	f.Comment(fmt.Sprintf("// Does not compile? %s has changed: run go generate.", name))
	f.Var().Id("_").StructFunc(func(g *jen.Group) { f.fields(g, actual) }).Op("=").Add(typ).Values()
	f.Line()
}

// declaration writes the variable that holds the task.
func (f *file) declaration(q *model.Queue, t *model.Task) {
	var l literal
	l.set("Queue", jen.Id(q.Ident+"Queue"))
	l.set("Name", jen.Lit(t.Name))
	if len(t.Aliases) > 0 {
		l.set("Aliases", texts(t.AliasNames()))
	}
	f.upgrades(t, &l)
	if t.Codec != nil {
		l.set("Codec", f.codec(t.Codec))
	}
	f.jobOptions(t, &l)
	if t.Parent() {
		l.set("Slots", slotSpecs(t))
	}
	name := t.Var()
	f.say(prose(fmt.Sprintf("%s is the task %s of queue %s.", name, called(t.Name), called(q.Name)), model.Deprecation(t.Doc)))
	f.Var().Id(name).Op("=").Add(runtime("NewTask")).Types(f.payload(t), f.result(t)).Custom(
		arguments,
		l.lines(runtime("Spec")),
		f.keys(q, t),
	)
	f.Line()
}

// jobOptions sets what the directives say about the task's jobs.
func (f *file) jobOptions(t *model.Task, l *literal) {
	if r := t.Retry; r != nil {
		if r.Attempts > 0 {
			l.set("Attempts", jen.Lit(r.Attempts))
		}
		if r.Backoff.Type != "" {
			l.set("Backoff", backoff(r.Backoff))
		}
	}
	if t.LIFO {
		l.set("LIFO", jen.True())
	}
	if t.SizeLimit > 0 {
		l.set("SizeLimit", jen.Lit(t.SizeLimit))
	}
	if t.Timeout > 0 {
		l.set("Timeout", duration(t.Timeout))
	}
	if t.TTL > 0 {
		l.set("TTL", duration(t.TTL))
	}
	if t.KeepCompleted != nil {
		l.set("KeepCompleted", retention(t.KeepCompleted))
	}
	if t.KeepFailed != nil {
		l.set("KeepFailed", retention(t.KeepFailed))
	}
	if d := t.Dedup; d != nil && (d.TTL > 0 || d.Extend || d.Replace || d.KeepLast || d.Reschedule) {
		l.set("Dedup", dedup(d))
	}
}

// keys writes the function that takes a job's options from its payload.
func (f *file) keys(q *model.Queue, t *model.Task) *jen.Statement {
	var jobID, dedup, priority, delay []jen.Code
	for _, k := range t.Keys() {
		value := selector(k.Path)
		typ := k.Field().Type
		switch k.Word.Text {
		case model.WordJobID:
			jobID = append(jobID, value)
		case model.WordDedup:
			dedup = append(dedup, value)
		case model.WordPriority:
			priority = append(priority, converted(typ, "int", value))
		case model.WordDelay:
			delay = append(delay, wait(typ, value))
		}
	}
	scoped := func(function, word string, values []jen.Code) []jen.Code {
		if len(values) == 0 {
			return nil
		}
		return []jen.Code{runtime(function).Call(append([]jen.Code{jen.Lit(t.Scope(word))}, values...)...)}
	}
	var l literal
	l.setFirst("JobID", scoped("JobIDIn", model.WordJobID, jobID))
	l.setFirst("Dedup", scoped("DedupKeyIn", model.WordDedup, dedup))
	l.setFirst("Priority", priority)
	l.setFirst("Delay", delay)
	if q.Group != "" {
		l.setFirst("Group", group(t.Payload.Find(q.Group)))
	}
	if len(l.members) == 0 {
		return jen.Nil()
	}
	return jen.Func().Params(jen.Id("p").Op("*").Add(f.payload(t))).Add(runtime("PayloadOptions")).Block(
		jen.Return(l.inline(runtime("PayloadOptions"))),
	)
}

// selector is the field of a payload that the path leads to.
func selector(path []*model.Field) *jen.Statement {
	value := jen.Id("p")
	for _, field := range path {
		value.Dot(field.Name)
	}
	return value
}

// group is the field as the name of a group; none when the payload lacks it.
func group(path []*model.Field) []jen.Code {
	if len(path) == 0 {
		return nil
	}
	value, typ := selector(path), path[len(path)-1].Type
	if typ.Actual().Kind == model.String {
		return []jen.Code{converted(typ, "string", value)}
	}
	return []jen.Code{runtime("DedupKey").Call(value)}
}

// wait is how long a job waits because of a field.
func wait(t *model.Type, value *jen.Statement) *jen.Statement {
	if t.Is("time", "Time") {
		return runtime("Until").Call(value)
	}
	return value.Dot("Duration").Call()
}

// converted is value as a basic type, which it may be already.
func converted(t *model.Type, basic string, value *jen.Statement) *jen.Statement {
	if actual := t.Actual(); actual.Name == "" && actual.Basic == basic {
		return value
	}
	return jen.Id(basic).Call(value)
}

func context() *jen.Statement { return jen.Id("ctx").Qual("context", "Context") }

func client() *jen.Statement { return jen.Id("c").Op("*").Add(runtime("Client")) }

func worker() *jen.Statement { return jen.Id("w").Op("*").Add(runtime("Worker")) }

// handleType is *bullmq.JobHandle of the task's result.
func (f *file) handleType(t *model.Task) *jen.Statement {
	return jen.Op("*").Add(runtime("JobHandle")).Types(f.result(t))
}

func (f *file) enqueue(q *model.Queue, t *model.Task) {
	name := "Enqueue" + t.GoName
	what := fmt.Sprintf("%s adds a job of task %s to queue %s.", name, called(t.Name), called(q.Name))
	params := []jen.Code{context(), client(), jen.Id("p").Add(f.payload(t))}
	method, args := "Add", []jen.Code{jen.Id("ctx"), jen.Id("c"), jen.Id("p")}
	if t.Parent() {
		what = fmt.Sprintf("%s adds a job of task %s to queue %s, and the children that it waits for, in one step: all or none.", name, called(t.Name), called(q.Name))
		params = append(params, jen.Id("f").Id(t.GoName+"Flow"))
		method, args = "AddFlow", append(args, jen.Id("f").Dot("slots").Call())
	}
	params = append(params, jen.Id("opts").Op("...").Add(runtime("AddOption")))
	args = append(args, jen.Id("opts").Op("..."))
	f.say(prose(what, t.Doc))
	f.Func().Id(name).Params(params...).Params(f.handleType(t), jen.Error()).
		Block(jen.Return(jen.Id(t.Var()).Dot(method).Call(args...)))
	f.Line()
}

func (f *file) enqueueMany(q *model.Queue, t *model.Task) {
	name := "EnqueueMany" + t.GoName
	f.say(prose(fmt.Sprintf("%s adds jobs of task %s to queue %s, in order and in as few calls as possible.", name, called(t.Name), called(q.Name)), model.Deprecation(t.Doc)))
	f.Func().Id(name).
		Params(context(), client(), jen.Id("ps").Index().Add(f.payload(t)), jen.Id("opts").Op("...").Add(runtime("Option"))).
		Params(jen.Index().Add(f.handleType(t)), jen.Error()).
		Block(jen.Return(jen.Id(t.Var()).Dot("AddMany").Call(jen.Id("ctx"), jen.Id("c"), jen.Id("ps"), jen.Id("opts").Op("..."))))
	f.Line()
}

func (f *file) handle(t *model.Task) {
	name := "Handle" + t.GoName
	h := jen.Id("h")
	switch {
	case t.Result == nil && t.Parent():
		h = runtime("NoResultFlow").Call(h)
	case t.Result == nil:
		h = runtime("NoResult").Call(h)
	}
	call := jen.Id(t.Var()).Dot("Handle").Call(jen.Id("w"), h)
	if t.Parent() {
		call = runtime("HandleFlow").Call(jen.Id(t.Var()), jen.Id("w"), jen.Id("read"+t.GoName+"Results"), h)
	}
	f.say(prose(fmt.Sprintf("%s makes w process the jobs of task %s with h.", name, called(t.Name)), model.Deprecation(t.Doc)))
	f.Func().Id(name).
		Params(worker(), jen.Id("h").Func().Add(f.handlerParams(t)).Add(f.handlerResult(t, ""))).
		Block(call)
	f.Line()
}

// handlerParams are what a handler of the task takes.
func (f *file) handlerParams(t *model.Task) *jen.Statement {
	params := []jen.Code{jen.Qual("context", "Context"), jen.Op("*").Add(runtime("Job")).Types(f.payload(t))}
	if t.Parent() {
		params = append(params, jen.Id(t.GoName+"Results"))
	}
	return jen.Params(params...)
}

// handlerResult is what a handler of the task returns, named or not.
func (f *file) handlerResult(t *model.Task, name string) *jen.Statement {
	switch {
	case t.Result == nil:
		return jen.Error()
	case name == "":
		return jen.Params(f.result(t), jen.Error())
	}
	return jen.Params(jen.Id(name).Add(f.result(t)), jen.Id("_").Error())
}
