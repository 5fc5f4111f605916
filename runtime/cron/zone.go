package cron

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // programs in images without a zone database have one too
)

// LoadZone returns the zone of a name: one of the IANA database, such as
// Europe/Paris, "UTC", or a fixed offset such as UTC+2 or UTC+5:30. As for peers,
// capital letters make no difference; the zone's own name has the usual ones.
// "" and "Local" are no zones: what the machine's is differs from one to another.
func LoadZone(name string) (*time.Location, error) {
	if offset, ok := fixedOffset(name); ok {
		return time.FixedZone(strings.ToUpper(name), offset), nil
	}
	if name == "" || strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("time zone %q: give the name of a zone, such as Europe/Paris or UTC", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		zone, err = time.LoadLocation(usualLetters(name))
	}
	if err != nil {
		return nil, fmt.Errorf("time zone %q is not known: give the name of a zone, such as Europe/Paris, UTC or UTC+2", name)
	}
	return zone, nil
}

// usualLetters writes the name of a zone as the database does: "UTC" and "GMT",
// and the words of all others with one capital letter.
func usualLetters(name string) string {
	if len(name) == 3 {
		return strings.ToUpper(name)
	}
	b := []byte(strings.ToLower(name))
	for i, c := range b {
		if (i == 0 || b[i-1] == '/' || b[i-1] == '_' || b[i-1] == '-') && 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

// fixedOffset reads "UTC+h" and "UTC+h:mm", in seconds east.
func fixedOffset(name string) (int, bool) {
	if len(name) < 5 || !strings.EqualFold(name[:3], "UTC") || name[3] != '+' && name[3] != '-' {
		return 0, false
	}
	rest := name[3:]
	hours, minutes, split := strings.Cut(rest[1:], ":")
	h, err := strconv.ParseUint(hours, 10, 8)
	if err != nil || len(hours) > 2 || h > 23 {
		return 0, false
	}
	var m uint64
	if split {
		if m, err = strconv.ParseUint(minutes, 10, 8); err != nil || len(minutes) != 2 || m > 59 {
			return 0, false
		}
	}
	offset := int(h*3600 + m*60)
	if rest[0] == '-' {
		offset = -offset
	}
	return offset, true
}

// stretch is a time of constant offset: from start, until before end.
type stretch struct{ start, end, offset int64 }

// far stands for the ends of time: later or earlier than any time of a pattern.
const far = math.MaxInt64 / 4

func stretchAt(t int64, zone *time.Location) stretch {
	at := time.Unix(t, 0).In(zone)
	_, offset := at.Zone()
	s := stretch{start: -far, end: far, offset: int64(offset)}
	start, end := at.ZoneBounds()
	if !start.IsZero() {
		s.start = min(t, start.Unix())
	}
	if !end.IsZero() {
		s.end = end.Unix()
	}
	// On the last day of leap years after those of its table, ZoneBounds names an end that has passed.
	if s.end <= t {
		s.end = (floorDiv(t, daySeconds) + 1) * daySeconds
	}
	return s
}

// instant is the time after t at which a clock on the wall shows what is given.
// If it does so twice, it is the first one, unless t is between them or the
// pattern skips it. Without a time, the clock never shows it: it is in a gap.
func (p *Pattern) instant(wall, t int64, zone *time.Location) (int64, bool) {
	for from := wall - 2*daySeconds; ; {
		s := stretchAt(from, zone)
		at := wall - s.offset
		switch {
		case at >= s.end:
			from = s.end
		case at < s.start:
			return 0, false
		case t >= s.end || p.skipsFirst(wall, t, s, zone):
			return wall - stretchAt(s.end, zone).offset, true
		default:
			return at, true
		}
	}
}

// afterGap is the time that stands for one in the gap between two stretches:
// the same minute of the first hour after it or, in a gap that ends within that
// hour, as much later as the clock is put forward.
func afterGap(wall int64, before, after stretch) int64 {
	closes := after.start + after.offset
	moved := floorDiv(closes, 3600)*3600 + wall - floorDiv(wall, 3600)*3600
	if moved < closes {
		moved = wall + after.offset - before.offset
	}
	return moved - after.offset
}

func isMidnight(wall int64) bool { return floorDiv(wall, daySeconds)*daySeconds == wall }
