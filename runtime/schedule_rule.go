package bullmq

import (
	"fmt"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/wire"
	"github.com/bullmq-gen/bullmq-gen/runtime/cron"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Check reports all that is wrong with the spec of a schedule that would be
// stored at the time given; the zero time: without looking at Start and End.
// The generator and tests use it; Schedule does the same.
func (s ScheduleSpec) Check(now time.Time) error {
	var p problems
	s.rule(now, &p)
	return p.err()
}

// rule is the spec as it is stored, with what finds the times of its pattern.
// It adds what is wrong with it.
func (s *ScheduleSpec) rule(now time.Time, p *problems) (storage.ScheduleRule, *cronSchedule) {
	r := storage.ScheduleRule{Every: s.Every, Offset: s.Offset, Limit: s.Limit, Start: s.Start, End: s.End}
	switch {
	case s.Cron != "" && s.Every != 0:
		p.add("it has both a pattern and an interval: give one of them")
	case s.Cron == "" && s.Every == 0:
		p.add("it has neither a pattern nor an interval: give one of them")
	case s.Every != 0:
		s.checkInterval(p)
	}
	if s.Limit < 0 {
		p.add("limit must be 0 or more, not %d", s.Limit)
	}
	if s.Immediately && !s.Start.IsZero() {
		p.add("it cannot both run immediately and have a start")
	}
	if !s.End.IsZero() && !s.End.After(now) {
		p.add("its end %s has passed", s.End.Format(time.RFC3339))
	}
	if !s.End.IsZero() && s.Start.After(s.End) {
		p.add("its start %s is after its end %s", s.Start.Format(time.RFC3339), s.End.Format(time.RFC3339))
	}
	if s.Cron == "" {
		return r, nil
	}
	c := s.cron(p)
	if c != nil {
		r.Pattern, r.TZ = c.pattern.Portable(), c.zone.String()
	}
	return r, c
}

func (s *ScheduleSpec) checkInterval(p *problems) {
	if s.Every < time.Millisecond || s.Every%time.Millisecond != 0 {
		p.add("interval %v must be a whole number of milliseconds above 0", s.Every)
	}
	if s.Every > wire.MaxDuration {
		p.add("interval %v is longer than 200 years", s.Every)
	}
	if s.Offset < 0 || s.Offset >= s.Every || s.Offset%time.Millisecond != 0 {
		p.add("offset %v must be a whole number of milliseconds, 0 or more and less than the interval", s.Offset)
	}
	if s.TZ != "" {
		p.add("a time zone is for patterns; intervals have none")
	}
	if s.Immediately && s.Offset != 0 {
		p.add("an interval with an offset does not run immediately, but at its offset")
	}
}

func (s *ScheduleSpec) cron(p *problems) *cronSchedule {
	if s.Offset != 0 {
		p.add("an offset is for intervals; patterns have none")
	}
	name := s.TZ
	if name == "" {
		name = "UTC"
	}
	zone, zerr := cron.LoadZone(name)
	if zerr != nil {
		p.add("%w", zerr)
	}
	pattern, err := cron.Parse(s.Cron)
	if err != nil {
		p.add("%w", err)
	}
	if zerr != nil || err != nil {
		return nil
	}
	return &cronSchedule{pattern, zone, s.Start, s.End}
}

// cronSchedule finds the times of a pattern.
type cronSchedule struct {
	pattern    *cron.Pattern
	zone       *time.Location
	start, end time.Time // zero: none
}

// next is the first time after t. ErrScheduleEnded: it is after the end.
func (c *cronSchedule) next(t time.Time) (time.Time, error) {
	if c.start.After(t) {
		t = c.start
	}
	at, ok := c.pattern.Next(t, c.zone)
	if !ok || !c.end.IsZero() && at.After(c.end) {
		return time.Time{}, fmt.Errorf("pattern %q: %w", c.pattern, storage.ErrScheduleEnded)
	}
	return at, nil
}
