package redisq

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// at is a time in seconds, of the clock that these tests have.
func at(seconds int64) time.Time { return time.UnixMilli(1_700_000_000_000 + seconds*1000) }

func slotID(id string, t time.Time) string {
	return "repeat:" + id + ":" + strconv.FormatInt(t.UnixMilli(), 10)
}

// interval is a schedule of a job each minute.
func interval(id string) storage.Schedule {
	return storage.Schedule{
		ID: id, ScheduleRule: storage.ScheduleRule{Every: time.Minute}, Template: storage.Template{Name: "n"},
		Job: storage.Iteration{Name: "n", Data: []byte("{}"), Opts: []byte(`{"attempts":1}`)},
	}
}

// pattern is a schedule whose first job is at a time.
func pattern(id string, slot time.Time) storage.Schedule {
	d := interval(id)
	d.ScheduleRule, d.NextRun, d.KeepDue = storage.ScheduleRule{Pattern: "* * * * *", TZ: "UTC"}, slot, true
	return d
}

func (b *bench) upsert(now time.Time, list ...storage.Schedule) []storage.Scheduled {
	b.t.Helper()
	out, err := b.UpsertSchedules(b.ctx, "q", now, list)
	require.NoError(b.t, err)
	return out
}

func TestSchedulesOfOneCall(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		urgent := interval("urgent")
		urgent.Job.Priority, urgent.Job.DedupID = 3, "d"
		first := interval("first")
		first.Job.LIFO = true
		b.waiting("q", "wait", "1")
		b.job("q", slotID("taken", at(60)))
		ended := interval("ended")
		ended.Start, ended.End = at(100), at(90)
		out := b.upsert(at(0), pattern("p", at(60)), urgent, pattern("taken", at(60)), interval("plain"), first, ended)
		require.Equal(b.t, storage.Scheduled{ID: slotID("p", at(60)), NextRun: at(60)}, out[0])
		require.Equal(b.t, storage.Scheduled{ID: slotID("urgent", at(0)), NextRun: at(0)}, out[1])
		require.ErrorIs(b.t, out[2].Err, storage.ErrRunTaken)
		require.ErrorContains(b.t, out[2].Err, `"taken"`)
		require.ErrorIs(b.t, out[5].Err, storage.ErrScheduleEnded)

		require.Equal(b.t, []string{slotID("p", at(60))}, b.set("q", "delayed"))
		require.Equal(b.t, []string{slotID("urgent", at(0))}, b.set("q", "prioritized"))
		require.Equal(b.t, []string{slotID("first", at(0)), "1", slotID("plain", at(0))}, b.list("q", "wait"))
		require.Equal(b.t, "d", b.do("hget", b.key("q", slotID("urgent", at(0))), "deid"))
		require.False(b.t, b.exists("q", "de:d"), "schedules do not deduplicate")
		require.Equal(b.t, []string{"0", "1"}, b.set("q", "marker"))
		require.Len(b.t, b.events("q"), 8, "two of each job")
		n, err := b.CountSchedules(b.ctx, "q")
		require.NoError(b.t, err)
		require.Equal(b.t, 4, n)
		require.False(b.t, b.exists("q", "repeat:taken"))
	})
}

// TestScheduleReplacesItsJob finds the job of the slot wherever it waits.
func TestScheduleReplacesItsJob(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]Option{"6.x": nil, "5.x": {Peers5()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onServers(t, opts, func(b *bench) {
				require.NoError(b.t, b.Pause(b.ctx, "q"))
				d := interval("s")
				b.upsert(at(0), d)
				d.Job.Data = []byte(`{"v":2}`)
				out := b.upsert(at(1), d)
				require.Equal(b.t, slotID("s", at(0)), out[0].ID)
				list := "wait"
				if name == "5.x" {
					list = "paused"
				}
				require.Equal(b.t, []string{out[0].ID}, b.list("q", list))
				require.Equal(b.t, `{"v":2}`, b.do("hget", b.key("q", out[0].ID), "data"))
				require.False(b.t, b.exists("q", "marker"), "a paused queue wakes nobody")

				// The deduplication id that it holds is freed.
				b.do("hset", b.key("q", out[0].ID), "deid", "d")
				b.do("set", b.key("q", "de:d"), out[0].ID)
				b.do("rpush", b.key("q", out[0].ID+":logs"), "line")
				d.Every = time.Hour
				next := b.upsert(at(2), d)
				require.Equal(b.t, at(2), next[0].NextRun)
				require.False(b.t, b.exists("q", "de:d"))
				require.False(b.t, b.exists("q", out[0].ID+":logs"))
			})
		})
	}
}

