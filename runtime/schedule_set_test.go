package bullmq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/audit"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

// owner is who declares the schedules of these tests.
const owner = "example.com/app/tasks"

// declare makes a schedule of greetings.
func (k *scheduleKit) declare(id string, spec ScheduleSpec, name string, opts ...Option) DeclaredSchedule {
	return k.task.DeclareSchedule(id, spec, func() (greet, error) { return greet{Name: name}, nil }, opts...)
}

// ensure stores a set of schedules.
func (k *scheduleKit) ensure(list ...DeclaredSchedule) {
	k.Helper()
	require.NoError(k, NewScheduleSet(owner, list...).Ensure(k.ctx, k.client))
}

func (k *scheduleKit) prune(who string, list ...DeclaredSchedule) []ScheduleRef {
	k.Helper()
	refs, err := NewScheduleSet(who, list...).Prune(k.ctx, k.client)
	require.NoError(k, err)
	return refs
}

func (k *scheduleKit) ids() []string {
	k.Helper()
	list, err := k.q.Schedules(k.ctx, 0, -1)
	require.NoError(k, err)
	ids := []string{}
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids
}

// sound is all that is stored, which must be sound.
func (k *scheduleKit) sound() vectors.Keyspace {
	k.Helper()
	state, err := vectors.Snapshot(k.ctx, k.server.Client(k))
	require.NoError(k, err)
	require.Empty(k, audit.Keyspace(state, "bull", audit.Looking("greetings")))
	return state
}

var (
	hourly   = ScheduleSpec{Cron: "0 * * * *"}
	interval = ScheduleSpec{Every: 10 * time.Minute}
)

func TestEnsureLeavesWhatGoesOn(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]ScheduleSpec{
		"pattern": hourly, "pattern in a zone": {Cron: "0 9 * * MON", TZ: "europe/paris", Limit: 9, End: noon.AddDate(1, 0, 0)},
		"interval": interval, "interval in phase": {Every: time.Hour, Offset: time.Minute}, "interval from a start": {Every: time.Hour, Start: noon.Add(30 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newScheduleKit(t)
			d := k.declare("s", spec, "x", Attempts(3), Priority(2))
			k.ensure(d)
			require.Equal(t, owner, k.info("s").Owner)
			require.Empty(t, k.info("s").Extra)
			before := k.sound()
			k.forward(time.Minute)
			k.ensure(d)
			require.Equal(t, before, k.sound(), "not so much as an event")

			k.set(k.info("s").Next.At.Add(25 * time.Hour)) // nobody took the job
			require.NoError(t, k.q.PromoteAll(k.ctx))
			before = k.sound()
			k.ensure(d)
			require.Equal(t, before, k.sound(), "a job that is due is not put off")

			k.finish(k.take(), nil)
			before = k.sound()
			k.ensure(d)
			require.Equal(t, before, k.sound())
			require.Equal(t, 2, k.info("s").Iterations)
		})
	}
}

func TestEnsureKeepsAPromotedRun(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	d := k.declare("s", hourly, "x")
	k.ensure(d)
	require.NoError(t, k.q.Promote(k.ctx, k.info("s").Next.JobID))
	k.ensure(d)
	require.Equal(t, map[State]int{StateWaiting: 1}, k.counts())
}

func TestEnsureCountsLimitsOn(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]ScheduleSpec{"pattern": {Cron: "* * * * *", Limit: 3}, "interval": {Every: time.Minute, Limit: 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newScheduleKit(t)
			d := k.declare("s", spec, "x", KeepCompleted(KeepNone()))
			for range 3 { // a program that starts anew after each job
				k.ensure(d)
				k.forward(time.Minute)
				k.finish(k.take(), nil)
			}
			k.forward(time.Hour)
			k.ensure(d)
			require.Empty(t, k.counts(), "there were three in all")

			spec.Limit = 2
			k.ensure(k.declare("s", spec, "x"))
			k.forward(time.Minute)
			k.finish(k.take(), nil)
			k.ensure(k.declare("s", spec, "x"))
			k.forward(time.Minute)
			k.finish(k.take(), nil)
			k.ensure(k.declare("s", spec, "x"))
			require.Equal(t, map[State]int{StateCompleted: 2}, k.counts(), "one that was changed counts anew")
		})
	}
}

