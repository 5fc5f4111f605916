package interop

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/cron"
)

var (
	cronCases  = flag.Int("cron.cases", 200, "how many patterns, zones and times are compared with Node's, in each group")
	cronRecord = flag.Bool("cron.record", false, "write what Node answers to runtime/cron/testdata")
)

// cronCase asks for some times of a pattern after a time.
type cronCase struct {
	Pattern string `json:"pattern"`
	Zone    string `json:"zone"`
	From    int64  `json:"from"`
	Count   int    `json:"count"`
}

type cronAnswer struct {
	Times []int64 `json:"times"`
	Error string  `json:"error"`
}

// askNode lets the cron parser of a release answer: with "iterate" by one
// reading of the pattern, else by a new one for each time, as its schedulers do.
func askNode(t testing.TB, lib Library, cases []cronCase, how ...string) []cronAnswer {
	t.Helper()
	NeedNode(t)
	var in, problems bytes.Buffer
	for _, c := range cases {
		line, err := json.Marshal(c)
		require.NoError(t, err)
		in.Write(append(line, '\n'))
	}
	cmd := exec.Command("node", append([]string{filepath.Join(folder(), "node", "cron.js"), lib.pkg}, how...)...)
	cmd.Stdin, cmd.Stderr = &in, &problems
	out, err := cmd.Output()
	require.NoError(t, err, problems.String())
	answers := make([]cronAnswer, 0, len(cases))
	for line := range bytes.Lines(out) {
		var a cronAnswer
		require.NoError(t, json.Unmarshal(line, &a))
		answers = append(answers, a)
	}
	require.Len(t, answers, len(cases))
	return answers
}

// askOurs answers as a program of ours does that meets a pattern of a peer.
func askOurs(c cronCase) cronAnswer {
	p, err := cron.ParsePeer(c.Pattern, "")
	if err != nil {
		return cronAnswer{Error: err.Error()}
	}
	zone, err := cron.LoadZone(c.Zone)
	if err != nil {
		return cronAnswer{Error: err.Error()}
	}
	var a cronAnswer
	for at := time.UnixMilli(c.From); len(a.Times) < c.Count; a.Times = append(a.Times, at.UnixMilli()) {
		var ok bool
		if at, ok = p.Next(at, zone); !ok {
			a.Error = "no next time"
			break
		}
	}
	return a
}

func (a cronAnswer) equal(b cronAnswer) bool {
	return (a.Error == "") == (b.Error == "") && slices.Equal(a.Times, b.Times)
}

