package redisq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

var replaySchedule = map[string]replayFunc{
	"addJobScheduler":             replayUpsertSchedule,
	"updateJobScheduler":          replayAdvanceSchedule,
	"removeJobScheduler":          replayRemoveSchedule,
	"getJobScheduler":             replayReadSchedule,
	"plain:getJobSchedulers":      replayListSchedules,
	"plain:getJobSchedulersCount": replayCountSchedules,
}

// scheduleArgs are the arguments of the recorded operations on schedules.
type scheduleArgs struct {
	ID    string          `json:"schedulerId"`
	Next  json.RawMessage `json:"nextMillis"` // a number, or ""
	Rule  recordedRule    `json:"schedulerOpts"`
	Data  string          `json:"templateData"`
	Opts  json.RawMessage `json:"templateOpts"`
	Job   json.RawMessage `json:"jobOpts"`
	Now   int64           `json:"timestamp"`
	Taken string          `json:"producerId"`
}

type recordedRule struct {
	Name    string  `json:"name"`
	Pattern string  `json:"pattern"`
	TZ      string  `json:"tz"`
	Every   float64 `json:"every"`
	Offset  float64 `json:"offset"`
	Limit   int     `json:"limit"`
	Start   int64   `json:"startDate"`
	End     int64   `json:"endDate"`
}

func (r *recordedRule) rule() storage.ScheduleRule {
	return storage.ScheduleRule{
		Pattern: r.Pattern, TZ: r.TZ, Every: recordedMillis(r.Every), Offset: recordedMillis(r.Offset),
		Limit: r.Limit, Start: recordedTime(r.Start), End: recordedTime(r.End),
	}
}

