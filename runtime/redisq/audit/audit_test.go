package audit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	invariants "github.com/bullmq-gen/bullmq-gen/internal/audit"
	"github.com/bullmq-gen/bullmq-gen/internal/audit/broken"
	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq/audit"
)

func servers(t *testing.T) map[string]*testredis.Server {
	return map[string]*testredis.Server{"redis": testredis.Any(t), "in-process": testredis.Mini(t)}
}

func write(t *testing.T, c *redis.Client, state vectors.Keyspace) {
	require.NoError(t, c.FlushDB(t.Context()).Err())
	require.NoError(t, vectors.Apply(t.Context(), c, state))
}

func run(t *testing.T, c redis.UniversalClient, opts ...audit.Option) *audit.Report {
	t.Helper()
	report, err := audit.Run(t.Context(), c, opts...)
	require.NoError(t, err)
	return report
}

func find(r *audit.Report, rule invariants.Rule, key string) *audit.Finding {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Rule == string(rule) && f.Key == key {
			return f
		}
	}
	return nil
}

func TestASoundQueueHasNoFindings(t *testing.T) {
	t.Parallel()
	for name, s := range servers(t) {
		c := s.Client(t)
		write(t, c, broken.State(nil))
		report := run(t, c, audit.Payloads())
		require.Empty(t, report.Findings, name)
		require.True(t, report.Sound())
		require.Equal(t, 1, report.Queues)
		require.Equal(t, 10, report.Jobs)
	}
}

// seenOnlyAtRest are cases in which a queue in use is right: its active job's
// worker takes the next one, and a lock ends by itself.
var seenOnlyAtRest = []string{"nobody woken", "nobody woken for a delayed job", "no marker for a delayed job", "lock of no job"}

func TestEveryBrokenRuleIsFoundInAQueueInUse(t *testing.T) {
	t.Parallel()
	for name, s := range servers(t) {
		c := s.Client(t)
		for _, b := range broken.Cases {
			write(t, c, broken.State(b.Change))
			report := run(t, c, audit.Payloads())
			found := find(report, b.Rule, "bull:q:"+b.Key)
			if slices.Contains(seenOnlyAtRest, b.Name) {
				require.Nil(t, found, "%s: %s", name, b.Name)
				continue
			}
			require.NotNil(t, found, "%s: %s: %v", name, b.Name, report.Findings)
			require.Equal(t, "q", found.Queue)
			require.NotEmpty(t, found.Cure)
			require.False(t, found.Repaired)
		}
	}
}

// A repair cures its finding, and causes no other one.
func TestRepairsCureWhatTheySay(t *testing.T) {
	t.Parallel()
	for name, s := range servers(t) {
		c := s.Client(t)
		for _, b := range broken.Cases {
			write(t, c, broken.State(b.Change))
			before := run(t, c)
			run(t, c, audit.Repair())
			after := run(t, c)
			for _, f := range after.Findings {
				was := find(before, invariants.Rule(f.Rule), f.Key)
				require.NotNil(t, was, "%s: %s: the repair caused %v", name, b.Name, f)
				require.False(t, was.Repairable, "%s: %s: not repaired: %v", name, b.Name, f)
			}
		}
	}
}

// Jobs that are in no state go where their keys say that they belong.
func TestALostJobIsPutBackByWhatItsKeysSay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(vectors.Keyspace)
		id     string
		state  string
	}{
		"plain":           {broken.With("L", broken.Job()), "L", "wait"},
		"prioritized":     {broken.With("L", broken.Job("priority", "7")), "L", "prioritized"},
		"delayed":         {broken.With("L", broken.Job("delay", "99999999999999")), "L", "delayed"},
		"due":             {broken.With("L", broken.Job("delay", "5")), "L", "wait"},
		"completed":       {broken.With("L", broken.Job("finishedOn", "1700000000009", "returnvalue", "1", "atm", "1")), "L", "completed"},
		"failed":          {broken.With("L", broken.Job("finishedOn", "1700000000009", "failedReason", "x", "atm", "1")), "L", "failed"},
		"held":            {broken.All(broken.With("L", broken.Job("processedOn", "1", "ats", "1")), broken.With("L:lock", broken.Ending(broken.Text("t")))), "L", "active"},
		"parent":          {broken.Without("waiting-children"), "P", "waiting-children"},
		"paused as in 5x": {broken.All(broken.With("L", broken.Job()), broken.Field("meta", "paused", "1")), "L", "paused"},
	} {
		for server, s := range servers(t) {
			rdb := s.Client(t)
			write(t, rdb, broken.State(c.change))
			opts := []audit.Option{audit.Repair()}
			if c.state == "paused" {
				opts = append(opts, audit.Peers5())
			}
			report := run(t, rdb, opts...)
			require.Len(t, report.Findings, 1, "%s: %v", name, report.Findings)
			require.True(t, report.Findings[0].Repaired, name)
			require.True(t, report.Sound())
			state, err := vectors.Snapshot(t.Context(), rdb)
			require.NoError(t, err)
			e := state["bull:q:"+c.state]
			in := slices.Contains(e.List, c.id) || slices.ContainsFunc(e.Sorted, func(m vectors.Member) bool { return m.Name == c.id })
			require.True(t, in, "%s on %s: %v", name, server, e)
			require.Empty(t, run(t, rdb).Findings, name)
		}
	}
}

