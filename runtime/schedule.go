package bullmq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"
	"unicode/utf8"

	"github.com/bullmq-gen/bullmq-gen/internal/jsjson"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// ScheduleSpec says when a schedule adds jobs: by Cron, or Every so often.
type ScheduleSpec struct {
	// Cron is a pattern of five fields, or six with seconds first, or a name
	// such as "@daily"; see package cron. A pattern that no date matches is an error.
	Cron string
	// TZ is the zone of the pattern, such as "Europe/Paris" or "UTC+2"; empty:
	// UTC. It is stored, so that programs on all machines agree on it.
	TZ string
	// Every is the time from one job to the next, at least 1ms. The first one is
	// added to run at once, unless Start or Offset says otherwise.
	Every time.Duration
	// Offset is the phase of Every: jobs run at times that are so far from a
	// multiple of it, counted from the beginning of 1970 in UTC. 0: it is that of
	// the first job.
	Offset time.Duration
	// Limit is how many jobs there are in all, counted anew each time that the
	// schedule is stored; 0: no limit.
	Limit int
	// Start is before the first job; that of an interval runs at Start itself.
	// The zero time: now. One that has passed means nothing.
	Start time.Time
	// End is after the last job; the zero time: there is none.
	End time.Time
	// Immediately adds the first job of a pattern to run at once, each time that
	// the schedule is stored.
	Immediately bool
}

// Schedule is a schedule to be stored: when it adds jobs, and which.
type Schedule struct {
	// ID names it within its queue. Storing another one of the same id replaces it.
	ID   string
	Spec ScheduleSpec
	// Name and Data are those of its jobs; Data is encoded as JSON, and nil is {}.
	Name string
	Data any
	// Options are those of its jobs. Delay, RunAt and Timestamp are refused: times are the schedule's.
	Options []Option

	base Options // of the task
	err  error   // what is wrong with the task or its payload
}

// NewSchedule returns a schedule of the task's jobs, to be stored with
// Queue.UpsertSchedules. Of the options that come from the payload the job id, the
// deduplication and the delay do not count: a schedule has its own.
func (t *Task[P, R]) NewSchedule(id string, spec ScheduleSpec, p P, opts ...Option) Schedule {
	s := Schedule{ID: id, Spec: spec, Name: t.spec.Name, Options: opts, base: t.base, err: t.Err()}
	if s.err != nil {
		return s
	}
	text, err := t.encode(&p)
	s.err = errors.Join(validate(&p), err, t.applyKeys(&s.base, &p))
	s.Data = json.RawMessage(text)
	s.base.JobID, s.base.Dedup, s.base.Delay = "", nil, 0
	return s
}

// NextRun is the job that a schedule added last.
type NextRun struct {
	JobID string
	// At is when it becomes due. It has passed if the job waits for a worker.
	At time.Time
}

// UpsertSchedule stores a schedule that adds jobs of a name with a payload, encoded
// as JSON (nil: {}), and adds the first one. What is there under the same id is
// replaced, with the job it added last unless a worker took that already. A job
// whose time has come, and which waits for a worker, keeps its time if the
// pattern or interval is still the same.
//
// ErrScheduleEnded says that there is no time left before the end. Calls that
// are made at the same time, from wherever, leave one schedule with one job.
func (q *Queue) UpsertSchedule(ctx context.Context, id string, spec ScheduleSpec, name string, data any, opts ...Option) (NextRun, error) {
	runs, err := q.UpsertSchedules(ctx, []Schedule{{ID: id, Spec: spec, Name: name, Data: data, Options: opts}})
	if len(runs) == 0 {
		return NextRun{}, err
	}
	return runs[0], err
}

// UpsertSchedules stores many schedules, in one step of the storage. All are
// checked first: when one is wrong nothing is stored, and the error names all
// that is wrong. When the storage refuses some, they have the zero NextRun.
func (q *Queue) UpsertSchedules(ctx context.Context, list []Schedule) ([]NextRun, error) {
	b, err := newScheduleBatch(q.name, q.client.now(), list)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	runs, refused, err := b.store(ctx, q.client)
	if err != nil {
		return nil, err
	}
	return runs, errors.Join(refused...)
}