func recordedTime(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

func (a *scheduleArgs) slot() time.Time {
	ms, _ := strconv.ParseInt(string(a.Next), 10, 64)
	return time.UnixMilli(ms)
}

// iteration is the job to be made, of options as the peer hands them to its
// script, among them null ones and those that the slot determines.
func (a *scheduleArgs) iteration() (it storage.Iteration, repeat recordedRule, err error) {
	var all map[string]json.RawMessage
	var o recordedOpts
	var r struct {
		Repeat recordedRule `json:"repeat"`
	}
	if err = errors.Join(json.Unmarshal(a.Job, &all), json.Unmarshal(a.Job, &o), json.Unmarshal(a.Job, &r)); err != nil {
		return it, repeat, err
	}
	for _, name := range []string{"jobId", "delay", "prevMillis"} {
		delete(all, name)
	}
	text, err := json.Marshal(withoutNull(all))
	it = storage.Iteration{Data: []byte(a.Data), Opts: text, Priority: o.Priority, LIFO: o.LIFO}
	if o.Dedup != nil {
		it.DedupID = o.Dedup.ID
	}
	return it, r.Repeat, err
}

// withoutNull drops null members, as the peer's encoding does.
func withoutNull(all map[string]json.RawMessage) map[string]json.RawMessage {
	for name, value := range all {
		var inner map[string]json.RawMessage
		switch {
		case string(value) == "null":
			delete(all, name)
		case bytes.HasPrefix(value, []byte("{")) && json.Unmarshal(value, &inner) == nil:
			all[name], _ = json.Marshal(withoutNull(inner))
		}
	}
	return all
}

func replayUpsertSchedule(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var a scheduleArgs
	if err := r.Decode(&a); err != nil {
		return nil, err
	}
	it, _, err := a.iteration()
	if err != nil {
		return nil, err
	}
	it.Name = a.Rule.Name
	d := storage.Schedule{
		ID: a.ID, ScheduleRule: a.Rule.rule(), NextRun: a.slot(), KeepDue: true, Job: it,
		Template: storage.Template{Name: a.Rule.Name, Data: unlessEmpty([]byte(a.Data)), Opts: unlessEmpty(a.Opts)},
	}
	_, queue := r.Queue()
	out, err := s.UpsertSchedules(ctx, queue, time.UnixMilli(a.Now), []storage.Schedule{d})
	if err != nil {
		return nil, err
	}
	if errors.Is(out[0].Err, storage.ErrRunTaken) {
		if a.Rule.Pattern != "" {
			return -10, nil
		}
		return -11, nil
	}
	return []any{out[0].ID, max(0, out[0].NextRun.UnixMilli()-a.Now)}, out[0].Err
}

func unlessEmpty(text []byte) []byte {
	if string(text) == "{}" {
		return nil
	}
	return text
}

func replayAdvanceSchedule(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var a scheduleArgs
	if err := r.Decode(&a); err != nil {
		return nil, err
	}
	it, repeat, err := a.iteration()
	if err != nil {
		return nil, err
	}
	rule := repeat.rule()
	_, queue := r.Queue()
	out, err := s.AdvanceSchedules(ctx, queue, time.UnixMilli(a.Now), []storage.Advance{{
		ID: a.ID, Job: a.Taken, NextRun: a.slot(), Every: rule.Every, Offset: rule.Offset, End: rule.End, Next: it,
	}})
	if err != nil {
		return nil, err
	}
	if out[0].ID == "" {
		return nil, nil
	}
	return out[0].ID, out[0].Err
}

func replayRemoveSchedule(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var a scheduleArgs
	if err := r.Decode(&a); err != nil {
		return nil, err
	}
	_, queue := r.Queue()
	removed, err := s.RemoveSchedules(ctx, queue, a.ID)
	if err != nil {
		return nil, err
	}
	if removed[0] {
		return 0, nil
	}
	return 1, nil
}

func replayReadSchedule(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var a scheduleArgs
	if err := r.Decode(&a); err != nil {
		return nil, err
	}
	_, queue := r.Queue()
	found, err := s.Schedules(ctx, queue, a.ID)
	if err != nil {
		return nil, err
	}
	if found[0] == nil {
		if bytes.HasPrefix(r.Reply, []byte("[[],")) { // a time, and nothing else
			return vectors.NoReply, nil
		}
		return []any{}, nil
	}
	return []any{vectors.Hash(scheduleHash(found[0])), strconv.FormatInt(found[0].NextRun.UnixMilli(), 10)}, nil
}

// scheduleHash are the fields of which a schedule was read.
func scheduleHash(r *storage.ScheduleRecord) map[string]string {
	fields := scheduleFields(&storage.Schedule{ScheduleRule: r.ScheduleRule, Template: r.Template})
	h := map[string]string{"offset": strconv.FormatInt(r.Offset.Milliseconds(), 10), "ic": strconv.Itoa(r.Iterations)}
	for i := 0; i < len(fields); i += 2 {
		h[fields[i]] = fields[i+1]
	}
	return h
}

func replayListSchedules(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var a struct {
		Start, End int
		Asc        bool
	}
	if err := r.Decode(&a); err != nil {
		return nil, err
	}
	_, queue := r.Queue()
	found, err := s.ListSchedules(ctx, queue, a.Start, a.End, a.Asc)
	list := []any{}
	for i := range found {
		list = append(list, shownSchedule(&found[i]))
	}
	return list, err
}

// shownSchedule is a schedule as the peer's interface shows it.
func shownSchedule(r *storage.ScheduleRecord) map[string]any {
	m := map[string]any{
		"key": r.ID, "name": r.Template.Name, "next": r.NextRun.UnixMilli(), "iterationCount": r.Iterations, "offset": r.Offset.Milliseconds(),
	}
	if r.Pattern != "" {
		m["pattern"] = r.Pattern
	}
	if r.TZ != "" {
		m["tz"] = r.TZ
	}
	if r.Every > 0 {
		m["every"] = r.Every.Milliseconds()
	}
	template := map[string]json.RawMessage{}
	if r.Template.Data != nil {
		template["data"] = r.Template.Data
	}
	if r.Template.Opts != nil {
		template["opts"] = r.Template.Opts
	}
	if len(template) > 0 {
		m["template"] = template
	}
	return m
}

func replayCountSchedules(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	_, queue := r.Queue()
	return s.CountSchedules(ctx, queue)
}