func (a cronAnswer) String() string {
	var b strings.Builder
	for _, ms := range a.Times {
		b.WriteString(time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05Z "))
	}
	return b.String() + a.Error
}

// change is a change of a zone's clock.
type change struct{ at, before, after int64 }

// odd reports whether the parsers lose or misplace times at the change: see the
// table in docs/schedules.md. The clock is then not put forward or back by an
// hour, or not at a full hour, or it is put forward to midnight.
func (c change) odd() bool {
	const day = 24 * 60 * 60
	by, opens, closes := c.after-c.before, c.at+c.before, c.at+c.after
	return by != 3600 && by != -3600 || opens%3600 != 0 || by > 0 && closes%day == 0
}

// twiceMidnight reports whether midnight comes twice: the parsers choose one of
// the two by the steps in which they come there.
func (c change) twiceMidnight() bool { return c.after < c.before && (c.at+c.after)%(24*60*60) == 0 }

func changes(zone *time.Location, from, to time.Time) []change {
	var out []change
	for from.Before(to) {
		_, at := from.In(zone).ZoneBounds()
		if at.IsZero() {
			break
		}
		if !at.After(from) { // see stretchAt of package cron
			from = from.Add(24 * time.Hour)
			continue
		}
		_, before := at.Add(-time.Second).In(zone).Zone()
		_, after := at.In(zone).Zone()
		if before != after {
			out = append(out, change{at.Unix(), int64(before), int64(after)})
		}
		from = at.Add(time.Second)
	}
	return out
}

// zonesOfNode are all zones that Node has.
func zonesOfNode(t *testing.T) []string {
	NeedNode(t)
	out, err := exec.Command("node", "-e", "console.log(Intl.supportedValuesOf('timeZone').join(' '))").Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}

// Zones whose clocks never change, and some with each kind of change.
var (
	steadyZones = []string{"UTC", "UTC+3", "UTC-9", "Asia/Tokyo", "Asia/Kolkata", "Asia/Kathmandu"}
	knownZones  = []string{
		"Europe/Rome", "Europe/London", "America/New_York", "America/St_Johns", "Australia/Sydney", "America/Santiago", "Africa/Casablanca",
		"America/Asuncion", "Africa/Cairo", "Asia/Beirut", "Asia/Gaza", "America/Havana", "Atlantic/Azores", "Pacific/Apia",
		"America/Nuuk", "Pacific/Chatham", "Australia/Lord_Howe", "Antarctica/Troll",
	}
)

// TestCronTimesAsNode compares generated patterns with both releases: in zones
// of all kinds, most often near a change of the clock between 2000 and 2040.
func TestCronTimesAsNode(t *testing.T) {
	t.Parallel()
	var record []cronCase
	for _, group := range []struct {
		name  string
		zones []string
	}{{"steady", steadyZones}, {"known", knownZones}, {"all", zonesOfNode(t)}} {
		t.Run(group.name, func(t *testing.T) {
			cases := generateCases(t, *cronCases, group.zones)
			v5, v6 := askNode(t, Node5, cases, "iterate"), askNode(t, Node6, cases, "iterate")
			apart, odd, wrong := 0, 0, []string{}
			for i, c := range cases {
				ours := askOurs(c)
				agree := v5[i].equal(v6[i])
				switch {
				case !agree && v6[i].Error != "": // 6.x refuses it, and 5.x has its own meaning of days
					require.Empty(t, ours.Error)
				case c.atOddChange(t, ours, v5[i], v6[i]):
					odd++
				case !ours.equal(v6[i]) && (agree || !ours.equal(v5[i])):
					wrong = append(wrong, fmt.Sprintf("%q in %s after %s\nours %s\nv5   %s\nv6   %s", c.Pattern, c.Zone, cronAnswer{Times: []int64{c.From}}, ours, v5[i], v6[i]))
				case agree && v6[i].Error == "":
					record = append(record, c)
				}
				if !agree {
					apart++
				}
			}
			t.Logf("%d cases: the releases differ in %d, ours at odd changes in %d, ours elsewhere in %d", len(cases), apart, odd, len(wrong))
			require.Empty(t, wrong, strings.Join(wrong, "\n"))
		})
	}
	if *cronRecord {
		recordCases(t, record)
	}
}

// atOddChange reports whether ours differs from both, and an odd change of the
// clock, or a midnight that comes twice, explains it.
func (c cronCase) atOddChange(t *testing.T, ours, v5, v6 cronAnswer) bool {
	if ours.equal(v5) || ours.equal(v6) {
		return false
	}
	zone, err := cron.LoadZone(c.Zone)
	require.NoError(t, err)
	last := c.From
	for _, a := range []cronAnswer{ours, v5, v6} {
		last = max(last, slices.Max(append(a.Times, 0)))
	}
	const days = 48 * time.Hour
	for _, x := range changes(zone, time.UnixMilli(c.From).Add(-days), time.UnixMilli(last).Add(days)) {
		if x.odd() || x.twiceMidnight() && !v5.equal(v6) {
			return true
		}
	}
	return false
}

// Schedulers of the peers read a pattern anew for each job. Of the times that a
// gap of the clock moves they run the first only, which their parsers do not.
func TestSchedulersOfPeersForgetMovedTimes(t *testing.T) {
	t.Parallel()
	cases := []cronCase{{Pattern: "*/20 2 * * *", Zone: "Europe/Berlin", From: 1743289200000, Count: 4}}
	all := []int64{1743296400000, 1743297600000, 1743298800000, 1743379200000}
	require.Equal(t, all, askOurs(cases[0]).Times)
	for _, lib := range []Library{Node5, Node6} {
		require.Equal(t, all, askNode(t, lib, cases, "iterate")[0].Times)
		require.Equal(t, []int64{1743296400000, 1743379200000, 1743380400000, 1743381600000}, askNode(t, lib, cases)[0].Times)
	}
}

// recordCases writes a part of the cases, with the times of them, which all agree on.
func recordCases(t *testing.T, cases []cronCase) {
	var out bytes.Buffer
	for i := 0; i < len(cases); i += max(1, len(cases)/420) {
		c := cases[i]
		line, err := json.Marshal(map[string]any{"pattern": c.Pattern, "zone": c.Zone, "from": c.From, "next": askOurs(c).Times})
		require.NoError(t, err)
		out.Write(append(line, '\n'))
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder(), "..", "runtime", "cron", "testdata", "node.jsonl"), out.Bytes(), 0o644))
}

func generateCases(t *testing.T, n int, zones []string) []cronCase {
	seed := uint64(number(t, seedEnv, 1))
	t.Logf("seed %d", seed)
	g := cronGenerator{rand.New(rand.NewPCG(seed, 0))}
	cases := make([]cronCase, n)
	for i := range cases {
		zone := zones[g.IntN(len(zones))]
		from, change := g.from(t, zone)
		pattern := g.pattern()
		if change != nil && g.IntN(2) == 0 {
			pattern = g.at(change)
		}
		cases[i] = cronCase{Pattern: pattern, Zone: zone, From: from, Count: 5}
	}
	return cases
}

