package soak

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// The limits that the workers of fleetgo and soak.js have.
const (
	limitMax, groupMax = 10, 5
	limitPer           = time.Second
	groups             = 4
)

// addLimited adds the jobs of the queues with limits, before the faults begin.
func (f *fleet) addLimited(total int) {
	f.Helper()
	add := func(queue, task, key, group string, value int) {
		data := map[string]any{"key": key, "fails": 0, "value": value, "millis": 0, "group": group}
		_, err := f.queue(queue).Add(f.ctx, task, data)
		require.NoError(f, err)
		now := time.Now().UnixMilli()
		f.own = append(f.own, line{Time: now, Who: "test", Event: "try", Key: key, N: value}, line{Time: now, Who: "test", Event: "ok", Key: key})
	}
	for i := range min(max(total/30, 50), 1000) {
		add("soak-limited", "limited", fmt.Sprintf("limited-%d", i), "", i)
		group := strconv.Itoa(i % groups)
		add("soak-grouped", "grouped", fmt.Sprintf("grouped:%s:%d", group, i), group, i)
	}
}

// verifyLimits checks how many jobs were taken in how much time: of a queue by
// the event of each start, which has the server's time; of a group by the
// journals, whose programs may have been frozen between a start and its line.
func (f *fleet) verifyLimits(b *book) {
	f.Helper()
	entries, err := f.rdb.XRange(f.ctx, "bull:soak-limited:events", "-", "+").Result()
	require.NoError(f, err)
	var starts []int64
	for _, e := range entries {
		if e.Values["event"] == "active" {
			ms, _, _ := strings.Cut(e.ID, "-")
			at, err := strconv.ParseInt(ms, 10, 64)
			require.NoError(f, err)
			starts = append(starts, at)
		}
	}
	f.holds("the queue", starts, limitMax, 0)
	runs := map[string][]int64{}
	for _, a := range b.accounts {
		if group, ok := strings.CutPrefix(a.Key, "grouped:"); ok {
			group, _, _ = strings.Cut(group, ":")
			for _, l := range a.Lines {
				if l.Event == "run" {
					runs[group] = append(runs[group], l.Time)
				}
			}
		}
	}
	require.Len(f, runs, groups)
	for group, starts := range runs {
		f.holds("group "+group, starts, groupMax, 3*lock)
	}
}

// holds checks starts, in milliseconds, against a limit: no stretch of time has
// more than its windows allow. The first start may be noted too late by slack.
func (f *fleet) holds(what string, starts []int64, most int, slack time.Duration) {
	f.Helper()
	require.NotEmpty(f, starts)
	slices.Sort(starts)
	for first := range starts {
		for last := first + 2*most; last < len(starts); last += most {
			windows := (time.Duration(starts[last]-starts[first])*time.Millisecond+slack)/limitPer + 2
			require.LessOrEqual(f, last-first+1, int(windows)*most, "%s: starts %d to %d in %d ms", what, first, last, starts[last]-starts[first])
		}
	}
}