func TestManyTakenSlots(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		for i := range int64(40) {
			b.job("q", slotID("s", at(60*i)))
		}
		d := interval("s")
		out := b.upsert(at(0), d)
		require.ErrorIs(b.t, out[0].Err, storage.ErrRunTaken)
		require.False(b.t, b.exists("q", "repeat"))
		b.do("zadd", b.key("q", "repeat"), at(0).UnixMilli(), "s")
		b.do("hset", b.key("q", "repeat:s"), "name", "n", "every", 60000, "ic", 1)
		moved, err := b.AdvanceSchedules(b.ctx, "q", at(1), []storage.Advance{{ID: "s", Job: slotID("s", at(0)), Next: d.Job}})
		require.NoError(b.t, err)
		require.Equal(b.t, at(60*40), moved[0].NextRun, "a worker finds a time, however far")
		require.Contains(b.t, b.events("q"), "duplicated jobId="+slotID("s", at(60)))
	})
}

func TestAdvanceManyInOneCall(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		for i := range int64(5) {
			d := interval("s" + strconv.FormatInt(i, 10))
			d.Start = at(60 + i)
			b.upsert(at(0), d)
		}
		list := []storage.Advance{{ID: "none", Job: "x", Next: interval("x").Job}}
		for i := range int64(5) {
			id := "s" + strconv.FormatInt(i, 10)
			list = append(list, storage.Advance{ID: id, Job: slotID(id, at(60+i)), Next: interval(id).Job})
		}
		list[5].End = at(100)
		for again := range 2 { // a second time it finds nothing to do
			out, err := b.AdvanceSchedules(b.ctx, "q", at(70), list)
			require.NoError(b.t, err)
			require.Equal(b.t, storage.Scheduled{}, out[0])
			require.ErrorIs(b.t, out[5].Err, storage.ErrScheduleEnded)
			for i := range int64(4) {
				want := storage.Scheduled{}
				if again == 0 {
					want = storage.Scheduled{ID: slotID("s"+strconv.FormatInt(i, 10), at(120+i)), NextRun: at(120 + i)}
				}
				require.Equal(b.t, want, out[1+i])
			}
		}
		removed, err := b.RemoveSchedules(b.ctx, "q", "s0", "none", "s4")
		require.NoError(b.t, err)
		require.Equal(b.t, []bool{true, false, true}, removed)
		require.Contains(b.t, b.events("q"), "removed jobId="+slotID("s0", at(120))+" prev=delayed")
		found, err := b.Schedules(b.ctx, "q", "s1", "s0")
		require.NoError(b.t, err)
		require.Equal(b.t, 2, found[0].Iterations)
		require.Nil(b.t, found[1])
	})
}

// TestListSchedulesPassesOverEntriesAlone: reading changes nothing.
func TestListSchedulesPassesOverEntriesAlone(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.do("zadd", b.key("q", "repeat"), 1, "alone", 2, "old")
		b.do("hset", b.key("q", "repeat:old"), "name", "n", "pattern", "0 0 * * *", "endDate", "2030-01-01T00:00:00.000Z", "own", "x")
		list, err := b.ListSchedules(b.ctx, "q", 0, -1, false)
		require.NoError(b.t, err)
		require.Len(b.t, list, 1)
		require.Equal(b.t, "old", list[0].ID)
		require.Zero(b.t, list[0].Iterations)
		require.Equal(b.t, 2030, list[0].End.Year())
		require.Equal(b.t, map[string]string{"own": "x"}, list[0].Extra)
		require.True(b.t, b.exists("q", "repeat"))
		require.EqualValues(b.t, 2, b.do("zcard", b.key("q", "repeat")))
	})
}

func TestScheduleArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		bad := interval("")
		bad.Job.Opts = []byte(`[]`)
		_, err := b.UpsertSchedules(b.ctx, "q", at(0), []storage.Schedule{bad, {ID: "x", Job: interval("x").Job}, pattern("y", time.Time{})})
		for _, words := range []string{"schedule 1 of 3 has no id", "not a JSON object", `"x" needs either`, `"y" has a pattern and no slot`} {
			require.ErrorContains(b.t, err, words)
		}
		_, err = b.AdvanceSchedules(b.ctx, "q", at(0), []storage.Advance{{ID: "x"}})
		require.ErrorContains(b.t, err, "needs an id and a job")
		_, err = b.RemoveSchedules(b.ctx, "q", "")
		require.ErrorContains(b.t, err, "empty")
		_, err = b.Schedules(b.ctx, "a:b", "x")
		require.Error(b.t, err)
		_, err = b.ListSchedules(b.ctx, "a:b", 0, -1, true)
		require.Error(b.t, err)
		_, err = b.CountSchedules(b.ctx, "a:b")
		require.Error(b.t, err)
		none, err := b.UpsertSchedules(b.ctx, "q", at(0), nil)
		require.NoError(b.t, err)
		require.Empty(b.t, none)
		require.Empty(b.t, b.keys())
		empty := interval("e")
		empty.Job.Opts = []byte("{}")
		out := b.upsert(at(0), empty)
		require.JSONEq(b.t, `{"attempts":0,"jobId":"`+out[0].ID+`","delay":0}`, b.do("hget", b.key("q", out[0].ID), "opts").(string))
	})
}
