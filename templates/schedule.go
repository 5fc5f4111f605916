package templates

import (
	"fmt"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// schedules writes the set of all schedules of the package, and the functions
// that store it.
func (f *file) schedules() {
	if !f.pkg.Scheduled() {
		return
	}
	declared := []jen.Code{jen.Lit(f.pkg.Path)}
	for _, q := range f.pkg.Queues {
		for _, t := range q.Tasks {
			for _, s := range t.Schedules {
				declared = append(declared, f.schedule(t, s))
			}
		}
	}
	f.say(prose(fmt.Sprintf("Schedules are the schedules that package %s declares.", f.pkg.Name), ""))
	f.Var().Id("Schedules").Op("=").Add(runtime("NewScheduleSet")).Custom(arguments, declared...)
	f.Line()

	f.say(prose("EnsureSchedules stores the declared schedules that are missing or differ. Call it each time the program starts.", ""))
	f.Func().Id("EnsureSchedules").Params(context(), client()).Error().
		Block(jen.Return(jen.Id("Schedules").Dot("Ensure").Call(jen.Id("ctx"), jen.Id("c"))))
	f.Line()

	f.say(prose(fmt.Sprintf("PruneSchedules removes the schedules that package %s declared before and no longer declares. It leaves all other schedules in place.", f.pkg.Name), ""))
	f.Func().Id("PruneSchedules").Params(context(), client()).Params(jen.Index().Add(runtime("ScheduleRef")), jen.Error()).
		Block(jen.Return(jen.Id("Schedules").Dot("Prune").Call(jen.Id("ctx"), jen.Id("c"))))
	f.Line()
}

// schedule is one schedule of the set.
func (f *file) schedule(t *model.Task, s *model.Schedule) *jen.Statement {
	var l literal
	if s.Cron != "" {
		l.set("Cron", jen.Lit(s.Cron))
	}
	if s.TZ != "" {
		l.set("TZ", jen.Lit(s.TZ))
	}
	if s.Every > 0 {
		l.set("Every", duration(s.Every))
	}
	if s.Offset > 0 {
		l.set("Offset", duration(s.Offset))
	}
	if s.Limit > 0 {
		l.set("Limit", jen.Lit(s.Limit))
	}
	if !s.Start.IsZero() {
		l.set("Start", moment(s.Start))
	}
	if !s.End.IsZero() {
		l.set("End", moment(s.End))
	}
	return jen.Id(t.Var()).Dot("DeclareSchedule").Call(jen.Lit(s.ID), l.inline(runtime("ScheduleSpec")), f.given(t, s.Payload))
}

// given is the function that gives the payload of a schedule's jobs.
func (f *file) given(t *model.Task, g *model.Given) *jen.Statement {
	if g == nil {
		return jen.Nil()
	}
	value := jen.Qual(f.pkg.Path, g.Name)
	if g.Call {
		value.Call()
	}
	values := []jen.Code{value}
	if !g.Err {
		values = append(values, jen.Nil())
	}
	return jen.Func().Params().Params(f.payload(t), jen.Error()).Block(
		jen.Comment(fmt.Sprintf("// Does not compile? %s has changed: run go generate.", g.Name)),
		jen.Return(values...),
	)
}

// moment writes a time.
func moment(t time.Time) *jen.Statement {
	t = t.UTC()
	return jen.Qual("time", "Date").Call(
		jen.Lit(t.Year()), jen.Qual("time", t.Month().String()), jen.Lit(t.Day()),
		jen.Lit(t.Hour()), jen.Lit(t.Minute()), jen.Lit(t.Second()), jen.Lit(t.Nanosecond()), jen.Qual("time", "UTC"),
	)
}