func TestEnsureStoresWhatDiffers(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	k.ensure(k.declare("s", hourly, "one"))
	for name, d := range map[string]DeclaredSchedule{
		"payload": k.declare("s", hourly, "two"), "options": k.declare("s", hourly, "two", Attempts(2)),
		"pattern": k.declare("s", ScheduleSpec{Cron: "30 * * * *"}, "two"), "zone": k.declare("s", ScheduleSpec{Cron: "30 * * * *", TZ: "Asia/Kolkata"}, "two"),
		"limit": k.declare("s", ScheduleSpec{Cron: "30 * * * *", Limit: 2}, "two"), "end": k.declare("s", ScheduleSpec{Cron: "30 * * * *", End: noon.AddDate(1, 0, 0)}, "two"),
		"interval": k.declare("s", interval, "two"), "phase": k.declare("s", ScheduleSpec{Every: 10 * time.Minute, Offset: time.Second}, "two"),
	} {
		before := k.info("s")
		k.ensure(d)
		require.NotEqual(t, before, k.info("s"), name)
		require.Equal(t, 1, k.counts()[StateDelayed]+k.counts()[StateWaiting], name)
		k.sound()
	}
}

func TestEnsureMends(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	set := []DeclaredSchedule{k.declare("cron", hourly, "x"), k.declare("every", interval, "x"), k.declare("limited", ScheduleSpec{Cron: "* * * * *", Limit: 5}, "x")}
	k.ensure(set...)
	rdb := k.server.Client(t)
	for _, id := range []string{"cron", "every", "limited"} { // somebody deleted the keys of its next job
		job := k.info(id).Next.JobID
		require.NoError(t, rdb.Del(k.ctx, "bull:greetings:"+job).Err())
		require.NoError(t, rdb.ZRem(k.ctx, "bull:greetings:delayed", job).Err())
		require.NoError(t, rdb.LRem(k.ctx, "bull:greetings:wait", 0, job).Err())
	}
	k.ensure(set...)
	require.Equal(t, map[State]int{StateDelayed: 3}, k.counts())
	k.sound()

	ahead := newScheduleKit(t)
	ahead.forward(20 * 365 * 24 * time.Hour) // the clock of one program is wrong
	ahead.ensure(ahead.declare("cron", hourly, "x"), ahead.declare("every", interval, "x"))
	ahead.finish(ahead.take(), nil)
	ahead.set(noon)
	ahead.ensure(ahead.declare("cron", hourly, "x"), ahead.declare("every", interval, "x"))
	for _, id := range []string{"cron", "every"} {
		require.LessOrEqual(t, ahead.info(id).Next.At.Sub(noon), time.Hour, id)
	}
}

func TestEnsureChecksAllFirst(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	other := NewTask[greet, None](Spec{Queue: &QueueSpec{Name: "others"}, Name: "other"}, nil)
	broken := NewTask[greet, None](Spec{Name: "of no queue"}, nil)
	fails := errors.New("no such customer")
	err := NewScheduleSet(owner,
		k.declare("good", hourly, "x"),
		k.declare("bad", ScheduleSpec{Cron: "61 * * * *"}, "x"),
		other.DeclareSchedule("fails", hourly, func() (greet, error) { return greet{}, fails }),
		other.DeclareSchedule("delayed", hourly, nil, Delay(time.Second)),
		broken.DeclareSchedule("of-no-queue", hourly, nil),
		k.declare("good", interval, "x"),
	).Ensure(k.ctx, k.client)
	require.ErrorIs(t, err, fails)
	for _, words := range []string{
		`schedule "bad" on queue "greetings": cron pattern "61 * * * *"`, `schedule "fails" on queue "others": payload: no such customer`,
		`schedule "delayed" on queue "others": its jobs take no delay`, "of-no-queue", `schedule "good" on queue "greetings": there are two of this id`,
	} {
		require.ErrorContains(t, err, words)
	}
	require.Empty(t, k.sound())

	for _, who := range []string{"", "\xff"} {
		require.ErrorContains(t, NewScheduleSet(who, k.declare("s", hourly, "x")).Ensure(k.ctx, k.client), "owner")
		_, err = NewScheduleSet(who).Prune(k.ctx, k.client)
		require.ErrorContains(t, err, "owner")
	}
	require.ErrorIs(t, NewScheduleSet(owner).Ensure(k.ctx, nil), errNoClient)
	_, err = NewScheduleSet(owner).Prune(k.ctx, nil)
	require.ErrorIs(t, err, errNoClient)
	require.NoError(t, NewScheduleSet(owner).Ensure(k.ctx, k.client))
	require.Empty(t, k.prune(owner))

	done, cancel := context.WithCancel(k.ctx)
	cancel()
	err = NewScheduleSet(owner, k.declare("one", hourly, "x"), k.declare("two", hourly, "x")).Ensure(done, k.client)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, `the schedules ["one" "two"] of queue "greetings"`)
}

