// Package cron reads cron patterns and finds their times, as BullMQ for
// Node.js does: a schedule that is worked by programs in both languages must
// have the same times in both.
//
// A pattern has five fields, or six with seconds first:
//
//	second 0-59   minute 0-59   hour 0-23   day of month 1-31   month 1-12   day of week 0-7
//
// Months and days of the week have names of three letters too (JAN, mon), and
// both 0 and 7 are Sunday. Peers also take fewer than five fields, for the last
// ones: [ParsePeer] reads such a pattern, and [Parse] refuses it.
//
// A field is a list, separated by commas, of *, a, a-b, */n, a/n (from a on)
// and a-b/n. A ? is a * in the two fields of days. Further, L as a day of the
// month is its last day, 5L as a day of the week the last Friday of the month,
// and 1#2 the second Monday. When both fields of days are restricted, a day
// needs to match one of them only.
//
// @yearly, @monthly, @weekly, @daily and @hourly stand for the patterns of
// these names, at midnight or at minute 0, and so do @annually, @weekdays,
// @weekends, @minutely and @secondly, which 5.x peers do not know.
//
// A pattern that lists hours runs at each time of them once. Where clocks are put
// forward, all times in the gap move into the first hour after it. Where clocks
// are put back, the first time counts. A pattern whose hour is * follows real
// time. If a gap begins at midnight, its times are left out.
package cron

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNever is the error of a pattern that no date matches, such as one of 30 February.
var ErrNever = errors.New("no date ever matches it")

// Pattern is a cron pattern that was read. It is not changed once it is made,
// and safe for concurrent use.
type Pattern struct {
	text string // as it was given, without blanks around it

	second, minute, hour, month set
	days                        set  // of the month
	lastDay                     bool // of the month
	weekdays                    set  // 0 is Sunday; with nth only the nth of the month
	lastWeekdays                set  // those that match as the last one of the month
	nth                         int  // 1 to 5, or 0

	anyDay, anyWeekday bool // the field is a plain * or ?
}

// Parse reads a pattern that all peers read, and with the same meaning. It must
// have five or six fields, or be a name such as @daily: with fewer fields peers
// put stars in front, so that "20 15 * *" runs each minute from 20:00 to 20:59 on
// the 15th, which nobody means. What is wrong with a pattern is in one error.
func Parse(text string) (*Pattern, error) {
	return parse(text, &reader{strict: true})
}

// ParsePeer reads a pattern that a peer stored: unlike Parse it accepts what
// only one release of the peers does. An H of 6.x, which stands for some value
// and for another one each time that a peer reads it, is a value that depends
// on seed.
func ParsePeer(text, seed string) (*Pattern, error) {
	return parse(text, &reader{seed: seed})
}

// String is the pattern as it was given.
func (p *Pattern) String() string { return p.text }

// Portable is the pattern in a form that all peers read.
func (p *Pattern) Portable() string {
	if m, ok := predefined[p.text]; ok && !m.everywhere {
		return m.fields
	}
	return p.text
}

// predefined are the patterns that have a name.
var predefined = map[string]struct {
	fields     string
	everywhere bool // also 5.x peers know it
}{
	"@yearly":   {"0 0 1 1 *", true},
	"@monthly":  {"0 0 1 * *", true},
	"@weekly":   {"0 0 * * 0", true},
	"@daily":    {"0 0 * * *", true},
	"@hourly":   {"0 * * * *", true},
	"@annually": {"0 0 1 1 *", false},
	"@weekdays": {"0 0 * * 1-5", false},
	"@weekends": {"0 0 * * 0,6", false},
	"@minutely": {"* * * * *", false},
	"@secondly": {"* * * * * *", false},
}

func parse(text string, r *reader) (*Pattern, error) {
	p := &Pattern{text: strings.TrimSpace(text)}
	fields := strings.Fields(p.text)
	if m, ok := predefined[p.text]; ok {
		fields = strings.Fields(m.fields)
	} else if err := form(p.text, fields, r.strict); err != nil {
		return nil, fmt.Errorf("cron pattern %q %w", text, err)
	}
	padded := []string{"0", "*", "*", "*", "*", "*"}
	copy(padded[6-len(fields):], fields)
	var problems []error
	for i, to := range []*set{&p.second, &p.minute, &p.hour, &p.days, &p.month, &p.weekdays} {
		if err := r.field(p, &places[i], padded[i], to); err != nil {
			problems = append(problems, fmt.Errorf("%s %q: %w", places[i].name, padded[i], err))
		}
	}
	if len(problems) == 0 {
		problems = p.impossible(r.strict)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("cron pattern %q: %w", text, errors.Join(problems...))
	}
	return p, nil
}

const names = "@yearly, @monthly, @weekly, @daily or @hourly"

// form says what is wrong with a pattern that has none of the names, before its
// fields are looked at, or nil.
func form(text string, fields []string, strict bool) error {
	const all = "five fields (minute, hour, day of month, month, day of week), or six with seconds first"
	first := append(fields, "")[0]
	switch zone, tz := cutZone(first); {
	case tz:
		rest := strings.Join(fields[1:], " ")
		return fmt.Errorf("has the time zone inside: write the pattern alone, %q, and the zone beside it, tz=%s in a directive or TZ: %q in a ScheduleSpec", rest, zone, zone)
	case first == "@every":
		every := strings.Join(fields[1:], " ")
		return fmt.Errorf("is an interval and no pattern: write every=%s in a directive, or Every in a ScheduleSpec", every)
	case first == "@midnight":
		return errors.New("has a name that there is none of: write @daily")
	case strings.HasPrefix(first, "@"):
		return fmt.Errorf("has a name that there is none of: use %s, or five fields", names)
	case len(fields) > 6:
		return fmt.Errorf("has %d fields: write %s", len(fields), all)
	case !strict || len(fields) >= 5:
		return nil
	case len(fields) == 0:
		return fmt.Errorf("has no fields: write %s", all)
	}
	stars := func(n int) string { return strings.Repeat("* ", n) }
	missing := 5 - len(fields)
	return fmt.Errorf("has %d of five fields: write all of them, %q if what is missing is on the right, or %q, which is what Node programs take it for",
		len(fields), text+" "+strings.TrimSpace(stars(missing)), stars(missing)+text)
}

// cutZone splits the time zone off that other cron programs take in front of a
// pattern: CRON_TZ=Europe/Paris or TZ=Europe/Paris.
func cutZone(field string) (zone string, ok bool) {
	for _, key := range []string{"CRON_TZ=", "TZ="} {
		if zone, ok := strings.CutPrefix(field, key); ok {
			return zone, true
		}
	}
	return "", false
}

// impossible tells whether no date matches the days of the month in any of the
// months. Unless it is to be strict, days of the week that match make up for that.
func (p *Pattern) impossible(strict bool) []error {
	if p.anyDay || p.lastDay && !strict || !p.anyWeekday && !strict {
		return nil
	}
	longest := 0
	for m := 1; m <= 12; m++ {
		if p.month.has(m) {
			longest = max(longest, monthLength(2024, m)) // a year with 29 February
		}
	}
	if p.days == 0 || p.days.from(1) <= longest {
		return nil
	}
	return []error{fmt.Errorf("day of month %d is in none of the months: %w", p.days.from(1), ErrNever)}
}
