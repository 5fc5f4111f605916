package manifest

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// Schedule is a job schedule that a task declares, under BullMQ's names and
// with times in milliseconds.
type Schedule struct {
	ID        string     `json:"id"`
	Pattern   string     `json:"pattern,omitempty"`
	TZ        string     `json:"tz,omitempty"`
	Every     int64      `json:"every,omitempty"`
	Offset    int64      `json:"offset,omitempty"`
	Limit     int        `json:"limit,omitempty"`
	StartDate *time.Time `json:"startDate,omitempty"`
	EndDate   *time.Time `json:"endDate,omitempty"`
	// Payload is the Go variable or function that the data of its jobs comes
	// from; empty: it is the type's zero value.
	Payload string `json:"payload,omitempty"`
}

// schedules are those of a task, sorted by id.
func schedules(t *model.Task) []*Schedule {
	var out []*Schedule
	for _, s := range t.Schedules {
		one := &Schedule{
			ID: s.ID, Pattern: s.Cron, TZ: s.TZ, Every: s.Every.Milliseconds(), Offset: s.Offset.Milliseconds(), Limit: s.Limit,
			StartDate: zeroIsNil(s.Start), EndDate: zeroIsNil(s.End),
		}
		if s.Payload != nil {
			one.Payload = s.Payload.Name
		}
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b *Schedule) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// words say when it adds jobs, as directives have it.
func (s *Schedule) words() string {
	when := `"` + s.Pattern + `"`
	if s.Every > 0 {
		when = "every=" + short(s.Every)
	}
	if s.TZ != "" {
		when += " tz=" + s.TZ
	}
	return "schedule " + s.ID + " " + when
}

// schedules compares what two versions of a task declare. Those that are stored
// are brought in line by the program, so no change of them breaks anything.
func (c *comparison) schedules(queue string, was, now *Task) {
	find := func(list []*Schedule, id string) *Schedule {
		if i := slices.IndexFunc(list, func(s *Schedule) bool { return s.ID == id }); i >= 0 {
			return list[i]
		}
		return nil
	}
	for _, s := range was.Schedules {
		switch is := find(now.Schedules, s.ID); {
		case is == nil:
			c.add(Safe, queue, was.Name, "the schedule %s is gone: PruneSchedules ends it", s.ID)
		case !reflect.DeepEqual(s, is):
			c.add(Safe, queue, was.Name, "the schedule %s has changed: EnsureSchedules stores it anew", s.ID)
		}
	}
	for _, s := range now.Schedules {
		if find(was.Schedules, s.ID) == nil {
			c.add(Safe, queue, was.Name, "the schedule %s is new: EnsureSchedules stores it", s.ID)
		}
	}
}