type cronGenerator struct{ *rand.Rand }

func (g cronGenerator) pick(texts ...string) string { return texts[g.IntN(len(texts))] }

// from is a time from 2000 to 2040, most often within hours of a change of the
// clock, which is returned too. It is not within an hour after a gap: there the
// parsers have forgotten the times that moved.
func (g cronGenerator) from(t *testing.T, zone string) (int64, *change) {
	loc, err := cron.LoadZone(zone)
	require.NoError(t, err)
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(g.Int64N(int64(40 * 365 * 24 * time.Hour))))
	var near *change
	if found := changes(loc, at, at.AddDate(3, 0, 0)); len(found) > 0 && g.IntN(5) > 0 {
		near = &found[0]
		at = time.Unix(near.at, 0).Add(time.Duration(g.IntN(30)-26) * time.Hour / 2).Add(-time.Duration(g.IntN(7200)) * time.Second)
	}
	if near == nil || g.IntN(3) == 0 {
		at = at.Truncate(time.Minute)
	}
	for _, c := range changes(loc, at.Add(-time.Hour), at.Add(time.Second)) {
		at = time.Unix(c.at-1, 0)
	}
	return at.UnixMilli(), near
}

// at is a pattern of times at a change of the clock, and around it.
func (g cronGenerator) at(c *change) string {
	wall := time.Unix(c.at+min(c.before, c.after), 0).UTC()
	if c.after > c.before {
		wall = time.Unix(c.at+c.before, 0).UTC()
	}
	h, day, month, weekday := wall.Hour(), "*", "*", "*"
	hour := g.pick(fmt.Sprint(h), fmt.Sprintf("%d,%d", min(h, 22), min(h, 22)+1), fmt.Sprintf("%d-%d", max(0, h-1), min(23, h+2)), "*/2", "*/3", "*", "0", "23", "1-23", "0-22", fmt.Sprintf("%d/2", h))
	if g.IntN(2) == 0 {
		wall = wall.Add(24 * time.Hour)
	}
	switch g.IntN(8) {
	case 0:
		day = fmt.Sprint(wall.Day())
	case 1:
		weekday = fmt.Sprint(int(wall.Weekday()))
	case 2:
		day, month = fmt.Sprint(wall.Day()), fmt.Sprint(int(wall.Month()))
	case 3:
		weekday = g.pick(fmt.Sprintf("%dL", int(wall.Weekday())), fmt.Sprintf("%d#%d", int(wall.Weekday()), (wall.Day()-1)/7+1), "1-5", "0,6")
	case 4:
		day = g.pick("1", "L", "*/2", "1,L")
	}
	second := g.pick("", "", "", "*/20 ", "30 ", "15,45 ")
	return second + strings.Join([]string{g.pick("0", "30", "*/20", "15,45", "59", "0,30", "*/7", "*"), hour, day, month, weekday}, " ")
}

func (g cronGenerator) pattern() string {
	second, day, month, weekday := "", "*", "*", "*"
	if g.IntN(4) == 0 {
		second = g.field(0, 59, nil) + " "
	}
	hour := g.field(0, 23, nil)
	if g.IntN(3) == 0 {
		hour = g.pick("0", "1", "2", "3", "1-3", "0-4", "*/2", "1,2,3", "2,3", "0,2", "2-23", "23", "*")
	}
	switch g.IntN(6) {
	case 0:
		day = g.pick(g.field(1, 31, nil), "L", "L,15", "1", "?", "31", "29")
	case 1:
		weekday = g.pick(g.field(0, 7, weekdays), "5L", fmt.Sprintf("%d#%d", g.IntN(8), 1+g.IntN(5)), "MON-FRI", "SATL")
	case 2:
		day, weekday = g.field(1, 31, nil), g.field(0, 7, weekdays)
	}
	if g.IntN(5) == 0 {
		month = g.field(1, 12, months)
	}
	return second + strings.Join([]string{g.field(0, 59, nil), hour, day, month, weekday}, " ")
}

var (
	months   = []string{"JAN", "feb", "Mar", "APR", "may", "jun", "JUL", "aug", "sep", "oct", "NOV", "dec"}
	weekdays = []string{"SUN", "mon", "Tue", "WED", "thu", "fri", "SAT"}
)

