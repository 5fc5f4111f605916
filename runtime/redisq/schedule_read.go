package redisq

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Schedules implements [storage.Scheduler].
func (s *Store) Schedules(ctx context.Context, queue string, ids ...string) ([]*storage.ScheduleRecord, error) {
	if err := s.checkScheduleIDs("read schedules", queue, ids); err != nil || len(ids) == 0 {
		return nil, err
	}
	b, err := s.base(queue)
	if err != nil {
		return nil, err
	}
	hashes := make([]*redis.MapStringStringCmd, len(ids))
	slots := make([]*redis.FloatCmd, len(ids))
	cmds := make([]redis.Cmder, 0, 2*len(ids))
	for i, id := range ids {
		hashes[i] = redis.NewMapStringStringCmd(ctx, "hgetall", b+"repeat:"+id)
		slots[i] = redis.NewFloatCmd(ctx, "zscore", b+"repeat", id)
		cmds = append(cmds, hashes[i], slots[i])
	}
	if err := exceptForeign(s.readAtOnce(ctx, cmds...), cmds); err != nil {
		return nil, err
	}
	records := make([]*storage.ScheduleRecord, len(ids))
	for i, id := range ids {
		if len(hashes[i].Val()) > 0 {
			records[i] = scheduleRecord(id, hashes[i].Val(), slots[i].Val())
		}
	}
	return records, nil
}

// ListSchedules implements [storage.Scheduler]. An entry of which nothing is
// stored is passed over: there may be fewer elements than asked for.
func (s *Store) ListSchedules(ctx context.Context, queue string, start, end int, asc bool) ([]storage.ScheduleRecord, error) {
	b, err := s.base(queue)
	if err != nil {
		return nil, err
	}
	verb := "zrevrange"
	if asc {
		verb = "zrange"
	}
	ids := redis.NewStringSliceCmd(ctx, verb, b+"repeat", start, end)
	if err := s.read(ctx, ids); err != nil {
		return nil, err
	}
	found, err := s.Schedules(ctx, queue, ids.Val()...)
	if err != nil {
		return nil, err
	}
	records := make([]storage.ScheduleRecord, 0, len(found))
	for _, r := range found {
		if r != nil {
			records = append(records, *r)
		}
	}
	return records, nil
}

// CountSchedules implements [storage.Scheduler].
func (s *Store) CountSchedules(ctx context.Context, queue string) (int, error) {
	b, err := s.base(queue)
	if err != nil {
		return 0, err
	}
	n := redis.NewIntCmd(ctx, "zcard", b+"repeat")
	if err := s.read(ctx, n); err != nil {
		return 0, err
	}
	return int(n.Val()), nil
}

func scheduleRecord(id string, fields map[string]string, slot float64) *storage.ScheduleRecord {
	r := &storage.ScheduleRecord{ID: id, NextRun: parseTime(strconv.FormatFloat(slot, 'f', -1, 64))}
	for name, value := range fields {
		switch name {
		case "name":
			r.Template.Name = value
		case "data":
			r.Template.Data = []byte(value)
		case "opts":
			r.Template.Opts = []byte(value)
		case "ic":
			r.Iterations = parseInt(value)
		case "pattern":
			r.Pattern = value
		case "tz":
			r.TZ = value
		case "every":
			r.Every = parseDelay(value)
		case "offset":
			r.Offset = parseDelay(value)
		case "limit":
			r.Limit = parseInt(value)
		case "startDate":
			r.Start = parseDate(value)
		case "endDate":
			r.End = parseDate(value)
		case ownerField:
			r.Owner = value
		case firstField: // of use to the script alone
		default:
			if r.Extra == nil {
				r.Extra = map[string]string{}
			}
			r.Extra[name] = value
		}
	}
	return r
}

// parseDate reads a time in milliseconds, or in the form in which older peers
// stored what their caller gave.
func parseDate(text string) time.Time {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t
	}
	return parseTime(text)
}
