package redisq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// UpsertSchedules implements [storage.Scheduler]. All are stored in one step.
func (s *Store) UpsertSchedules(ctx context.Context, queue string, now time.Time, list []storage.Schedule) ([]storage.Scheduled, error) {
	in := s.check("upsert schedules", queue)
	for i := range list {
		d := &list[i]
		in.that(d.ID != "", "schedule %d of %d has no id", i+1, len(list))
		in.that((d.Pattern == "") != (d.Every <= 0), "schedule %q needs either a pattern or an interval", d.ID)
		in.that(d.Pattern == "" || !d.NextRun.IsZero(), "schedule %q has a pattern and no slot", d.ID)
		in.that(isObject(d.Job.Opts), "schedule %q: the options %.60q are not a JSON object", d.ID, d.Job.Opts)
	}
	if err := in.err(); err != nil || len(list) == 0 {
		return nil, err
	}
	if err := s.noteOwners(ctx, queue, list); err != nil {
		return nil, err
	}
	args := []any{now.UnixMilli(), len(list)}
	for i := range list {
		args = appendSchedule(args, &list[i])
	}
	reply, err := s.run(ctx, "upsertschedules", queue, args...)
	if err != nil {
		return nil, err
	}
	if len(reply) != 2*len(list) {
		return nil, unreadable(fmt.Errorf("bullmq: upsert schedules on queue %q: the reply has %d elements for %d", queue, len(reply), len(list)))
	}
	out := make([]storage.Scheduled, len(list))
	for i := range list {
		id, note := reply[2*i], reply[2*i+1]
		if id == "" {
			out[i].Err = scheduleError(queue, list[i].ID, note)
			continue
		}
		out[i] = storage.Scheduled{ID: id, NextRun: slotOf(id)}
	}
	return out, nil
}

func isObject(text []byte) bool { return len(text) > 1 && text[0] == '{' && json.Valid(text) }

// scheduleError is the error that a code of the scripts of schedules stands for.
func scheduleError(queue, id, code string) error {
	var err error
	switch code {
	case "-10", "-11", "2":
		err = storage.ErrRunTaken
	case "-12", "4":
		err = storage.ErrScheduleEnded
	case "3":
		err = storage.ErrOldSchedule
	case "-13", "5":
		err = storage.OfKind(storage.ErrMalformed, errors.New("the key of its settings is no hash: another program wrote it; rename or delete that key"))
	default:
		err = storage.OfKind(storage.ErrMalformed, errors.New("unknown reply "+code+" of a script"))
	}
	return fmt.Errorf("bullmq: schedule %q on queue %q: %w", id, queue, err)
}

// slotOf is the time in the id of a schedule's job.
func slotOf(id string) time.Time { return parseTime(id[strings.LastIndexByte(id, ':')+1:]) }

// appendSchedule appends a schedule as the script expects it.
func appendSchedule(args []any, d *storage.Schedule) []any {
	switches := ""
	if d.KeepDue {
		switches += "k"
	}
	if d.Job.LIFO {
		switches += "l"
	}
	slot := ""
	if d.Pattern != "" {
		slot = millisText(d.NextRun)
	}
	args = append(args, d.ID, slot, durationText(d.Every), durationText(d.Offset), millisText(d.Start), millisText(d.End), switches, d.Job.Name, d.Job.Data)
	args = appendIteration(args, d.ID, &d.Job)
	fields := scheduleFields(d)
	args = append(args, len(fields)/2)
	for _, f := range fields {
		args = append(args, f)
	}
	return args
}

// appendIteration appends what both scripts need of a job to be made: options
// and id without their ends, priority and deduplication id.
func appendIteration(args []any, id string, it *storage.Iteration) []any {
	jid, _ := json.Marshal("repeat:" + id + ":") // a string always encodes
	opts := it.Opts[:len(it.Opts)-1]
	if len(it.Opts) == len("{}") {
		opts = []byte(`{"attempts":0`) // what follows begins with a comma
	}
	return append(args, opts, jid[:len(jid)-1], it.Priority, it.DedupID)
}

