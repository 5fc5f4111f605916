package directive

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/runtime/cron"
)

// ReadSchedule reads a schedule directive. It returns the argument payload=, or nil.
func (d *Directive) ReadSchedule(l *diag.List) (s *model.Schedule, payload *Arg) {
	s = &model.Schedule{}
	before := l.Errors()
	zone := time.UTC
	var start, end string
	var pattern []Arg
	d.foreignPattern()
	places, _ := d.read(setters{
		values: map[string]func(string) error{
			"every":   duration(&s.Every),
			"offset":  duration(&s.Offset),
			"id":      into(&s.ID, parseScheduleID),
			"tz":      func(text string) (err error) { s.TZ, zone, err = parseZone(text); return err },
			"limit":   into(&s.Limit, parseCount),
			"start":   func(text string) error { start = text; return nil },
			"end":     func(text string) error { end = text; return nil },
			"payload": func(string) error { return nil },
		},
		place: func(a Arg) { pattern = append(pattern, a) },
	}, l)
	s.Places = places
	d.readPattern(s, pattern, l)
	if zone != nil {
		s.Start, s.End = d.moment("start", start, zone, l), d.moment("end", end, zone, l)
	}
	s.Broken = l.Errors() > before
	return s, d.arg("payload")
}

// foreignPattern makes one argument of what other cron programs take for a
// pattern: one with its time zone in front, or @every with a duration. Package
// cron says what to write instead.
func (d *Directive) foreignPattern() {
	for i := range d.Args {
		a := &d.Args[i]
		zone := a.Key == "CRON_TZ" || a.Key == "TZ"
		if !zone && a.Text != "@every" {
			continue
		}
		a.Key, a.Value = "", ""
		end := i + 1
		for end < len(d.Args) && d.Args[end].Key == "" {
			a.Text += " " + d.Args[end].Text
			end++
		}
		d.Args = slices.Delete(d.Args, i+1, end)
		return
	}
}

// arg is the first argument of a key, or nil.
func (d *Directive) arg(key string) *Arg {
	for i, a := range d.Args {
		if a.Key == key {
			return &d.Args[i]
		}
	}
	return nil
}

// readPattern reads the words that are no keys.
func (d *Directive) readPattern(s *model.Schedule, words []Arg, l *diag.List) {
	if len(words) == 0 {
		return
	}
	s.Places["cron"] = words[0].Pos
	if whole := strings.ContainsAny(words[0].Text, " @"); whole && len(words) > 1 {
		for _, a := range words[1:] {
			if !d.reject(a.Text, a.Pos, l) {
				l.Errorf(a.Pos, "unexpected %q in %s: it takes one pattern, then keys", a.Text, d)
			}
		}
	} else if len(words) > 1 {
		texts := make([]string, len(words))
		for i, w := range words {
			texts[i] = w.Text
		}
		l.Errorf(words[0].Pos, "%s takes one pattern: quote it, as in %q", d, strings.Join(texts, " "))
		return
	}
	s.Cron = words[0].Text
	if s.Cron == "" {
		l.Errorf(words[0].Pos, "the pattern of %s is empty: write one, as in \"0 9 * * MON\"", d)
	} else if _, err := cron.Parse(s.Cron); err != nil {
		l.Errorf(words[0].Pos, "%s", oneLine(err))
	}
}

// oneLine is an error's text for messages, which have one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// moment reads a time of the directive; the zero time for "".
func (d *Directive) moment(key, text string, zone *time.Location, l *diag.List) time.Time {
	a := d.arg(key)
	if a == nil || a.Value != text {
		return time.Time{} // it is not there, or was reported already
	}
	t, err := parseMoment(text, zone)
	if err != nil {
		l.Errorf(a.ValuePos, "%s in %s: %v", key, d, err)
	}
	return t
}

// parseMoment reads a date, which is its midnight in the zone, or a time with
// its own offset from UTC.
func parseMoment(text string, zone *time.Location) (time.Time, error) {
	t, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err != nil && !outOfRange(err) {
		t, err = time.Parse(time.RFC3339, text)
	}
	switch {
	case outOfRange(err):
		return time.Time{}, fmt.Errorf("there is no such date or time as %q", text)
	case err != nil:
		return time.Time{}, fmt.Errorf("%q is not a time: write a date, 2026-03-01, or a time with its zone, 2026-03-01T09:00:00Z or 2026-03-01T09:00:00+01:00", text)
	case t.Nanosecond()%int(time.Millisecond) != 0:
		return time.Time{}, fmt.Errorf("%q is more exact than a millisecond, in which times are stored", text)
	case t.UnixMilli() <= 0:
		return time.Time{}, fmt.Errorf("%q is not after the beginning of 1970", text)
	}
	return t.UTC(), nil
}

func outOfRange(err error) bool {
	var wrong *time.ParseError
	return errors.As(err, &wrong) && strings.HasSuffix(wrong.Message, "out of range")
}

func parseZone(text string) (string, *time.Location, error) {
	zone, err := cron.LoadZone(text)
	if err != nil {
		return "", nil, err
	}
	return zone.String(), zone, nil
}

// likeJob finds ids of schedules that the jobs of other ones may have.
var likeJob = regexp.MustCompile(`:[0-9]+$`)

func parseScheduleID(text string) (string, error) {
	if err := ScheduleIDProblem(text); err != nil {
		return "", err
	}
	return text, nil
}

// ScheduleIDProblem says what is wrong with the id of a schedule, or nil.
func ScheduleIDProblem(id string) error {
	if strings.TrimSpace(id) == "" {
		return errors.New("it is empty: write one, or leave id= out")
	}
	if likeJob.MatchString(id) {
		return fmt.Errorf("the id %q ends with a colon and a number, as those of a schedule's jobs do: write it otherwise", id)
	}
	return NameProblem(id, "schedule")
}
