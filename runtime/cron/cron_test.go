package cron

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestC057DialectOfPeers reads what peers read, and refuses what they refuse.
// Package interop has the same patterns asked of the peers themselves.
func TestC057DialectOfPeers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0 9 * * MON-FRI", "0 0 12 ? * 2#1", "*/20 * * * * *", "0 0 L * *", "0 0 L,15 * *",
		"0 0 * * 5L", "0 0 * * friL", "0 0 * * 7L", "0 0 * * 1,5L", "0 0 * * MON#2", "0 0 * * 7#1", "0 0 * * 5-7", "0 0 * * 0-7",
		"0 0 1 JAN-mar/2 *", "0 0 * jan/3 *", "5/10 * * * *", "5/100 * * * *", "0 0 */100 * *", "0 0 ?/2 * *", "01 00 001 * *",
		"@daily", " @daily ", "@weekdays", "0 0 29 2 *", "0 0 31 2-4 *", "\t0  12 * * * ", "0 0 30,1 2 *", "0 0 1,15 * 1,2", "0-59/60 * * * *",
	} {
		p, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, strings.TrimSpace(text), p.String())
		_, err = ParsePeer(text, "")
		require.NoError(t, err, text)
	}
}

func TestC057RefusedByPeers(t *testing.T) {
	t.Parallel()
	for text, words := range map[string]string{
		"0 0 30 2 *":                   "no date ever",
		"0 0 31 2,4,6 *":               "no date ever",
		"0 0 31 11 ?":                  "day of month 31 is in none of the months",
		"0 0 0 0 0 0 0":                "7 fields",
		"0 22-2 * * *":                 "22-23,0-2",
		"0 0 * * FRI-SUN":              "goes backwards",
		"0 0 * * L":                    "as in 5L",
		"0 0 * * 8":                    "8 is not from 0 to 7",
		"0 0 * * 1#6":                  "from 1 to 5",
		"0 0 * * 1#":                   "from 1 to 5",
		"0 0 * * #1":                   `"" is not a number`,
		"0 0 * * 1#1,2":                "not combined",
		"0 0 15W * *":                  `"15W" is not a number`,
		"0 0 LW * *":                   `"LW"`,
		"0 0 L-3 * *":                  `"L"`,
		"0 0 1, * *":                   "between two commas",
		"*/0 * * * *":                  "above 0",
		"*/ * * * *":                   "above 0",
		"*/-1 * * * *":                 "above 0",
		"*/+1 * * * *":                 "above 0",
		"1/2/3 * * * *":                "above 0",
		"+1 * * * *":                   `"+1"`,
		"-5 * * * *":                   `""`,
		"60 * * * *":                   "60 is not from 0 to 59",
		"0 0 1 0 *":                    "0 is not from 1 to 12",
		"0 0 1 january *":              "such as FEB",
		"mon * * * *":                  `minute "mon"`,
		"0 0 l * *":                    `"l"`,
		"0 24 * * 9":                   "24 is not from 0 to 23",
		"@midnight":                    "write @daily",
		"@Daily":                       "a name that there is none of",
		"@reboot":                      "a name that there is none of",
		"@every 5m":                    "write every=5m in a directive",
		"CRON_TZ=Asia/Tokyo 0 9 * * *": "tz=Asia/Tokyo",
		"TZ=UTC @daily":                `write the pattern alone, "@daily"`,
		"0 0 1 1 * 2025":               "2025 is not from 0 to 7",
		"H(5) * * * *":                 "H",
		"0 0 * * Tue-Mon":              "goes backwards",
		"0 0 ** * *":                   `"**"`,
		"0 0 1-2-3 * *":                `"2-3"`,
		"* * 99999999999999999999 * *": "is not a number",
	} {
		for _, parse := range []func() (*Pattern, error){
			func() (*Pattern, error) { return Parse(text) },
			func() (*Pattern, error) { return ParsePeer(text, "") },
		} {
			_, err := parse()
			require.ErrorContains(t, err, words, text)
			require.ErrorContains(t, err, fmt.Sprintf("%q", text))
		}
	}
	_, err := Parse("60 24 * * *")
	require.ErrorContains(t, err, "minute")
	require.ErrorContains(t, err, "hour", "all that is wrong is told at once")
	_, err = Parse("0 0 30 2 *")
	require.ErrorIs(t, err, ErrNever)
}

