package audit_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/audit"
	"github.com/bullmq-gen/bullmq-gen/internal/audit/broken"
	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func TestSound(t *testing.T) {
	t.Parallel()
	require.Empty(t, audit.Keyspace(broken.State(nil), "bull"))
	require.Empty(t, audit.Keyspace(nil, "bull"))
}

// Each rule can be broken, and then it is that rule which says so, and where.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, c := range broken.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			problems := audit.Keyspace(broken.State(c.Change), "bull")
			require.True(t, slices.ContainsFunc(problems, func(p audit.Problem) bool {
				return p.Rule == c.Rule && p.Key == "bull:q:"+c.Key
			}), "%v", problems)
		})
	}
}

func TestEveryRuleHasACaseAndARowInTheDocs(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/audit.md")
	require.NoError(t, err)
	rows := strings.Count(string(docs), "\n| `")
	require.Equal(t, len(audit.Rules), rows, "rows of rules in docs/audit.md")
	for _, rule := range audit.Rules {
		require.Contains(t, string(docs), "\n| `"+string(rule)+"` | ")
		require.True(t, slices.ContainsFunc(broken.Cases, func(c broken.Case) bool { return c.Rule == rule }), rule)
	}
}

// What stands below no queue is who declares schedules, and nothing else.
func TestOwners(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key   string
		entry vectors.Entry
		rule  audit.Rule
	}{
		"sound":        {"gen:schedules", broken.Set("q:example.com/app", "q2:a:b"), ""},
		"other type":   {"gen:schedules", broken.List("q:a"), audit.RuleKey},
		"no queue":     {"gen:schedules", broken.Set(":a"), audit.RuleScheduler},
		"no owner":     {"gen:schedules", broken.Set("q"), audit.RuleScheduler},
		"what is this": {"meta", broken.Hash("paused", "1"), audit.RuleKey},
	} {
		problems := audit.Keyspace(broken.State(func(k vectors.Keyspace) { k["bull::"+c.key] = c.entry }), "bull")
		if c.rule == "" {
			require.Empty(t, problems, name)
			continue
		}
		require.Len(t, problems, 1, name)
		require.Equal(t, c.rule, problems[0].Rule, name)
		require.Equal(t, "bull::"+c.key, problems[0].Key, name)
	}
}

// Nobody needs to be woken where no job may be taken, or a worker will look by itself.
func TestNobodyToWake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(vectors.Keyspace)
		opts   []audit.Option
	}{
		"paused":                {change: broken.Field("meta", "paused", "1")},
		"no slot":               {change: broken.Field("meta", "concurrency", "1")},
		"a worker looks":        {opts: []audit.Option{audit.Looking("q")}},
		"a worker knows of it":  {change: broken.All(broken.With("wait", broken.List("0:7")), broken.OnlyDelayed), opts: []audit.Option{audit.KnowsOf("q", time.UnixMilli(broken.Now+500))}},
		"a worker looks before": {change: broken.All(broken.With("wait", broken.List("0:7")), broken.OnlyDelayed), opts: []audit.Option{audit.KnowsOf("q", time.UnixMilli(broken.Now+1))}},
	} {
		k := broken.State(broken.All(c.change, broken.Without("marker")))
		require.False(t, wakes(audit.Keyspace(k, "bull", c.opts...)), name)
		if c.opts != nil {
			require.True(t, wakes(audit.Keyspace(k, "bull", audit.Looking("other"))), name)
		}
	}
	late := broken.State(broken.All(broken.With("wait", broken.List("0:7")), broken.OnlyDelayed, broken.Without("marker")))
	require.True(t, wakes(audit.Keyspace(late, "bull", audit.KnowsOf("q", time.UnixMilli(broken.Now+501)))), "it will look too late")
}

func wakes(problems []audit.Problem) bool {
	return slices.ContainsFunc(problems, func(p audit.Problem) bool { return p.Rule == audit.RuleWake })
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]*testredis.Server{"redis": testredis.Any(t), "in-process": testredis.Mini(t)} {
		c := server.Client(t)
		s, err := redisq.New(c)
		require.NoError(t, err)
		_, err = s.Add(t.Context(), "q", []storage.NewJob{{Name: "n", Data: []byte("{}"), Opts: []byte("{}"), Timestamp: time.UnixMilli(broken.Now)}})
		require.NoError(t, err)
		problems, err := audit.Check(t.Context(), c, "bull")
		require.NoError(t, err, name)
		require.Empty(t, problems, name)

		require.NoError(t, c.Del(t.Context(), "bull:q:wait").Err())
		problems, err = audit.Check(t.Context(), c, "bull")
		require.NoError(t, err, name)
		require.Len(t, problems, 1, name)
		require.Equal(t, "bull:q:1: is in no state (state)", problems[0].String())
	}
	c := testredis.Mini(t).Client(t)
	require.NoError(t, c.Close())
	_, err := audit.Check(t.Context(), c, "bull")
	require.Error(t, err)
}
