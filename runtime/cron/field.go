package cron

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/bits"
	"strconv"
	"strings"
)

// set is a set of the numbers 0 to 63.
type set uint64

func (s set) has(n int) bool { return s>>n&1 == 1 }

// from is the smallest member that is n or more, or 64.
func (s set) from(n int) int {
	if n > 63 {
		return 64
	}
	return bits.TrailingZeros64(uint64(s>>n)) + n
}

func span(low, high, step int) set {
	var s set
	for n := low; n <= high; n += step {
		s |= 1 << n
	}
	return s
}

// place is one of the six places of a field.
type place struct {
	name      string
	low, high int
	names     []string // of the numbers from low on
}

var places = [6]place{
	{name: "second", low: 0, high: 59},
	{name: "minute", low: 0, high: 59},
	{name: "hour", low: 0, high: 23},
	{name: "day of month", low: 1, high: 31},
	{name: "month", low: 1, high: 12, names: monthNames},
	{name: "day of week", low: 0, high: 7, names: weekdayNames},
}

const (
	dayPlace     = 3
	monthPlace   = 4
	weekdayPlace = 5
)

var (
	monthNames   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	weekdayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
)

// reader reads fields; see Parse and ParsePeer.
type reader struct {
	strict bool
	seed   string
}

// field reads the field of a place into a set, or into the pattern where the
// set cannot hold it.
func (r *reader) field(p *Pattern, at *place, text string, to *set) error {
	isDay, isWeekday := at == &places[dayPlace], at == &places[weekdayPlace]
	if text == "*" || text == "?" && (isDay || isWeekday || !r.strict) {
		*to = span(at.low, at.high, 1)
		if isWeekday {
			*to = span(0, 6, 1)
		}
		p.anyDay = p.anyDay || isDay
		p.anyWeekday = p.anyWeekday || isWeekday
		return nil
	}
	if isWeekday && strings.Contains(text, "#") {
		return r.nthWeekday(p, at, text)
	}
	for _, item := range strings.Split(text, ",") {
		var err error
		switch {
		case isDay && item == "L":
			p.lastDay = true
		case isWeekday && strings.HasSuffix(item, "L"):
			err = r.lastWeekday(p, at, item)
		default:
			err = r.item(at, item, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) nthWeekday(p *Pattern, at *place, text string) error {
	day, nth, _ := strings.Cut(text, "#")
	if strings.ContainsAny(text, ",-/") {
		return errors.New("# is not combined with a list, range or step: use one schedule for each")
	}
	n, err := strconv.Atoi(nth)
	if err != nil || n < 1 || n > 5 {
		return fmt.Errorf("%q after # must be a number from 1 to 5", nth)
	}
	v, err := r.number(at, day)
	if err != nil {
		return err
	}
	p.weekdays, p.nth = 1<<(v%7), n
	return nil
}

func (r *reader) lastWeekday(p *Pattern, at *place, item string) error {
	if item == "L" {
		return errors.New("it needs a day of the week before L, as in 5L")
	}
	v, err := r.number(at, strings.TrimSuffix(item, "L"))
	if err != nil {
		return err
	}
	p.lastWeekdays |= 1 << (v % 7)
	return nil
}

// item reads a number, range or step, and adds it to the set.
func (r *reader) item(at *place, item string, to *set) error {
	if item == "" {
		return errors.New("there is nothing between two commas, or before or after one")
	}
	base, step, stepped := strings.Cut(item, "/")
	n := 1
	if stepped {
		var err error
		if n, err = strconv.Atoi(step); err != nil || n < 1 || step[0] == '+' {
			return fmt.Errorf("step %q must be a number above 0", step)
		}
	}
	low, high, err := r.ends(at, base, &n, stepped)
	if err != nil {
		return err
	}
	found := span(low, high, min(n, 64))
	if at == &places[weekdayPlace] && found.has(7) {
		found = found&^(1<<7) | 1
	}
	if r.strict && *to&found != 0 {
		return fmt.Errorf("%d is listed twice, which 6.x peers refuse", (*to & found).from(0))
	}
	*to |= found
	return nil
}

// ends reads what stands before a step.
func (r *reader) ends(at *place, base string, step *int, stepped bool) (low, high int, err error) {
	isDays := at == &places[dayPlace] || at == &places[weekdayPlace]
	switch {
	case base == "*", base == "?" && (isDays || !r.strict):
		low, high = at.low, at.high
		if at == &places[weekdayPlace] && *step == 1 {
			high = 6 // 7 is 0 again
		}
		return low, high, nil
	case strings.HasPrefix(base, "H"):
		return r.hashed(at, base, step, stepped)
	}
	first, last, ranged := strings.Cut(base, "-")
	if low, err = r.number(at, first); err != nil {
		return 0, 0, err
	}
	switch {
	case ranged:
		if high, err = r.number(at, last); err != nil {
			return 0, 0, err
		}
	case stepped:
		high = at.high
	default:
		high = low
	}
	if low > high {
		return 0, 0, fmt.Errorf("range %q goes backwards: write two, as in %s-%d,%d-%s", base, first, at.high, at.low, last)
	}
	return low, high, nil
}

// number reads a number, or a name, of a place.
func (r *reader) number(at *place, text string) (int, error) {
	if n, ok := at.named(text); ok {
		return n, nil
	}
	if !r.strict { // 6.x takes names of months and days in either of their places
		for i := range places {
			if n, ok := places[i].named(text); ok && at.names != nil && n <= at.high {
				return n, nil
			}
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || text[0] == '+' || text[0] == '-' {
		return 0, fmt.Errorf("%q is not %s", text, at.expected())
	}
	if n < at.low || n > at.high {
		return 0, fmt.Errorf("%d is not from %d to %d", n, at.low, at.high)
	}
	return n, nil
}

func (at *place) named(text string) (int, bool) {
	for i, name := range at.names {
		if strings.EqualFold(name, text) {
			return at.low + i, true
		}
	}
	return 0, false
}

func (at *place) expected() string {
	if at.names == nil {
		return fmt.Sprintf("a number from %d to %d", at.low, at.high)
	}
	return fmt.Sprintf("a number from %d to %d or a name such as %s", at.low, at.high, strings.ToUpper(at.names[1]))
}

// hashed reads H, H/n, H(a-b) and H(a-b)/n: a value, or the first of the steps.
func (r *reader) hashed(at *place, base string, step *int, stepped bool) (low, high int, err error) {
	if r.strict {
		return 0, 0, errors.New("an H is another time at each reading of the pattern: give the number itself")
	}
	low, high = at.low, at.high
	switch at {
	case &places[dayPlace]:
		high = 28 // every month has it
	case &places[weekdayPlace]:
		high = 6
	}
	if within, ok := strings.CutPrefix(base, "H("); ok {
		first, last, ok := strings.Cut(strings.TrimSuffix(within, ")"), "-")
		if !ok || !strings.HasSuffix(within, ")") {
			return 0, 0, fmt.Errorf("%q must have the form H(a-b)", base)
		}
		if low, high, err = r.ends(at, first+"-"+last, step, stepped); err != nil {
			return 0, 0, err
		}
	} else if base != "H" {
		return 0, 0, fmt.Errorf("%q must have the form H or H(a-b)", base)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(at.name + " " + r.seed)) // a hash takes all
	value := h.Sum64() >> 1
	if stepped {
		return low + int(value%uint64(min(*step, high-low+1))), high, nil
	}
	low += int(value % uint64(high-low+1))
	return low, low, nil
}