// Peers put stars in front of fewer than five fields. Whoever leaves one out
// means something else, mostly a star behind them.
func TestFewerThanFiveFieldsAreRefusedAndRead(t *testing.T) {
	t.Parallel()
	for text, read := range map[string]string{
		"": "0 * * * * *", "  ": "0 * * * * *", "0": "0 * * * * 0", "0 0": "0 * * * 0 0", "5 4 *": "0 * * 5 4 *", "20 15 * *": "0 * 20 15 * *",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, "five fields", text)
		require.ErrorContains(t, err, fmt.Sprintf("%q", text))
		p, err := ParsePeer(text, "")
		if text == "0 0" { // there is no month 0
			require.Error(t, err)
			continue
		}
		require.NoError(t, err, text)
		q, err := Parse(read)
		require.NoError(t, err)
		p.text, q.text = "", ""
		require.Equal(t, q, p, text)
	}
	_, err := Parse("20 15 * *")
	require.ErrorContains(t, err, `"20 15 * * *"`)
	require.ErrorContains(t, err, `"* 20 15 * *"`)
}

// What only one release of the peers reads, or with a meaning of its own, is
// read where it is met and not written.
func TestPatternsOfOnePeer(t *testing.T) {
	t.Parallel()
	for text, first := range map[string]string{
		"1,1 * * * *":      "2025-01-01T00:01:00Z",
		"*,5 * * * *":      "2025-01-01T00:01:00Z",
		"0 0 * * 0,7":      "2025-01-05T00:00:00Z",
		"? * * * *":        "2025-01-01T00:01:00Z",
		"0 0 30 2 MON":     "2025-02-03T00:00:00Z",
		"0 0 L,30 2 *":     "2025-02-28T00:00:00Z",
		"0 0 1 MON *":      "2026-01-01T00:00:00Z",
		"0 0 * * JAN":      "2025-01-06T00:00:00Z",
		"0 H(3-3) * * *":   "2025-01-01T03:00:00Z",
		"0 H(3-3)/4 * * *": "2025-01-01T03:00:00Z",
		"0 0 * * H(7-7)":   "2025-01-05T00:00:00Z",
	} {
		_, err := Parse(text)
		require.Error(t, err, text)
		p, err := ParsePeer(text, "seed")
		require.NoError(t, err, text)
		require.Equal(t, first, next(t, p, "2025-01-01T00:00:00Z", "UTC"), text)
	}
	for _, text := range []string{"H(5 * * * *", "H(5) * * * *", "H(x-5) * * * *", "H5 * * * *", "H(7-3) * * * *"} {
		_, err := ParsePeer(text, "")
		require.ErrorContains(t, err, "minute", text)
	}
}

func TestHashedValuesKeepTheirPlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.String().Draw(t, "seed")
		text := rapid.SampledFrom([]string{"H * * * *", "H/15 * * * *", "0 0 H * *", "0 0 * H *", "0 0 * * H", "H H H * *", "H(10-20)/3 * * * *"}).Draw(t, "text")
		p, err := ParsePeer(text, seed)
		require.NoError(t, err)
		q, err := ParsePeer(text, seed)
		require.NoError(t, err)
		require.Equal(t, p, q)
		if text == "H/15 * * * *" {
			require.Less(t, p.minute.from(0), 15)
		}
		if text == "0 0 H * *" {
			require.Less(t, p.days.from(0), 29)
		}
		at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
		_, ok := p.Next(at, time.UTC)
		require.True(t, ok)
	})
}

func TestPortable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"@daily": "@daily", " @weekdays": "0 0 * * 1-5", "@annually": "0 0 1 1 *", " 0 9  * * * ": "0 9  * * *"} {
		p, err := Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, p.Portable())
	}
	for name := range predefined {
		p, err := Parse(name)
		require.NoError(t, err)
		q, err := Parse(p.Portable())
		require.NoError(t, err)
		p.text, q.text = "", ""
		require.Equal(t, p, q)
	}
}

func next(t require.TestingT, p *Pattern, after, zone string) string {
	at, err := time.Parse(time.RFC3339Nano, after)
	require.NoError(t, err)
	loc, err := LoadZone(zone)
	require.NoError(t, err)
	n, ok := p.Next(at, loc)
	if !ok {
		return "never"
	}
	return n.UTC().Format(time.RFC3339Nano)
}

// TestNextIsStrictlyAfter has the borders of seconds.
func TestNextIsStrictlyAfter(t *testing.T) {
	t.Parallel()
	p, err := Parse("*/5 * * * *")
	require.NoError(t, err)
	for after, want := range map[string]string{
		"2025-01-01T00:04:59.999Z": "2025-01-01T00:05:00Z",
		"2025-01-01T00:05:00Z":     "2025-01-01T00:10:00Z",
		"2025-01-01T00:05:00.001Z": "2025-01-01T00:10:00Z",
		"1969-12-31T23:59:59.5Z":   "1970-01-01T00:00:00Z",
	} {
		require.Equal(t, want, next(t, p, after, "UTC"))
	}
}

