package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

var schedulerOps = ops{
	"scheduler.upsert": ask(upsertScheduler),
	"scheduler.get":    ask(getScheduler),
	"scheduler.list":   ask(listSchedulers),
	"scheduler.count": ask(func(p *peer, a queueArgs) (int, error) {
		return p.queue(a).CountSchedules(context.Background())
	}),
	"scheduler.remove": ask(func(p *peer, a jobArgs) (bool, error) {
		n, err := p.client.Queue(a.Queue).RemoveSchedules(context.Background(), a.ID)
		return n == 1, err
	}),
}

// repeat says when, as Node programs write it: times in milliseconds.
type repeat struct {
	Pattern     string  `json:"pattern"`
	TZ          string  `json:"tz"`
	Every       float64 `json:"every"`
	Offset      float64 `json:"offset"`
	Limit       int     `json:"limit"`
	StartDate   int64   `json:"startDate"`
	EndDate     int64   `json:"endDate"`
	Immediately bool    `json:"immediately"`
}

func (r *repeat) spec() bullmq.ScheduleSpec {
	return bullmq.ScheduleSpec{
		Cron: r.Pattern, TZ: r.TZ, Every: millis(r.Every), Offset: millis(r.Offset), Limit: r.Limit,
		Start: date(r.StartDate), End: date(r.EndDate), Immediately: r.Immediately,
	}
}

func date(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

func upsertScheduler(p *peer, a struct {
	jobArgs
	Repeat   repeat `json:"repeat"`
	Template struct {
		Name string          `json:"name"`
		Data json.RawMessage `json:"data"`
		Opts json.RawMessage `json:"opts"`
	} `json:"template"`
}) (*job, error) {
	o, err := parseOptions(a.Template.Opts)
	if err != nil {
		return nil, err
	}
	opts, err := o.common()
	if err != nil {
		return nil, err
	}
	if o.Priority != nil {
		opts = append(opts, bullmq.Priority(*o.Priority))
	}
	name := a.Template.Name
	if name == "" {
		name = a.ID // as Node's library does
	}
	var data any
	if a.Template.Data != nil {
		data = a.Template.Data
	}
	q := p.client.Queue(a.Queue)
	run, err := q.UpsertSchedule(context.Background(), a.ID, a.Repeat.spec(), name, data, opts...)
	if err != nil {
		return nil, err
	}
	record, err := q.Job(context.Background(), run.JobID)
	if err != nil {
		return nil, err
	}
	return viewJob(record)
}

func getScheduler(p *peer, a jobArgs) (map[string]any, error) {
	s, err := p.client.Queue(a.Queue).Schedule(context.Background(), a.ID)
	if errors.Is(err, bullmq.ErrScheduleNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return viewScheduler(s), nil
}

func listSchedulers(p *peer, a struct {
	queueArgs
	Start *int `json:"start"`
	End   *int `json:"end"`
	Asc   bool `json:"asc"`
}) ([]map[string]any, error) {
	start, end := 0, -1
	if a.Start != nil {
		start = *a.Start
	}
	if a.End != nil {
		end = *a.End
	}
	if !a.Asc {
		return nil, errNotOffered{"the order of schedules, latest first,"}
	}
	list, err := p.queue(a.queueArgs).Schedules(context.Background(), start, end)
	out := make([]map[string]any, len(list))
	for i := range list {
		out[i] = viewScheduler(&list[i])
	}
	return out, err
}

// viewScheduler shows a schedule as Node's library does.
func viewScheduler(s *bullmq.ScheduleInfo) map[string]any {
	m := map[string]any{"key": s.ID, "name": s.Name, "next": unix(s.Next.At), "iterationCount": s.Iterations}
	set := func(name string, on bool, v any) {
		if on {
			m[name] = v
		}
	}
	set("pattern", s.Spec.Cron != "", s.Spec.Cron)
	set("tz", s.Spec.TZ != "", s.Spec.TZ)
	set("every", s.Spec.Every > 0, s.Spec.Every.Milliseconds())
	set("limit", s.Spec.Limit > 0, s.Spec.Limit)
	set("startDate", !s.Spec.Start.IsZero(), unix(s.Spec.Start))
	set("endDate", !s.Spec.End.IsZero(), unix(s.Spec.End))
	m["offset"] = s.Spec.Offset.Milliseconds()
	template := map[string]any{}
	if string(s.Data) != "{}" {
		template["data"] = s.Data
	}
	if opts := viewOptions(&s.Options); len(opts) > 1 || s.Options.Attempts > 0 {
		template["opts"] = opts
	}
	set("template", len(template) > 0, template)
	return m
}