func TestEnsureTellsWhatIsRefused(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	rdb := k.server.Client(t)
	for i := range runTries + 1 { // jobs that have the ids of the next ones
		id := fmt.Sprintf("repeat:taken:%d", noon.Add(time.Duration(i+1)*time.Hour).UnixMilli())
		require.NoError(t, rdb.HSet(k.ctx, "bull:greetings:"+id, "name", "greet", "data", "{}", "opts", "{}").Err())
	}
	err := NewScheduleSet(owner, k.declare("taken", hourly, "x"), k.declare("free", hourly, "x")).Ensure(k.ctx, k.client)
	require.ErrorContains(t, err, `schedule "taken"`)
	require.NotContains(t, err.Error(), "free")
	require.Equal(t, []string{"free"}, k.ids(), "the others are stored all the same")
}

func TestEnsureOfSchedulesThatAreOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ long, short ScheduleSpec }{
		"pattern":                    {ScheduleSpec{Cron: "0 * * * *", End: noon.Add(5 * time.Hour)}, ScheduleSpec{Cron: "0 * * * *", End: noon.Add(2 * time.Hour)}},
		"interval":                   {ScheduleSpec{Every: time.Hour, End: noon.Add(5 * time.Hour)}, ScheduleSpec{Every: time.Hour, End: noon.Add(2 * time.Hour)}},
		"no time is left of it":      {hourly, ScheduleSpec{Cron: "0 0 1 JAN *", End: noon.Add(6 * time.Hour)}},
		"no time of an interval":     {interval, ScheduleSpec{Every: 24 * time.Hour, Offset: time.Hour, End: noon.Add(6 * time.Hour)}},
		"its last job still waits":   {ScheduleSpec{Cron: "0 * * * *", End: noon.Add(time.Hour)}, ScheduleSpec{}},
		"it is stored by nobody yet": {ScheduleSpec{}, ScheduleSpec{Every: time.Hour, End: noon.Add(time.Hour)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newScheduleKit(t)
			if c.long != (ScheduleSpec{}) {
				k.ensure(k.declare("s", c.long, "x"))
			}
			k.forward(3 * time.Hour)
			if c.short == (ScheduleSpec{}) {
				k.ensure(k.declare("s", c.long, "x"))
				require.Equal(t, []string{"s"}, k.ids())
				k.finish(k.take(), nil)
				return
			}
			k.ensure(k.declare("s", c.short, "x"), k.declare("another", hourly, "x"))
			require.Equal(t, []string{"another"}, k.ids(), "one that would go on beyond its new end is removed")
		})
	}
}

func TestPruneRemovesWhatIsNotDeclaredAnyMore(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	moved := NewTask[greet, None](Spec{Queue: &QueueSpec{Name: "an old queue"}, Name: "moved"}, nil)
	old := []DeclaredSchedule{k.declare("stays", hourly, "x"), k.declare("goes", hourly, "x"), k.declare("taken", hourly, "x"), moved.DeclareSchedule("moves", hourly, nil)}
	k.ensure(old...)
	require.Empty(t, k.prune(owner, old...))
	k.schedule("by hand", hourly, "x")
	k.schedule("taken", hourly, "by hand") // an id that somebody else took over
	require.NoError(t, NewScheduleSet("another owner", k.declare("another's", hourly, "x")).Ensure(k.ctx, k.client))
	k.foreign("of a peer", `{"every":60000,"count":1}`, "name", "greet", "every", "60000", "ic", "1")

	now := []DeclaredSchedule{k.declare("stays", hourly, "x"), k.declare("moves", hourly, "x")}
	k.ensure(now...)
	require.Equal(t, []ScheduleRef{{"an old queue", "moves"}, {"greetings", "goes"}}, k.prune(owner, now...))
	require.ElementsMatch(t, []string{"stays", "moves", "by hand", "taken", "another's", "of a peer"}, k.ids())
	require.Empty(t, k.prune(owner, now...))
	k.sound()

	require.Equal(t, []ScheduleRef{{"greetings", "moves"}, {"greetings", "stays"}}, k.prune(owner), "a set without schedules removes the last ones")
	require.ElementsMatch(t, []string{"by hand", "taken", "another's", "of a peer"}, k.ids())
	require.Empty(t, k.prune("exam"), "an owner is its whole name")
}

