package check

import (
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/directive"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/cron"
)

var scheduleRules = []rule[*model.Schedule]{
	{
		func(s *model.Schedule) bool { return !s.Has("cron") && !s.Has("every") },
		nil, `//bullmq:schedule does not say when: write a pattern, "0 9 * * MON", or every=1h`,
	},
	{
		func(s *model.Schedule) bool { return s.Has("cron") && s.Has("every") },
		[]string{"every"}, "it has both a pattern and an interval: remove one of them",
	},
	{
		func(s *model.Schedule) bool { return s.Has("offset") && !s.Has("every") },
		[]string{"offset"}, "an offset is for intervals, and patterns have none: remove it, or write every=",
	},
	{
		func(s *model.Schedule) bool { return s.Has("every") && s.Offset >= s.Every },
		[]string{"offset"}, "the offset must be less than the interval",
	},
	{
		func(s *model.Schedule) bool { return s.Has("tz") && !s.Has("cron") },
		[]string{"tz"}, "a time zone is for patterns, and intervals have none: remove it, or write a pattern",
	},
	{
		func(s *model.Schedule) bool { return s.Has("end") && s.Start.After(s.End) },
		[]string{"start"}, "the start is after the end: exchange them",
	},
	{
		neverRuns, []string{"end"}, "no time of the pattern lies between start and end",
	},
}

// neverRuns is true when the pattern has no time within the schedule's bounds.
func neverRuns(s *model.Schedule) bool {
	if s.Cron == "" || s.Start.IsZero() || s.End.IsZero() || s.Start.After(s.End) {
		return false
	}
	pattern, err := cron.Parse(s.Cron)
	if err != nil {
		return false
	}
	zone := time.UTC
	if s.TZ != "" {
		if zone, err = cron.LoadZone(s.TZ); err != nil {
			return false
		}
	}
	first, ok := pattern.Next(s.Start, zone)
	return !ok || first.After(s.End)
}

// schedules checks the schedules of a task, each by itself and their ids.
func schedules(t *model.Task, l *diag.List) {
	for _, s := range t.Schedules {
		if !s.Has("id") {
			scheduleID(t, s, l)
		}
		if s.Broken {
			continue
		}
		errors := l.Errors()
		apply(scheduleRules, s, s.Places, l)
		if l.Errors() > errors {
			continue
		}
		// What the runtime refuses must not be generated.
		spec := bullmq.ScheduleSpec{Cron: s.Cron, TZ: s.TZ, Every: s.Every, Offset: s.Offset, Limit: s.Limit, Start: s.Start, End: s.End}
		if err := spec.Check(time.Time{}); err != nil {
			l.Errorf(s.At("cron", "every"), "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
}

// withoutDedup warns that jobs of schedules are not deduplicated, whatever the task
// says of its jobs.
func withoutDedup(t *model.Task, l *diag.List) {
	if len(t.Schedules) > 0 && (t.Dedup != nil || tagged(t, model.WordDedup) != nil) {
		l.Warnf(t.Schedules[0].At(), "jobs of a schedule are never deduplicated, although %s has dedup: that holds for jobs which are added alone; declare a task of its own for the schedule to make that plain", t.GoName)
	}
}

// scheduleID checks a schedule that has the id of its task.
func scheduleID(t *model.Task, s *model.Schedule, l *diag.List) {
	switch err := directive.ScheduleIDProblem(s.ID); {
	case len(t.Schedules) > 1:
		l.Errorf(s.At(), "%s has several schedules: give each of them an id=", t.GoName)
	case t.Name == "": // reported already
	case err != nil:
		l.Errorf(s.At(), "the schedule has the name of its task for an id, and %v: add an id=", err)
	}
}

// zeroPayloads checks the schedules that do not say what their jobs' payload
// is: one without any content must be a good one.
func zeroPayloads(t *model.Task, l *diag.List) {
	for _, s := range t.Schedules {
		if s.Has("payload") {
			continue
		}
		why := ""
		actual := t.Payload.Actual()
		if required := t.Required(); len(required) > 0 {
			why = "an empty " + t.GoName + " has no " + required[0]
		} else if actual.Kind != model.Struct || actual.SelfMade() {
			why = t.GoName + " is no struct whose members may all be left out"
		}
		if why != "" {
			l.Errorf(s.At(), "the schedule does not say what the payload of its jobs is, and %s: declare it, var %sPayload = ..., and add payload=%sPayload", why, t.GoName, t.GoName)
		}
	}
}

// scheduleIDs reports ids that two schedules of one queue have, in whichever
// packages.
func scheduleIDs(packages []*model.Package, l *diag.List) {
	first := map[[2]string]*model.Schedule{}
	for _, p := range packages {
		for _, t := range p.Tasks {
			for _, s := range t.Schedules {
				if s.ID == "" || t.Queue == "" || !s.Has("id") && len(t.Schedules) > 1 {
					continue // reported already
				}
				key := [2]string{t.Queue, s.ID}
				if before := first[key]; before != nil {
					l.Errorf(s.At("id"), "queue %q has a schedule of the id %q already, at %v: give one of them another id=", t.Queue, s.ID, before.At("id"))
					continue
				}
				first[key] = s
			}
		}
	}
}
