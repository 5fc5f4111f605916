package cron

import "time"

const daySeconds = 24 * 60 * 60

// cycle is after how many months the calendar repeats itself, weekdays included.
const cycle = 400 * 12

// Next is the first time of the pattern after t, by the clock of a zone, which
// is a whole second. It is false when there is none within 400 years, which
// happens to no pattern but one that only gaps of the clock match.
func (p *Pattern) Next(t time.Time, zone *time.Location) (time.Time, bool) {
	var at int64
	var ok bool
	if p.everyHour() {
		at, ok = p.nextElapsed(t.Unix(), zone)
	} else {
		at, ok = p.nextListed(t.Unix(), zone)
	}
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(at, 0).In(zone), true
}

// nextElapsed is for patterns of every hour: they follow real time, so that
// within each stretch of constant offset the calendar is all that counts.
// Times are in seconds since 1970; those of a clock on the wall are counted as
// if it showed UTC.
func (p *Pattern) nextElapsed(t int64, zone *time.Location) (int64, bool) {
	for limit := t + 400*366*daySeconds; t < limit; {
		s := stretchAt(t+1, zone)
		wall, ok := p.nextWall(t + s.offset)
		if !ok {
			return 0, false
		}
		if at := wall - s.offset; at < s.end && !p.skipsFirst(wall, t, s, zone) {
			return at, true
		}
		t = s.end - 1
	}
	return 0, false
}

// nextListed is for patterns that list hours: each time on the wall is one
// time, also one that a gap of the clock leaves out, which moves behind the gap.
func (p *Pattern) nextListed(t int64, zone *time.Location) (int64, bool) {
	limit := t + 400*366*daySeconds
	at, ok := p.nextShown(t, limit, zone)
	if ok {
		limit = at
	}
	if moved, ok := p.nextMoved(t, limit, zone); ok && moved < limit {
		return moved, true
	}
	return at, ok
}

// nextShown is the next time after t that a clock on the wall shows.
func (p *Pattern) nextShown(t, limit int64, zone *time.Location) (int64, bool) {
	wall := t + stretchAt(t, zone).offset
	for wall < limit {
		var ok bool
		if wall, ok = p.nextWall(wall); !ok {
			return 0, false
		}
		if at, ok := p.instant(wall, t, zone); ok && at > t {
			return at, true
		}
	}
	return 0, false
}

// nextMoved is the next time after t that stands for one in a gap. Gaps that
// begin at the limit or later are not looked at.
func (p *Pattern) nextMoved(t, limit int64, zone *time.Location) (int64, bool) {
	for after := stretchAt(t, zone); after.start < limit; after = stretchAt(after.end, zone) {
		if after.start > t-daySeconds {
			if at, ok := p.movedOut(stretchAt(after.start-1, zone), after, t); ok {
				return at, true
			}
		}
		if after.end == far {
			break
		}
	}
	return 0, false
}

// movedOut is the first time after t that stands for one in the gap between two
// stretches, if there is a gap.
func (p *Pattern) movedOut(before, after stretch, t int64) (int64, bool) {
	opens, closes := after.start+before.offset, after.start+after.offset
	if isMidnight(floorDiv(opens, 3600) * 3600) { // peers leave out what is in such a gap
		return 0, false
	}
	for wall := opens - 1; ; {
		var ok bool
		if wall, ok = p.nextWall(wall); !ok || wall >= closes {
			return 0, false
		}
		if at := afterGap(wall, before, after); at > t {
			return at, true
		}
	}
}

// skipsFirst reports whether a time on the wall that stretch s has, and that
// comes again after its end, is left out this time: the clock is put back to
// midnight, and peers begin that day at its second midnight. They begin it at
// the first one if they come to that day hour by hour, month by month, or from
// a day before the last.
func (p *Pattern) skipsFirst(wall, t int64, s stretch, zone *time.Location) bool {
	if s.end == far {
		return false
	}
	from, back := t+s.offset, s.end+stretchAt(s.end, zone).offset
	again := s.end + s.offset - back // how long the clock shows the same again
	if again <= 0 || !isMidnight(back) || wall < back || from >= back {
		return false
	}
	year, month, day := time.Unix(back-1, 0).UTC().Date()
	switch {
	case !p.month.has(int(month)):
		y, m, _ := time.Unix(from, 0).UTC().Date()
		return y == year && m == month
	case !p.daysOf(year, int(month)).has(day):
		return from >= back-daySeconds+again
	}
	return !p.everyHour() && !(from >= back-60*60 && p.hour.has(23))
}

func (p *Pattern) everyHour() bool { return p.hour == span(0, 23, 1) }

// nextWall is the first time on the wall after the one given that the pattern matches.
func (p *Pattern) nextWall(wall int64) (int64, bool) {
	wall++
	day := floorDiv(wall, daySeconds)
	second := int(wall - day*daySeconds)
	year, m, d := time.Unix(day*daySeconds, 0).UTC().Date()
	month := int(m)
	if p.month.has(month) && p.daysOf(year, month).has(d) {
		if s, ok := p.inDay(second); ok {
			return day*daySeconds + s, true
		}
	}
	from := d + 1
	for range cycle + 1 {
		if p.month.has(month) {
			if d := p.daysOf(year, month).from(from); d <= 31 {
				s, _ := p.inDay(0)
				return time.Date(year, time.Month(month), d, 0, 0, 0, 0, time.UTC).Unix() + s, true
			}
		}
		from = 1
		if month++; month > 12 {
			year, month = year+1, 1
		}
	}
	return 0, false
}

// inDay is the first second of a day, at or after the one given, that the pattern matches.
func (p *Pattern) inDay(second int) (int64, bool) {
	h, m, s := second/3600, second/60%60, second%60
	if s = p.second.from(s); s > 59 {
		s, m = p.second.from(0), m+1
	}
	if !p.hour.has(h) || p.minute.from(m) > 59 {
		if p.hour.has(h) {
			h++
		}
		h, m, s = p.hour.from(h), 0, p.second.from(0)
	}
	if h > 23 {
		return 0, false
	}
	if n := p.minute.from(m); n != m {
		m, s = n, p.second.from(0)
	}
	return int64(h*3600 + m*60 + s), true
}

// daysOf are the days of a month that the two fields of days match.
func (p *Pattern) daysOf(year, month int) set {
	length := monthLength(year, month)
	all := span(1, length, 1)
	days := p.days & all
	if p.lastDay {
		days |= 1 << length
	}
	if p.anyWeekday {
		return days
	}
	first := int(time.Date(year, time.Month(month), 1, 0, 0, 0, 0, time.UTC).Weekday())
	var weekdays set
	for d := 1; d <= length; d++ {
		w := (first + d - 1) % 7
		if p.weekdays.has(w) && (p.nth == 0 || (d-1)/7+1 == p.nth) || p.lastWeekdays.has(w) && d+7 > length {
			weekdays |= 1 << d
		}
	}
	if p.anyDay {
		return weekdays
	}
	return days | weekdays
}

func monthLength(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
