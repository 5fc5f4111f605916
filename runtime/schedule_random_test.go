package bullmq

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullmq-gen/bullmq-gen/internal/audit"
	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
)

// versions are what the versions of a program declare.
func (k *scheduleKit) versions() [][]DeclaredSchedule {
	return [][]DeclaredSchedule{
		{k.declare("a", ScheduleSpec{Cron: "*/10 * * * *"}, "1"), k.declare("b", ScheduleSpec{Every: 7 * time.Minute}, "1")},
		{k.declare("a", ScheduleSpec{Cron: "*/10 * * * *"}, "2"), k.declare("c", ScheduleSpec{Cron: "* * * * *", Limit: 3}, "2")},
		{k.declare("b", ScheduleSpec{Cron: "5 * * * *", TZ: "Asia/Kolkata"}, "3"), k.declare("d", ScheduleSpec{Every: time.Hour, Offset: time.Minute, Limit: 2}, "3", Priority(3))},
		{},
	}
}

// TestRandomSchedules plays programs of several versions, people and workers on
// one queue, in any order, with a clock that jumps. After each step all that is
// stored is sound, no schedule has two jobs to come, and
// what belongs to others is there.
func TestRandomSchedules(t *testing.T) {
	t.Parallel()
	s := testredis.Any(t)
	rapid.Check(t, func(rt *rapid.T) {
		require.NoError(t, s.Client(t).FlushDB(t.Context()).Err())
		k := newScheduleKitAt(t, s)
		m := k.manual()
		defer func() { _, _ = m.Close(), k.store.Close() }() // there are many of them
		k.schedule("theirs", ScheduleSpec{Every: 9 * time.Minute}, "theirs")
		theirs := map[string]bool{"theirs": true} // those that are stored without an owner
		left := map[string]int{}                  // jobs that waited when their schedule was removed: they are the last ones
		check := func() {
			state, err := vectors.Snapshot(k.ctx, s.Client(t))
			require.NoError(t, err)
			require.Empty(rt, audit.Keyspace(state, "bull", audit.Looking("greetings")))
			ids := k.ids()
			for id := range theirs {
				require.Contains(rt, ids, id)
			}
			for _, id := range ids {
				require.LessOrEqual(rt, k.toCome(state, id), 1+left[id], id)
			}
		}
		version := rapid.IntRange(0, 3)
		rt.Repeat(map[string]func(*rapid.T){
			"ensure": func(rt *rapid.T) {
				list := k.versions()[version.Draw(rt, "version")]
				k.ensure(list...)
				for _, d := range list {
					delete(theirs, d.id)
					info := k.info(d.id)
					require.Equal(rt, owner, info.Owner)
					require.Equal(rt, string(d.make().Data.(json.RawMessage)), string(info.Data))
				}
			},
			"prune": func(rt *rapid.T) {
				list := k.versions()[version.Draw(rt, "version")]
				for _, ref := range k.prune(owner, list...) {
					left[ref.ID]++
				}
				for _, id := range k.ids() {
					declared := slices.ContainsFunc(list, func(d DeclaredSchedule) bool { return d.id == id })
					require.True(rt, declared || theirs[id], "%s is neither declared nor of others", id)
				}
			},
			"by hand": func(rt *rapid.T) {
				id := rapid.SampledFrom([]string{"a", "b", "theirs"}).Draw(rt, "id")
				k.schedule(id, ScheduleSpec{Every: 9 * time.Minute}, "theirs")
				theirs[id] = true
			},
			"promote": func(*rapid.T) { require.NoError(t, k.q.PromoteAll(k.ctx)) },
			"work": func(*rapid.T) {
				jobs, err := m.TakeNow(k.ctx, 3)
				require.NoError(t, err)
				for _, j := range jobs {
					require.NoError(rt, m.Finish(k.ctx, j, nil, nil))
				}
			},
			"clock": func(rt *rapid.T) {
				k.forward(time.Duration(rapid.IntRange(-5, 40).Draw(rt, "minutes")) * time.Minute)
			},
			"": func(*rapid.T) { check() },
		})
	})
}

// toCome is how many jobs of a schedule wait or are delayed.
func (k *scheduleKit) toCome(state vectors.Keyspace, id string) int {
	n := 0
	count := func(job string) {
		if rest, ok := strings.CutPrefix(job, fmt.Sprintf("repeat:%s:", id)); ok && !strings.Contains(rest, ":") {
			n++
		}
	}
	for _, name := range []string{"wait", "paused", "delayed", "prioritized"} {
		e := state["bull:greetings:"+name]
		for _, job := range e.List {
			count(job)
		}
		for _, m := range e.Sorted {
			count(m.Name)
		}
	}
	return n
}
