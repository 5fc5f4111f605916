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
	cronCases  = flag.Int("cron.cases", 600, "how many patterns, zones and times are compared with Node's, in each group")
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

// askNode lets the cron parser of a release answer.
func askNode(t testing.TB, lib Library, cases []cronCase) []cronAnswer {
	t.Helper()
	NeedNode(t)
	var in, problems bytes.Buffer
	for _, c := range cases {
		line, err := json.Marshal(c)
		require.NoError(t, err)
		in.Write(append(line, '\n'))
	}
	cmd := exec.Command("node", filepath.Join(folder(), "node", "cron.js"), lib.pkg)
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

// Zones whose clocks change by an hour, or never. Where they change by half an
// hour or two hours both parsers lose or misplace times, each in its own way.
var (
	steadyZones   = []string{"UTC", "UTC+3", "UTC-9", "Asia/Tokyo", "Asia/Kolkata", "Asia/Kathmandu"}
	changingZones = []string{"Europe/Rome", "Europe/London", "America/New_York", "America/St_Johns", "Australia/Sydney", "America/Santiago", "Africa/Casablanca"}
	// Here clocks are put forward, or back, at midnight.
	midnightZones = []string{"America/Asuncion", "Africa/Cairo", "Asia/Beirut"}
	// Here clocks are put back to midnight. With which of the two a parser
	// begins that day depends on the steps in which it came there.
	twoMidnights = []string{"America/Havana", "Atlantic/Azores"}
)

// TestCronTimesAsNode compares generated patterns, in many zones and at times
// of which most are near a change of the clock, with both releases.
func TestCronTimesAsNode(t *testing.T) {
	t.Parallel()
	var record []cronCase
	for _, group := range []struct {
		name  string
		zones []string
		spare int // how many of a hundred cases may differ
	}{{"steady", steadyZones, 0}, {"changing", changingZones, 0}, {"midnight", midnightZones, 0}, {"two midnights", twoMidnights, 1}} {
		t.Run(group.name, func(t *testing.T) {
			cases := generateCases(t, *cronCases, group.zones)
			v5, v6 := askNode(t, Node5, cases), askNode(t, Node6, cases)
			apart, wrong := 0, []string{}
			for i, c := range cases {
				ours := askOurs(c)
				agree := v5[i].equal(v6[i])
				switch {
				case !agree && v6[i].Error != "": // 6.x refuses it, and 5.x has its own meaning of days
					require.Empty(t, ours.Error)
				case !ours.equal(v6[i]) && (agree || !ours.equal(v5[i])):
					wrong = append(wrong, fmt.Sprintf("%q in %s after %s\nours %s\nv5   %s\nv6   %s", c.Pattern, c.Zone, cronAnswer{Times: []int64{c.From}}, ours, v5[i], v6[i]))
				case agree && v6[i].Error == "":
					record = append(record, c)
				}
				if !agree {
					apart++
				}
			}
			t.Logf("%d cases, of which the releases differ in %d, and ours from both in %d", len(cases), apart, len(wrong))
			require.LessOrEqual(t, len(wrong)*100, group.spare*len(cases), strings.Join(wrong, "\n"))
		})
	}
	if *cronRecord {
		recordCases(t, record)
	}
}

// recordCases writes a part of the cases, with the times of them, which all agree on.
func recordCases(t *testing.T, cases []cronCase) {
	var out bytes.Buffer
	for i := 0; i < len(cases); i += max(1, len(cases)/240) {
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
		cases[i] = cronCase{Pattern: g.pattern(), Zone: zone, From: g.from(t, zone), Count: 5}
	}
	return cases
}

type cronGenerator struct{ *rand.Rand }

func (g cronGenerator) pick(texts ...string) string { return texts[g.IntN(len(texts))] }

// from is a time of some years of which zone databases of different editions
// say the same, most often within hours of a change of the clock.
func (g cronGenerator) from(t *testing.T, zone string) int64 {
	loc, err := cron.LoadZone(zone)
	require.NoError(t, err)
	at := time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(g.Int64N(int64(3 * 365 * 24 * time.Hour))))
	if _, change := at.In(loc).ZoneBounds(); !change.IsZero() && g.IntN(5) > 0 {
		at = change.Add(time.Duration(g.IntN(30)-26) * time.Hour / 2).Add(-time.Duration(g.IntN(7200)) * time.Second)
	}
	if g.IntN(3) == 0 {
		at = at.Truncate(time.Minute)
	}
	return at.UnixMilli()
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