// TestPruneDuringARun: the job that runs is finished and is the last one, and
// so is one that waits.
func TestPruneDuringARun(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	k.ensure(k.declare("runs", interval, "x"), k.declare("waits", interval, "x"))
	j := k.take()
	require.Len(t, k.prune(owner), 2)
	require.Equal(t, map[State]int{StateActive: 1, StateWaiting: 1}, k.counts())
	k.finish(j, nil)
	k.finish(k.take(), nil)
	require.Equal(t, map[State]int{StateCompleted: 2}, k.counts())
}

// TestRollingDeployment plays what docs/schedules.md says of it.
func TestRollingDeployment(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	before := []DeclaredSchedule{k.declare("both", hourly, "old"), k.declare("old", hourly, "x")}
	after := []DeclaredSchedule{k.declare("both", hourly, "new"), k.declare("new", hourly, "x")}
	k.ensure(before...)
	k.ensure(after...)
	require.ElementsMatch(t, []string{"both", "old", "new"}, k.ids())
	require.Equal(t, []ScheduleRef{{"greetings", "old"}}, k.prune(owner, after...))
	k.ensure(before...) // a process of the old version starts once more
	require.ElementsMatch(t, []string{"both", "old", "new"}, k.ids())
	require.Equal(t, "old", k.dataOf(k.info("both").Next.JobID))
	k.ensure(after...)
	k.prune(owner, after...)
	require.ElementsMatch(t, []string{"both", "new"}, k.ids())
	require.Equal(t, "new", k.dataOf(k.info("both").Next.JobID))
}

// TestEnsureAndPruneAtOnce: processes of two versions, each with connections of
// its own.
func TestEnsureAndPruneAtOnce(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	versions := [][]DeclaredSchedule{
		{k.declare("a", hourly, "1"), k.declare("b", interval, "1")},
		{k.declare("b", hourly, "2"), k.declare("c", ScheduleSpec{Cron: "* * * * *", Limit: 3}, "2")},
	}
	var all sync.WaitGroup
	for i := range 24 {
		store, err := redisq.Open(k.server.URL())
		require.NoError(t, err)
		c, err := NewClient(store, WithClock(k.now))
		require.NoError(t, err)
		all.Go(func() {
			defer func() { _ = store.Close() }()
			set := NewScheduleSet(owner, versions[i%2]...)
			require.NoError(t, set.Ensure(k.ctx, c))
			if i%3 == 0 {
				_, err := set.Prune(k.ctx, c)
				require.NoError(t, err)
			}
		})
	}
	all.Wait()
	k.sound()
	k.ensure(versions[1]...)
	k.prune(owner, versions[1]...)
	k.sound()
	require.ElementsMatch(t, []string{"b", "c"}, k.ids())
	require.Equal(t, map[State]int{StateDelayed: 2}, k.counts())
}

// TestObliterateForgetsOwners: nothing is left of a queue, and a program can
// begin anew.
func TestObliterateForgetsOwners(t *testing.T) {
	t.Parallel()
	k := newScheduleKit(t)
	other := NewTask[greet, None](Spec{Queue: &QueueSpec{Name: "greetings2"}, Name: "other"}, nil)
	k.ensure(k.declare("s", hourly, "x"), other.DeclareSchedule("s", hourly, nil))
	require.NoError(t, k.q.Obliterate(k.ctx))
	for key, e := range k.sound() {
		require.False(t, strings.HasPrefix(key, "bull:greetings:"), key)
		if key == "bull::gen:schedules" {
			require.Equal(t, []string{"greetings2:" + owner}, e.Set)
		}
	}
	require.NoError(t, k.client.Queue("greetings2").Obliterate(k.ctx))
	require.Empty(t, k.sound())
	k.ensure(k.declare("s", hourly, "x"))
	require.Equal(t, []ScheduleRef{{"greetings", "s"}}, k.prune(owner))
}