// A job in two states keeps the one that its lock, its end or its children prove.
func TestAJobInTwoStatesKeepsTheRightOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(vectors.Keyspace)
		id     string
		want   string
	}{
		"held by a worker":        {broken.With("wait", broken.List("2", "1", "C1")), "2", "active"},
		"given back":              {broken.All(broken.Without("2:lock"), broken.With("wait", broken.List("2", "1", "C1"))), "2", "wait"},
		"finished and waiting":    {broken.With("wait", broken.List("4", "1", "C1")), "4", "completed"},
		"parent still waiting":    {broken.With("wait", broken.List("P", "1", "C1")), "P", "waiting-children"},
		"twice in one list":       {broken.With("paused", broken.List("8", "8", "8")), "8", "paused"},
		"delayed and prioritized": {broken.With("delayed", broken.Scores("3", float64(broken.Now*4096), "5", float64((broken.Now+500)*4096+1))), "3", "prioritized"},
	} {
		for server, s := range servers(t) {
			rdb := s.Client(t)
			write(t, rdb, broken.State(c.change))
			run(t, rdb, audit.Repair())
			state, err := vectors.Snapshot(t.Context(), rdb)
			require.NoError(t, err)
			var in []string
			for _, container := range invariants.Containers {
				e := state["bull:q:"+container]
				for _, id := range e.List {
					if id == c.id {
						in = append(in, container)
					}
				}
				for _, m := range e.Sorted {
					if m.Name == c.id {
						in = append(in, container)
					}
				}
			}
			require.Equal(t, []string{c.want}, in, "%s on %s", name, server)
		}
	}
}

// A queue without active jobs, whose jobs wait and nobody is woken, sleeps.
func TestASleepingQueueIsWoken(t *testing.T) {
	t.Parallel()
	for _, s := range servers(t) {
		c := s.Client(t)
		idle := broken.Without("marker", "active", "2", "2:lock", "2:logs", "stalled")
		write(t, c, broken.State(idle))
		report := run(t, c, audit.Repair())
		require.Len(t, report.Findings, 2, report.Findings) // for waiting jobs, and for a delayed one that is late
		require.Equal(t, "wake", report.Findings[0].Rule)
		require.True(t, report.Sound())
		require.Empty(t, run(t, c).Findings)
	}
}

// Keys below a queue's base that are those of another queue are left alone.
func TestAQueueNestedUnderThePrefixOfAnotherIsNotTouched(t *testing.T) {
	t.Parallel()
	c := testredis.Any(t).Client(t)
	write(t, c, broken.State(nil))
	store, err := redisq.New(c, redisq.Prefix("bull:q"))
	require.NoError(t, err)
	client, err := bullmq.NewClient(store)
	require.NoError(t, err)
	_, err = client.Queue("nested").Add(t.Context(), "n", map[string]int{})
	require.NoError(t, err)
	require.Empty(t, run(t, c, audit.Repair()).Findings)
	require.Empty(t, run(t, c, audit.Prefix("bull:q"), audit.Queues("nested")).Findings)
}

func TestOnlyTheNamedQueuesAreAudited(t *testing.T) {
	t.Parallel()
	c := testredis.Any(t).Client(t)
	state := broken.State(broken.With("99:logs", broken.List("x")))
	state["bull:other:3:logs"] = broken.List("x")
	write(t, c, state)
	report := run(t, c, audit.Queues("other"))
	require.Len(t, report.Findings, 1)
	require.Equal(t, `bull:other:3:logs: belongs to job "3", which does not exist (orphan): delete it`, report.Findings[0].String())
	require.Len(t, run(t, c).Findings, 2)
	require.Empty(t, run(t, c, audit.Prefix("empty")).Findings)
}

func TestAnAuditSaysWhyItCannotBegin(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, err := audit.Run(ctx, nil)
	require.ErrorContains(t, err, "client is nil")
	c := testredis.Mini(t).Client(t)
	_, err = audit.Run(ctx, c, audit.Queues("a:b"))
	require.ErrorContains(t, err, `"a:b" is not the name of a queue`)
	_, err = audit.Run(ctx, c, audit.Prefix(""))
	require.ErrorContains(t, err, "prefix is empty")
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, err = audit.Run(over, c)
	require.ErrorIs(t, err, context.Canceled)
}

// A large queue is read in pages: no reply of the server is larger than one.
func TestALargeQueueIsReadInPages(t *testing.T) {
	t.Parallel()
	c := testredis.Any(t).Client(t)
	require.NoError(t, c.FlushDB(t.Context()).Err())
	const n = 3000
	_, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range n {
			id := fmt.Sprint("big-", i)
			p.HSet(t.Context(), "bull:big:"+id, broken.Job().Hash)
			if i != 1234 {
				p.LPush(t.Context(), "bull:big:wait", id)
			}
		}
		p.ZAdd(t.Context(), "bull:big:marker", redis.Z{Member: "0"})
		return nil
	})
	require.NoError(t, err)
	report := run(t, c)
	require.Equal(t, n, report.Jobs)
	require.Len(t, report.Findings, 1)
	require.Equal(t, "big-1234", report.Findings[0].Job)
}

// While workers, producers and operators are busy, an audit with repairs finds
// nothing and breaks nothing.
func TestAnAuditBesideWorkFindsNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := testredis.Any(t).Client(t)
	require.NoError(t, c.FlushDB(ctx).Err())
	store, err := redisq.New(c)
	require.NoError(t, err)
	client, err := bullmq.NewClient(store)
	require.NoError(t, err)
	busy := newBusy(t, client)
	for range 30 {
		report := run(t, c, audit.Repair(), audit.Payloads())
		var real []string
		for _, f := range report.Findings {
			real = append(real, f.String())
		}
		require.Empty(t, real, strings.Join(real, "\n"))
	}
	busy.stop()
	require.Empty(t, run(t, c).Findings)
	problems, err := invariants.Check(ctx, c, "bull")
	require.NoError(t, err)
	require.Empty(t, problems)
}
