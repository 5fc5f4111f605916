package templates

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// queue writes the declaration of a queue.
func (f *file) queue(q *model.Queue) {
	var l literal
	l.set("Name", jen.Lit(q.Name))
	if len(q.Tasks) > 0 {
		names := make([]string, len(q.Tasks))
		for i, t := range q.Tasks {
			names[i] = t.Name
		}
		l.set("Tasks", texts(names))
	}
	if q.Concurrency > 0 {
		l.set("Concurrency", jen.Lit(q.Concurrency))
	}
	if q.Limit.Max > 0 {
		var limit literal
		limit.set("Max", jen.Lit(q.Limit.Max))
		limit.set("Per", duration(q.Limit.Per))
		member := "Limit"
		if q.Group != "" {
			member = "GroupLimit"
		}
		l.set(member, limit.inline(runtime("RateLimit")))
	}
	if q.KeepCompleted != nil {
		l.set("KeepCompleted", retention(q.KeepCompleted))
	}
	if q.KeepFailed != nil {
		l.set("KeepFailed", retention(q.KeepFailed))
	}
	name := q.Ident + "Queue"
	f.say(prose(fmt.Sprintf("%s is the queue %s.", name, called(q.Name)), q.Doc))
	f.Var().Id(name).Op("=").Add(l.lines(jen.Op("&").Add(runtime("QueueSpec"))))
	f.Line()
}

// handler writes the interface that a program implements to handle all tasks of a
// queue, the functions that take an implementation, and a type to embed in one.
func (f *file) handler(q *model.Queue) {
	name := q.Ident + "Handler"
	f.say(prose(fmt.Sprintf("%s handles every task of queue %s. A new task adds a method, so a worker that lacks it does not compile.", name, called(q.Name)), ""))
	f.Type().Id(name).InterfaceFunc(func(g *jen.Group) {
		for _, t := range q.Tasks {
			users := sentence(t.Doc)
			if d := model.Deprecation(t.Doc); d != "" {
				users += "\n\n" + d
			}
			if users != "" {
				for _, c := range prose(users, "") {
					g.Comment(c)
				}
			}
			g.Id(t.GoName).Add(f.handlerParams(t)).Add(f.handlerResult(t, ""))
		}
	})
	f.Line()

	f.say(prose(fmt.Sprintf("%s makes w process the jobs of all tasks of queue %s with h.", q.Handle, called(q.Name)), ""))
	f.Func().Id(q.Handle).Params(worker(), jen.Id("h").Id(name)).BlockFunc(func(g *jen.Group) {
		for _, t := range q.Tasks {
			g.Id("Handle"+t.GoName).Call(jen.Id("w"), jen.Id("h").Dot(t.GoName))
		}
	})
	f.Line()

	f.say(prose(fmt.Sprintf("%s returns a worker that processes the jobs of all tasks of queue %s with h.", q.NewWorker(), called(q.Name)), ""))
	f.Func().Id(q.NewWorker()).
		Params(client(), jen.Id("h").Id(name), jen.Id("opts").Op("...").Add(runtime("WorkerOption"))).
		Params(jen.Op("*").Add(runtime("Worker")), jen.Error()).
		Block(jen.Return(runtime("NewHandlingWorker").Call(jen.Id("c"), jen.Id(q.Ident+"Queue"), jen.Id(q.Handle), jen.Id("h"), jen.Id("opts").Op("..."))))
	f.Line()
	f.unimplemented(q)
}

// unimplemented writes a type to embed in handlers that leave tasks out.
func (f *file) unimplemented(q *model.Queue) {
	name := "Unimplemented" + q.Ident + "Handler"
	f.say(prose(fmt.Sprintf("%s can be embedded in a %sHandler that does not handle every task. Jobs of the other tasks fail without a retry.", name, q.Ident), ""))
	f.Type().Id(name).Struct()
	f.Line()
	for _, t := range q.Tasks {
		f.say(prose(fmt.Sprintf("%s fails the job: there is no handler.", t.GoName), model.Deprecation(t.Doc)))
		refuse := runtime("Unimplemented").Call(jen.Lit(t.Name))
		method := f.Func().Params(jen.Id(name)).Id(t.GoName).Add(f.handlerParams(t)).Add(f.handlerResult(t, "result"))
		if t.Result == nil {
			method.Block(jen.Return(refuse))
		} else {
			method.Block(jen.Return(jen.Id("result"), refuse))
		}
		f.Line()
	}
}