// Every time that a gap leaves out moves behind it, also for who asks from
// between the moved times.
func TestAllTimesInAGapMoveBehindIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, zone, after string
		want                 []string
	}{
		{"*/20 2 * * *", "Europe/Berlin", "2025-03-29T12:00:00Z", []string{"2025-03-30T01:00:00Z", "2025-03-30T01:20:00Z", "2025-03-30T01:40:00Z", "2025-03-31T00:00:00Z"}},
		{"*/20 2 * * *", "Europe/Berlin", "2025-03-30T01:10:00Z", []string{"2025-03-30T01:20:00Z", "2025-03-30T01:40:00Z", "2025-03-31T00:00:00Z"}},
		{"*/20 0 2 * * *", "Europe/Berlin", "2025-03-29T12:00:00Z", []string{"2025-03-30T01:00:00Z", "2025-03-30T01:00:20Z", "2025-03-30T01:00:40Z", "2025-03-31T00:00:00Z"}},
		{"15,45 2,3 * * *", "America/New_York", "2026-03-07T17:00:00Z", []string{"2026-03-08T07:15:00Z", "2026-03-08T07:45:00Z", "2026-03-09T06:15:00Z"}},
		{"0,30 2 8 3 *", "America/New_York", "2025-07-01T00:00:00Z", []string{"2026-03-08T07:00:00Z", "2026-03-08T07:30:00Z", "2027-03-08T07:00:00Z"}},
		{"0,30 23 * * *", "America/Nuuk", "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:00:00Z"}},
		{"0,15,45 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", []string{"2026-10-03T15:30:00Z", "2026-10-03T15:45:00Z", "2026-10-04T15:00:00Z"}},
		{"*/20 0 * * *", "Asia/Beirut", "2026-03-28T12:00:00Z", []string{"2026-03-29T21:00:00Z", "2026-03-29T21:20:00Z"}},
		{"*/20 12 * * *", "Pacific/Apia", "2011-12-29T23:00:00Z", []string{"2011-12-30T22:00:00Z", "2011-12-30T22:20:00Z", "2011-12-30T22:40:00Z", "2011-12-31T22:00:00Z"}},
	} {
		p, err := Parse(c.pattern)
		require.NoError(t, err)
		at := c.after
		for _, want := range c.want {
			at = next(t, p, at, c.zone)
			require.Equal(t, want, at, "%s in %s", c.pattern, c.zone)
		}
	}
}

// Where midnight comes twice a day is begun at its second one, or at the first
// one by who comes from an earlier day than the last.
func TestAMidnightThatComesTwiceRunsOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, zone, after, want, then string }{
		{"0 0 * * *", "America/Havana", "2026-10-31T12:00:00Z", "2026-11-01T05:00:00Z", "2026-11-02T05:00:00Z"},
		{"0 0 1 * *", "America/Havana", "2026-10-31T12:00:00Z", "2026-11-01T05:00:00Z", "2026-12-01T05:00:00Z"},
		{"0 0 1 * *", "America/Havana", "2026-10-10T12:00:00Z", "2026-11-01T04:00:00Z", "2026-12-01T05:00:00Z"},
		{"*/7 */2 5 * *", "America/Havana", "2034-11-02T04:41:54Z", "2034-11-05T04:00:00Z", "2034-11-05T04:07:00Z"},
		{"0 0 * * *", "Atlantic/Azores", "2026-10-24T12:00:00Z", "2026-10-25T01:00:00Z", "2026-10-26T01:00:00Z"},
		{"0 0 L * *", "Atlantic/Azores", "2027-10-28T01:00:00Z", "2027-10-31T00:00:00Z", "2027-11-30T01:00:00Z"},
	} {
		p, err := Parse(c.pattern)
		require.NoError(t, err)
		first := next(t, p, c.after, c.zone)
		require.Equal(t, c.want, first, "%s in %s", c.pattern, c.zone)
		require.Equal(t, c.then, next(t, p, first, c.zone), "%s in %s", c.pattern, c.zone)
	}
}