// endsLikeJob finds ids whose keys would be those of another schedule's jobs.
var endsLikeJob = regexp.MustCompile(`:\d+$`)

// stored builds what is stored of a schedule, and adds its problems to p.
func (s *Schedule) stored(now time.Time, p *problems) (storage.Schedule, *cronSchedule) {
	switch {
	case s.ID == "" || !utf8.ValidString(s.ID):
		p.add("a schedule needs an id, of valid UTF-8")
	case endsLikeJob.MatchString(s.ID):
		p.add("its id must not end with a colon and a number, as those of its jobs do")
	}
	if s.err != nil {
		p.add("%w", s.err)
	}
	if s.Name == "" || !utf8.ValidString(s.Name) {
		p.add("its jobs need a name, of valid UTF-8")
	}
	rule, c := s.Spec.rule(now, p)
	d := storage.Schedule{
		ID: s.ID, ScheduleRule: rule, KeepDue: !s.Spec.Immediately && !s.Spec.Start.After(now),
		Template: storage.Template{Name: s.Name}, Job: storage.Iteration{Name: s.Name},
	}
	if c != nil {
		d.NextRun = now
		if !s.Spec.Immediately {
			var err error
			if d.NextRun, err = c.next(now); err != nil {
				p.add("%w", err)
			}
		}
	}
	s.content(&d, now, p)
	return d, c
}

// content builds the payload and the options of a schedule's jobs.
func (s *Schedule) content(d *storage.Schedule, now time.Time, p *problems) {
	d.Job.Data = []byte("{}")
	if s.Data != nil {
		data, err := encodeJSON(s.Data)
		if err != nil {
			p.add("payload: %w", err)
		}
		d.Job.Data = data
	}
	if string(d.Job.Data) != "{}" {
		d.Template.Data = d.Job.Data
	}
	o := s.base
	for _, opt := range s.Options {
		opt.applyAdd(&o)
	}
	if o.Delay != 0 || !o.runAt.IsZero() || !o.Timestamp.IsZero() {
		p.add("its jobs take no delay, time or timestamp: the schedule says when they run")
		o.Delay = 0
	}
	o.check(p)
	if o.SizeLimit > 0 && len(d.Job.Data) > o.SizeLimit {
		p.add("the payload has %d bytes of JSON, more than the limit of %d", len(d.Job.Data), o.SizeLimit)
	}
	template, err := o.appendJSON(nil)
	if err != nil {
		p.add("%w", err)
		return
	}
	if string(template) != `{"attempts":0}` {
		d.Template.Opts = template
	}
	d.Job.Priority, d.Job.LIFO = o.Priority, o.LIFO
	o.Timestamp = now
	o.Unknown = withRepeat(o.Unknown, d)
	if d.Job.Opts, err = o.appendJSON(nil); err != nil {
		p.add("%w", err)
	}
}

// withRepeat adds what peers go by when they make the next job.
func withRepeat(unknown map[string]json.RawMessage, d *storage.Schedule) map[string]json.RawMessage {
	all := map[string]json.RawMessage{
		"repeatJobKey": jsjson.AppendString(nil, d.ID),
		"repeat":       appendRepeat(nil, &d.ScheduleRule),
	}
	for name, value := range unknown {
		all[name] = value
	}
	return all
}

func appendRepeat(b []byte, r *storage.ScheduleRule) []byte {
	b = append(b, `{"count":1`...)
	if r.Pattern != "" {
		b = appendText(b, "pattern", r.Pattern)
	}
	if r.TZ != "" {
		b = appendText(b, "tz", r.TZ)
	}
	b = appendMillis(b, "every", r.Every)
	b = appendMillis(b, "offset", r.Offset)
	if r.Limit > 0 {
		b = fmt.Appendf(b, `,"limit":%d`, r.Limit)
	}
	if !r.Start.IsZero() {
		b = fmt.Appendf(b, `,"startDate":%d`, r.Start.UnixMilli())
	}
	if !r.End.IsZero() {
		b = fmt.Appendf(b, `,"endDate":%d`, r.End.UnixMilli())
	}
	return append(b, '}')
}
