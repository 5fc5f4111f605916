package cron

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// matches tells, in the plainest way, whether a time is one of the pattern's.
func (p *Pattern) matches(at time.Time) bool {
	year, month, day := at.Date()
	return p.second.has(at.Second()) && p.minute.has(at.Minute()) && p.hour.has(at.Hour()) &&
		p.month.has(int(month)) && p.daysOf(year, int(month)).has(day)
}

func patterns() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		fields := []string{
			rapid.SampledFrom([]string{"0", "*/15", "30,45", "59"}).Draw(t, "second"),
			rapid.StringMatching(`\*|[0-5]?[0-9]|\*/[1-9]|[0-9]-[1-5][0-9](/[1-9])?|1?5,2?6`).Draw(t, "minute"),
			rapid.StringMatching(`\*|1?[0-9]|\*/[1-9]|[0-9]-1[0-9](/[1-9])?|2[0-3],[01]`).Draw(t, "hour"),
			rapid.StringMatching(`\*|\?|L|L,1|[1-9]|1[0-9]|2[0-8]|\*/[1-9]`).Draw(t, "day"),
			rapid.SampledFrom([]string{"*", "1", "2", "FEB,nov", "*/4"}).Draw(t, "month"),
			rapid.StringMatching(`\*|[0-7]|MON-FRI|[0-7]#[1-4]|[0-7]L|sat,1L|\*/[2-4]`).Draw(t, "weekday"),
		}
		return strings.Join(fields, " ")
	})
}

// TestNextAgainstScan compares with looking at each second. Days are scanned
// from a time near the one that was found, hours from the start.
func TestNextAgainstScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := patterns().Draw(t, "pattern")
		p, err := Parse(text)
		require.NoError(t, err)
		from := time.Unix(rapid.Int64Range(1700000000, 1900000000).Draw(t, "from"), 0).UTC()
		at, ok := p.Next(from, time.UTC)
		require.True(t, ok)
		require.True(t, at.After(from))
		require.True(t, p.matches(at), at)
		for day := from.Truncate(24 * time.Hour); day.Before(at); day = day.AddDate(0, 0, 1) {
			year, month, d := day.Date()
			if !p.month.has(int(month)) || !p.daysOf(year, int(month)).has(d) {
				continue
			}
			for s := max(day.Unix(), from.Unix()+1); s < min(day.Unix()+daySeconds, at.Unix()); s++ {
				require.False(t, p.matches(time.Unix(s, 0).UTC()), "%s, from %s, found %s", text, from, at)
			}
		}
	})
}

// FuzzParse: reading never fails in another way than with an error, and what
// was read has times, each after the one before, in any zone.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"* * * * * *", "0 0 29 2 *", "0 0 * 2 1#5", "@weekly", "H(1-5)/2 * * * *", "0 0 L 2 5L", "5-1 * * * *", "0 2 30 3 ?"} {
		f.Add(text, int64(1700000000), uint8(0))
		f.Add(text, int64(-3000000000), uint8(1))
	}
	f.Add("0 9 * * *", int64(2240467200), uint8(0))
	var zones []*time.Location
	for _, name := range []string{"Europe/Rome", "America/Havana", "UTC+3", "Pacific/Apia", "Australia/Lord_Howe", "Africa/Casablanca", "America/Asuncion"} {
		zone, err := LoadZone(name)
		require.NoError(f, err)
		zones = append(zones, zone)
	}
	f.Fuzz(func(t *testing.T, text string, from int64, number uint8) {
		zone := zones[int(number)%len(zones)]
		p, err := ParsePeer(text, zone.String())
		if q, strictErr := Parse(text); strictErr == nil {
			require.NoError(t, err, "what Parse reads, ParsePeer does")
			q2, err := Parse(q.Portable())
			require.NoError(t, err)
			require.Equal(t, q.minute, q2.minute)
		}
		if err != nil {
			return
		}
		at := time.Unix(from%(1<<34), 0)
		for range 5 {
			n, ok := p.Next(at, zone)
			if !ok {
				return
			}
			require.True(t, n.After(at), "%s after %s", n, at)
			require.Zero(t, n.Nanosecond())
			at = n
		}
	})
}