// TestClockChanges has what the two releases of the peer agree on.
func TestClockChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, zone, after string
		want                 []string
	}{
		{"30 2 * * *", "Europe/Rome", "2025-03-29T12:00:00Z", []string{"2025-03-30T01:30:00Z", "2025-03-31T00:30:00Z"}},
		{"0 2,3 * * *", "Europe/Rome", "2025-03-29T12:00:00Z", []string{"2025-03-30T01:00:00Z", "2025-03-31T00:00:00Z"}},
		{"30 2 * * *", "Europe/Rome", "2025-10-25T12:00:00Z", []string{"2025-10-26T00:30:00Z", "2025-10-27T01:30:00Z"}},
		{"0 */2 * * *", "Europe/Rome", "2025-10-25T21:00:00Z", []string{"2025-10-25T22:00:00Z", "2025-10-26T00:00:00Z", "2025-10-26T03:00:00Z"}},
		{"0 * * * *", "Europe/Rome", "2025-10-25T22:30:00Z", []string{"2025-10-25T23:00:00Z", "2025-10-26T00:00:00Z", "2025-10-26T01:00:00Z", "2025-10-26T02:00:00Z"}},
		{"0 0 * * *", "America/Asuncion", "2023-09-30T12:00:00Z", []string{"2023-10-02T03:00:00Z"}},
		{"0 0 1 * *", "America/Asuncion", "2023-09-30T12:00:00Z", []string{"2023-11-01T03:00:00Z"}},
		{"*/15 * * * *", "Australia/Lord_Howe", "2025-10-04T15:00:00Z", []string{"2025-10-04T15:15:00Z", "2025-10-04T15:30:00Z", "2025-10-04T15:45:00Z"}},
		{"15 2 * * *", "Australia/Lord_Howe", "2025-10-04T12:00:00Z", []string{"2025-10-04T15:45:00Z", "2025-10-05T15:15:00Z"}},
		{"0 9 * * *", "Europe/Rome", "2040-12-30T12:00:00Z", []string{"2040-12-31T08:00:00Z", "2041-01-01T08:00:00Z"}}, // after the table of changes, in a leap year
		{"0 12 * * *", "Pacific/Apia", "2011-12-30T00:00:00Z", []string{"2011-12-30T22:00:00Z"}},
	} {
		p, err := Parse(c.pattern)
		require.NoError(t, err)
		at := c.after
		for _, want := range c.want {
			at = next(t, p, at, c.zone)
			require.Equal(t, want, at, "%s in %s", c.pattern, c.zone)
		}
	}
}

// recorded is a line of testdata/node.jsonl: a pattern's next times by the
// parsers of both releases of the peer.
type recorded struct {
	Pattern, Zone string
	From          int64
	Next          []int64
}

// C057: each pattern has the times that the peers gave it.
func TestC057RecordedTimesOfPeers(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/node.jsonl")
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var r recorded
		require.NoError(t, json.Unmarshal(lines.Bytes(), &r))
		p, err := ParsePeer(r.Pattern, "")
		require.NoError(t, err)
		zone, err := LoadZone(r.Zone)
		require.NoError(t, err)
		at := time.UnixMilli(r.From)
		for _, want := range r.Next {
			var ok bool
			at, ok = p.Next(at, zone)
			require.True(t, ok)
			require.Equal(t, time.UnixMilli(want).UTC(), at.UTC(), "%s in %s", r.Pattern, r.Zone)
		}
	}
	require.GreaterOrEqual(t, n, 400)
}

func TestC047Zones(t *testing.T) {
	t.Parallel()
	for name, offset := range map[string]int{"UTC": 0, "UTC+2": 7200, "UTC-11": -39600, "UTC+5:30": 19800, "Asia/Kolkata": 19800} {
		zone, err := LoadZone(name)
		require.NoError(t, err)
		_, got := time.Unix(0, 0).In(zone).Zone()
		require.Equal(t, offset, got, name)
		require.Equal(t, name, zone.String())
	}
	for name, want := range map[string]string{"utc": "UTC", "utc+2": "UTC+2", "america/new_york": "America/New_York", "AMERICA/BLANC-SABLON": "America/Blanc-Sablon", "gmt": "GMT"} {
		zone, err := LoadZone(name)
		require.NoError(t, err)
		require.Equal(t, want, zone.String())
	}
	for _, name := range []string{"", "Local", "Mars/Base", "+05:30", "UTC+", "UTC+x", "UTC+123", "UTC+1:5", "UTC+1:99", "UTC+24", "../etc/passwd", "/etc/localtime"} {
		_, err := LoadZone(name)
		require.ErrorContains(t, err, "time zone", name)
	}
}

func BenchmarkNext(b *testing.B) {
	zone, err := LoadZone("Europe/Rome")
	require.NoError(b, err)
	for _, text := range []string{"* * * * * *", "0 9 * * MON-FRI", "0 0 29 2 *"} {
		p, err := Parse(text)
		require.NoError(b, err)
		b.Run(text, func(b *testing.B) {
			at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
			for b.Loop() {
				at, _ = p.Next(at, zone)
				if at.Year() > 2200 {
					at = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
				}
			}
		})
	}
}