func (g cronGenerator) field(low, high int, names []string) string {
	value := func(from int) int { return from + g.IntN(high-from+1) }
	one := func() string {
		v := value(low)
		if g.IntN(3) == 0 && v-low < len(names) {
			return names[v-low]
		}
		return fmt.Sprint(v)
	}
	first := value(low)
	switch g.IntN(8) {
	case 0, 1:
		return "*"
	case 2:
		return fmt.Sprintf("*/%d", 1+g.IntN(high+3))
	case 3:
		return fmt.Sprintf("%d-%d", first, value(first))
	case 4:
		return fmt.Sprintf("%d-%d/%d", first, value(first), 1+g.IntN(5))
	case 5:
		return fmt.Sprintf("%s/%d", one(), 1+g.IntN(10))
	case 6:
		values := []string{fmt.Sprint(first)}
		for range 1 + g.IntN(3) {
			if v := fmt.Sprint(value(low)); !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		return strings.Join(values, ",")
	}
	return one()
}

// TestC057DialectAsNode has patterns that people write, right and wrong ones:
// what Parse accepts, both releases accept and give the same 20 times.
func TestC057DialectAsNode(t *testing.T) {
	t.Parallel()
	agreed := strings.Split(strings.TrimSpace(agreedPatterns), "\n")
	refused := strings.Split(strings.TrimSpace(refusedPatterns), "\n")
	var cases []cronCase
	for _, p := range slices.Concat(agreed, refused) {
		cases = append(cases, cronCase{Pattern: strings.Trim(p, "|"), Zone: "UTC", From: 1735689600000, Count: 20})
	}
	v5, v6 := askNode(t, Node5, cases), askNode(t, Node6, cases)
	for i, c := range cases {
		_, err := cron.ParsePeer(c.Pattern, "")
		if i >= len(agreed) {
			_, err = cron.Parse(c.Pattern)
			require.Error(t, err, c.Pattern)
			require.True(t, v5[i].Error != "" || v6[i].Error != "", "%q: %s", c.Pattern, v6[i])
			continue
		}
		require.NoError(t, err, c.Pattern)
		require.Equal(t, v6[i], askOurs(c), c.Pattern)
		require.Equal(t, v5[i], v6[i], c.Pattern)
	}
}

// One a line; bars keep blanks.
const agreedPatterns = `
||
0
5 4 *
1 2 3 4
* * * * *
|  0 12   * * * |
*/20 * * * * *
0 9 * * MON-FRI
0 0 12 ? * 2#1
0 0 12 1/5 * ?
0 0 L * *
0 0 L,15 * *
0 0 L 2 *
0 0 L * 5L
0 0 * * 5L
0 0 * * FRIL
0 0 * * 7L
0 0 * * 1,5L
0 0 * * 5L,6L
0 0 13 * 5L
0 0 * * MON#2
0 0 * * 7#1
0 0 * * 1#5
0 0 * * 7
0 0 * * 0-7
0 0 * * 5-7
0 0 * * SAT-7
0 0 * * */2
0 0 * * 3/2
0 0 * * 7/2
0 0 1 JAN-mar/2 *
0 0 1 jan,FEB *
0 0 * jan/3 *
5/10 * * * *
5/100 * * * *
0 0 */100 * *
0 0 ?/2 * *
0 0 1-31/10 * *
0 00 001 * *
1-10/20 * * * *
*/60 * * * *
0 0 1,15 * 1,2
0 0 */2 * 1
0 0 13 * FRI
0 0 31 12 7
0 0 29 2 1
0 0 29-31 2 *
0 0 30,1 2 *
0 0 31 2-4 *
0 0 31,30 4 *
@yearly
@monthly
@weekly
@daily
@hourly
`

const refusedPatterns = `
|   |
0 0 0 0 0 0 0
0 0 30 2 *
0 0 31 2,4,6 *
0 0 31 4 ?
0 0 30 2 1
0 0 1-L * *
0 0 L-3 * *
0 0 15W * *
0 0 LW * *
0 0 l * *
0 0 LL * *
0 0 * * L
0 0 * * L5
0 0 * * 1#0
0 0 * * 1#6
0 0 * * 1#1,2
0 0 * * 1-2#1
0 0 * * 1#
0 0 * * 8
0 0 * * 0,7
0 0 * * FRI-SUN
0 0 * * sunday
0 22-2 * * *
10-5 * * * *
*/0 * * * *
*/-1 * * * *
*/1.5 * * * *
1/2/3 * * * *
1,1 * * * *
1-3,2 * * * *
*,5 * * * *
1, * * * *
,1 * * * *
-5 * * * *
+1 * * * *
1.0 * * * *
0x1 * * * *
60 * * * *
0 24 * * *
0 0 0 * *
0 0 32 * *
0 0 1 0 *
0 0 1 13 *
0 0 1 january *
0 0 1 MON *
mon * * * *
? * * * *
H * * * *
@midnight
@reboot
@Daily
@every 5m
0 0 1 1 * 2025
`
