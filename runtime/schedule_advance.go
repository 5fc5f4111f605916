package bullmq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/cron"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/runner"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// repeatOptions are what peers keep, in the options of a schedule's job, about
// the schedule that made it. Dates may be numbers of milliseconds, or text.
type repeatOptions struct {
	Pattern   string          `json:"pattern"`
	Cron      string          `json:"cron"` // as older peers called it
	TZ        string          `json:"tz"`
	UTC       bool            `json:"utc"`
	Every     float64         `json:"every"`
	Offset    float64         `json:"offset"`
	Limit     float64         `json:"limit"`
	Count     float64         `json:"count"`
	StartDate json.RawMessage `json:"startDate"`
	EndDate   json.RawMessage `json:"endDate"`
	HashSeed  json.RawMessage `json:"hashSeed"`
}

// iteration is what follows a schedule's job.
type iteration struct {
	advance storage.Advance
	cron    *cronSchedule // nil: an interval
}

// advanceSchedule makes the next job of the schedule that made a job, which
// this worker has just taken. It does nothing when the schedule has ended, was
// removed, or goes on from another job than this one: so it is harmless to do
// it again.
func (w *Worker) advanceSchedule(ctx context.Context, j *ActiveJob) error {
	now := w.now()
	it, err := nextIteration(j, now)
	if err != nil || it == nil {
		return err
	}
	if it.cron != nil && it.cron.zone == time.Local {
		w.warnOfZone(j, it.cron)
	}
	for try := 1; ; try++ {
		out, err := w.store.AdvanceSchedules(ctx, j.Queue, now, []storage.Advance{it.advance})
		if err != nil {
			return err
		}
		err = out[0].Err
		if errors.Is(err, storage.ErrRunTaken) && it.cron != nil && try < runTries {
			if it.advance.NextRun, err = it.cron.next(it.advance.NextRun); err == nil {
				continue
			}
		}
		if errors.Is(err, storage.ErrScheduleEnded) {
			return nil
		}
		return err
	}
}

// warnOfZone says, once for each schedule, that its times depend on the machine.
func (w *Worker) warnOfZone(j *ActiveJob, c *cronSchedule) {
	if _, warned := w.zoneless.LoadOrStore(j.ScheduleID, true); !warned {
		w.log.Warn("bullmq: a peer stored a schedule without a time zone: its times are by the zone of whichever machine takes a job; store it with one",
			"queue", j.Queue, "schedule", j.ScheduleID, "pattern", c.pattern.String(), "zone here", time.Now().Location().String())
	}
}

// nextIteration builds the job that follows a schedule's job; nil: there is none.
func nextIteration(j *ActiveJob, now time.Time) (*iteration, error) {
	var opts, repeat map[string]json.RawMessage
	var r repeatOptions
	if err := json.Unmarshal(j.run.Record.Opts, &opts); err != nil {
		return nil, fmt.Errorf("options of the job: %w", err)
	}
	if len(opts["repeat"]) == 0 || string(opts["repeat"]) == "null" {
		return nil, nil // it only names a schedule
	}
	if err := errors.Join(json.Unmarshal(opts["repeat"], &repeat), json.Unmarshal(opts["repeat"], &r)); err != nil {
		return nil, fmt.Errorf(`option "repeat" of the job: %w`, err)
	}
	count, end := r.Count+1, repeatDate(r.EndDate)
	if r.Limit > 0 && count > r.Limit || !end.IsZero() && now.After(end) {
		return nil, nil
	}
	it := &iteration{advance: storage.Advance{
		ID: j.ScheduleID, Job: j.ID, Every: millisDuration(r.Every), Offset: millisDuration(r.Offset), End: end,
	}}
	if err := it.findNextRun(&r, opts["prevMillis"], now); err != nil {
		if errors.Is(err, storage.ErrScheduleEnded) {
			return nil, nil
		}
		return nil, err
	}
	repeat["count"] = strconv.AppendFloat(nil, count, 'f', -1, 64)
	for _, name := range []string{"jobId", "delay", "prevMillis"} { // the slot determines them
		delete(opts, name)
	}
	opts["timestamp"] = strconv.AppendInt(nil, now.UnixMilli(), 10)
	var err, err2 error
	opts["repeat"], err = json.Marshal(repeat)
	it.advance.Next = storage.Iteration{Priority: j.Options.Priority, LIFO: j.Options.LIFO}
	it.advance.Next.Opts, err2 = json.Marshal(opts)
	if d := j.Options.Dedup; d != nil {
		it.advance.Next.DedupID = d.ID
	}
	return it, errors.Join(err, err2)
}

// findNextRun finds the next time of a pattern: after now, and after the time of
// the job that was taken, which may have been made to run early.
func (it *iteration) findNextRun(r *repeatOptions, prevMillis json.RawMessage, now time.Time) error {
	text := r.Pattern
	if text == "" {
		text = r.Cron
	}
	if text == "" {
		return nil
	}
	seed := it.advance.ID
	if len(r.HashSeed) > 0 {
		seed = string(r.HashSeed)
	}
	pattern, err := cron.ParsePeer(text, seed)
	if err != nil {
		return err
	}
	zone, err := r.zone()
	if err != nil {
		return err
	}
	it.cron = &cronSchedule{pattern, zone, repeatDate(r.StartDate), it.advance.End}
	after := now
	if prev := repeatDate(prevMillis); prev.After(after) {
		after = prev
	}
	it.advance.NextRun, err = it.cron.next(after)
	return err
}

// zone is that of a pattern. Without one peers use the zone of their own
// machine, and so must we.
func (r *repeatOptions) zone() (*time.Location, error) {
	switch {
	case r.TZ == "" && r.UTC:
		return time.UTC, nil
	case r.TZ == "" || r.TZ == "local" || r.TZ == "system":
		return time.Local, nil
	}
	return cron.LoadZone(r.TZ)
}

// repeatDate reads a number of milliseconds or a text; what is neither is no time.
func repeatDate(raw json.RawMessage) time.Time {
	var ms float64
	if json.Unmarshal(raw, &ms) == nil && ms != 0 && math.Abs(ms) < 1<<53 {
		return time.UnixMilli(int64(ms))
	}
	var t time.Time
	_ = json.Unmarshal(raw, &t) // leaves the zero time
	return t
}

// keepSchedule advances the schedule of a job that is about to run. While the
// storage is away it tries again, for as long as a lock lasts. It returns an error
// when this worker is not to run the job: its lock is lost, the worker stops, or
// the storage did not answer in time; whoever takes the job next advances the
// schedule, so that it never ends because of that. Whatever else goes wrong is
// reported, and no reason to leave the job undone.
func (w *Worker) keepSchedule(ctx context.Context, j *ActiveJob) error {
	err := j.insist(ctx, outage.AdvanceSchedule, false, func(ctx context.Context) error { return w.advanceSchedule(ctx, j) })
	var set *runner.SetBack
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrLockLost):
		return err
	case errors.As(err, &set):
		return &runner.SetBack{Err: fmt.Errorf("bullmq: schedule %q on queue %q: no job was added after %q: %w", j.ScheduleID, j.Queue, j.ID, set.Err), Unstarted: true}
	}
	w.engine.Report(fmt.Errorf("bullmq: schedule %q on queue %q: no job was added after %q; store the schedule again for it to go on: %w", j.ScheduleID, j.Queue, j.ID, err))
	return nil
}