// scheduleFields are the names and values of a schedule's hash, without those
// that are counted on.
func scheduleFields(d *storage.Schedule) []string {
	fields := []string{"name", d.Template.Name}
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, name, value)
		}
	}
	add("tz", d.TZ)
	if d.Limit > 0 {
		add("limit", strconv.Itoa(d.Limit))
	}
	add("pattern", d.Pattern)
	add("startDate", millisText(d.Start))
	add("endDate", millisText(d.End))
	add("every", durationText(d.Every))
	add("opts", string(d.Template.Opts))
	add("data", string(d.Template.Data))
	add(ownerField, d.Owner)
	return fields
}

func millisText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

func durationText(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return strconv.FormatInt(d.Milliseconds(), 10)
}

// AdvanceSchedules implements [storage.Scheduler]. All are advanced in one step.
func (s *Store) AdvanceSchedules(ctx context.Context, queue string, now time.Time, list []storage.Advance) ([]storage.Scheduled, error) {
	in := s.check("advance schedules", queue)
	for i := range list {
		in.that(list[i].ID != "" && list[i].Job != "", "schedule %d of %d needs an id and a job", i+1, len(list))
		in.that(isObject(list[i].Next.Opts), "schedule %q: the options %.60q are not a JSON object", list[i].ID, list[i].Next.Opts)
	}
	if err := in.err(); err != nil || len(list) == 0 {
		return nil, err
	}
	args := []any{now.UnixMilli(), len(list)}
	for i := range list {
		a := &list[i]
		switches := ""
		if a.Next.LIFO {
			switches = "l"
		}
		args = append(args, a.ID, a.Job, millisText(a.NextRun), durationText(a.Every), durationText(a.Offset), millisText(a.End), switches)
		args = appendIteration(args, a.ID, &a.Next)
	}
	reply, err := s.run(ctx, "advanceschedules", queue, args...)
	if err != nil {
		return nil, err
	}
	if len(reply) != 2*len(list) {
		return nil, unreadable(fmt.Errorf("bullmq: advance schedules on queue %q: the reply has %d elements for %d", queue, len(reply), len(list)))
	}
	out := make([]storage.Scheduled, len(list))
	for i := range list {
		code, id := reply[2*i], reply[2*i+1]
		switch code {
		case "0":
			out[i] = storage.Scheduled{ID: id, NextRun: slotOf(id)}
		case "1":
		default:
			out[i].Err = scheduleError(queue, list[i].ID, code)
		}
	}
	return out, nil
}

// RemoveSchedules implements [storage.Scheduler]. All are removed in one step.
func (s *Store) RemoveSchedules(ctx context.Context, queue string, ids ...string) ([]bool, error) {
	return s.unschedule(ctx, queue, "", ids)
}

// unschedule removes the schedules of an owner; empty: whoever's they are.
func (s *Store) unschedule(ctx context.Context, queue, owner string, ids []string) ([]bool, error) {
	if err := s.checkScheduleIDs("remove schedules", queue, ids); err != nil || len(ids) == 0 {
		return nil, err
	}
	args := make([]any, 1, 1+len(ids))
	args[0] = owner
	for _, id := range ids {
		args = append(args, id)
	}
	reply, err := s.run(ctx, "removeschedules", queue, args...)
	if err != nil {
		return nil, err
	}
	if len(reply) != len(ids) {
		return nil, unreadable(fmt.Errorf("bullmq: remove schedules on queue %q: the reply has %d elements for %d", queue, len(reply), len(ids)))
	}
	removed := make([]bool, len(ids))
	for i := range removed {
		removed[i] = reply[i] == "1"
	}
	return removed, nil
}

func (s *Store) checkScheduleIDs(op, queue string, ids []string) error {
	in := s.check(op, queue)
	for i, id := range ids {
		in.that(id != "", "id %d of %d is empty", i+1, len(ids))
	}
	return in.err()
}
