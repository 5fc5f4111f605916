package audit_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/audit"
	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

const now = 1700000000000

func ttl(ms int64) *int64 { return &ms }

func text(s string) vectors.Entry         { return vectors.Entry{Type: "string", Text: s} }
func list(ids ...string) vectors.Entry    { return vectors.Entry{Type: "list", List: ids} }
func set(members ...string) vectors.Entry { return vectors.Entry{Type: "set", Set: members} }

func scores(pairs ...any) vectors.Entry {
	e := vectors.Entry{Type: "zset"}
	for i := 0; i < len(pairs); i += 2 {
		e.Sorted = append(e.Sorted, vectors.Member{Name: pairs[i].(string), Score: pairs[i+1].(float64)})
	}
	return e
}

func hash(pairs ...string) vectors.Entry {
	e := vectors.Entry{Type: "hash", Hash: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		e.Hash[pairs[i]] = pairs[i+1]
	}
	return e
}

// job is the hash of a new job, with more fields or other ones.
func job(pairs ...string) vectors.Entry {
	e := hash("name", "n", "data", "{}", "opts", "{}", "timestamp", "1700000000000", "delay", "0", "priority", "0")
	maps.Copy(e.Hash, hash(pairs...).Hash)
	return e
}

func ending(e vectors.Entry) vectors.Entry { e.TTL = ttl(1000); return e }

// sound is a state with jobs in every state, and nothing wrong with it.
func sound() vectors.Keyspace {
	const parent = `{"id":"P","queueKey":"bull:q"}`
	return vectors.Keyspace{
		"bull:q:meta":                   hash("opts.maxLenEvents", "10000", "concurrency", "5", "max", "9", "duration", "1000", "version", "x"),
		"bull:q:id":                     text("12"),
		"bull:q:pc":                     text("3"),
		"bull:q:limiter":                ending(text("1")),
		"bull:q:stalled-check":          ending(text("1700000000000")),
		"bull:q:stalled":                set("2", "8"),
		"bull:q:marker":                 scores("0", 0.0, "1", float64(now+500)),
		"bull:q:events":                 {Type: "stream", Stream: []vectors.StreamEntry{{ID: "1-1", Fields: map[string]string{"event": "completed", "jobId": "4", "returnvalue": "1", "prev": "active"}}}},
		"bull:q:wait":                   list("1", "C1", "0:7"),
		"bull:q:1":                      job("deid", "d"),
		"bull:q:de:d":                   text("1"),
		"bull:q:dn:d":                   hash("name", "n", "data", "{}", "opts", "{}"),
		"bull:q:de:t":                   ending(text("gone")),
		"bull:q:paused":                 list("8"),
		"bull:q:8":                      job("processedOn", "1700000000000", "ats", "1", "stc", "1"),
		"bull:q:active":                 list("2"),
		"bull:q:2":                      job("processedOn", "1700000000000", "ats", "1"),
		"bull:q:2:lock":                 ending(text("token")),
		"bull:q:2:logs":                 list("line"),
		"bull:q:prioritized":            scores("3", float64(2<<32+3)),
		"bull:q:3":                      job("priority", "2"),
		"bull:q:delayed":                scores("5", float64((now+500)*4096+1)),
		"bull:q:5":                      job("delay", "500"),
		"bull:q:completed":              scores("4", float64(now+7)),
		"bull:q:4":                      job("processedOn", "1700000000001", "ats", "1", "atm", "1", "finishedOn", "1700000000007", "returnvalue", "1"),
		"bull:q:failed":                 scores("C2", float64(now+8)),
		"bull:q:C2":                     job("ats", "1", "atm", "1", "finishedOn", "1700000000008", "failedReason", "no", "parentKey", "bull:q:P", "parent", parent),
		"bull:q:C1":                     job("parentKey", "bull:q:P", "parent", parent),
		"bull:q:P":                      job(),
		"bull:q:P:dependencies":         set("bull:q:C1", "bull:q:C2"),
		"bull:q:waiting-children":       scores("P", float64(now)),
		"bull:q:metrics:completed":      hash("count", "5", "prevCount", "4", "prevTS", "1700000000000"),
		"bull:q:metrics:completed:data": list("1", "0", "2"),
		"bull:q:repeat":                 scores("s", float64(now+1000)),
		"bull:q:repeat:s":               hash("name", "n", "every", "1000"),
		"bull:q:repeat:s:1700000001000": job("rjk", "s"),
		"bull:q:gen:cancel":             {Type: "stream"},
		"other:q:wait":                  text("of another prefix"),
	}
}

// broken returns the sound state with the scheduler's job waiting too, changed.
func broken(change func(k vectors.Keyspace)) vectors.Keyspace {
	k := sound()
	e := k["bull:q:wait"]
	e.List = append([]string{"repeat:s:1700000001000"}, e.List...)
	k["bull:q:wait"] = e
	if change != nil {
		change(k)
	}
	return k
}

func TestSound(t *testing.T) {
	t.Parallel()
	require.Empty(t, audit.Keyspace(broken(nil), "bull"))
	require.Empty(t, audit.Keyspace(nil, "bull"))
}

// with returns a change that replaces a key.
func with(key string, e vectors.Entry) func(vectors.Keyspace) {
	return func(k vectors.Keyspace) { k["bull:q:"+key] = e }
}

// field returns a change that sets a field of a hash; an empty value removes it.
func field(key, name, value string) func(vectors.Keyspace) {
	return func(k vectors.Keyspace) {
		h := k["bull:q:"+key].Hash
		if h[name] = value; value == "" {
			delete(h, name)
		}
	}
}

func without(keys ...string) func(vectors.Keyspace) {
	return func(k vectors.Keyspace) {
		for _, key := range keys {
			delete(k, "bull:q:"+key)
		}
	}
}

func all(changes ...func(vectors.Keyspace)) func(vectors.Keyspace) {
	return func(k vectors.Keyspace) {
		for _, c := range changes {
			if c != nil {
				c(k)
			}
		}
	}
}

// Each rule can be broken, and then it is that rule which says so, and where.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(vectors.Keyspace)
		rule   audit.Rule
		key    string
	}{
		{"key of no queue", with("odd", text("x")), audit.RuleKey, "odd"},
		{"set where a list should be", with("paused", set("8")), audit.RuleKey, "paused"},
		{"lock of another type", with("2:lock", list("x")), audit.RuleKey, "2:lock"},
		{"counter that is no number", with("id", text("many")), audit.RuleKey, "id"},
		{"log of no job", with("77:logs", list("x")), audit.RuleOrphan, "77:logs"},
		{"children of no job", with("77:dependencies", set("bull:q:C1")), audit.RuleOrphan, "77:dependencies"},
		{"lock of no job", with("77:lock", ending(text("t"))), audit.RuleOrphan, "77:lock"},
		{"job without data", field("1", "data", ""), audit.RuleHash, "1"},
		{"attempts that are no number", field("2", "ats", "1x"), audit.RuleHash, "2"},
		{"options that are no JSON", field("1", "opts", "{"), audit.RuleHash, "1"},
		{"flow that never ended", field("P", "flowAttachmentFailed", "1"), audit.RuleHash, "P"},
		{"job in no state", with("99", job()), audit.RuleState, "99"},
		{"job in two states", with("active", list("2", "8")), audit.RuleState, "8"},
		{"job twice in a state", with("paused", list("8", "8")), audit.RuleState, "8"},
		{"id of no job", with("paused", list("8", "ghost")), audit.RuleGhost, "paused"},
		{"completed without a result", field("4", "returnvalue", ""), audit.RuleFinish, "4"},
		{"failed without a reason", field("C2", "failedReason", ""), audit.RuleFinish, "C2"},
		{"completed at another time", with("completed", scores("4", float64(now+9))), audit.RuleFinish, "4"},
		{"waiting with an end", field("1", "finishedOn", "1700000000000"), audit.RuleFinish, "1"},
		{"waiting with a result", field("1", "returnvalue", "1"), audit.RuleFinish, "1"},
		{"failed and to be failed", field("C2", "defa", "child failed"), audit.RuleFinish, "C2"},
		{"active without a beginning", field("2", "processedOn", ""), audit.RuleActive, "2"},
		{"active without a start", field("2", "ats", ""), audit.RuleActive, "2"},
		{"lock of a waiting job", with("1:lock", ending(text("t"))), audit.RuleLock, "1:lock"},
		{"lock for ever", with("2:lock", text("t")), audit.RuleLock, "2:lock"},
		{"stalled without a start", with("stalled", set("1")), audit.RuleStalled, "stalled"},
		{"place of another priority", with("prioritized", scores("3", float64(3<<32+3))), audit.RulePriority, "3"},
		{"place beyond the counter", with("prioritized", scores("3", float64(2<<32+4))), audit.RulePriority, "3"},
		{"no counter of places", without("pc"), audit.RulePriority, "3"},
		{"prioritized without priority", all(field("3", "priority", "0"), with("prioritized", scores("3", 1.0))), audit.RulePriority, "3"},
		{"delayed too short", field("5", "delay", "600"), audit.RuleDelay, "5"},
		{"number to be given again", with("id", text("7")), audit.RuleID, "id"},
		{"nobody woken", without("marker", "delayed", "5"), audit.RuleWake, "marker"},
		{"nobody woken for a delayed job", all(with("wait", list("0:7")), with("marker", scores("1", float64(now+501))), onlyDelayed), audit.RuleWake, "marker"},
		{"no marker for a delayed job", all(with("wait", list("0:7")), without("marker"), onlyDelayed), audit.RuleWake, "marker"},
		{"odd marker", with("marker", scores("0", 0.0, "2", 5.0)), audit.RuleMarker, "marker"},
		{"base marker with a time", with("marker", scores("0", 0.0, "1", 0.0)), audit.RuleMarker, "marker"},
		{"id held by no job", with("de:d", text("77")), audit.RuleDedup, "de:d"},
		{"id held by a job with another", field("1", "deid", "e"), audit.RuleDedup, "de:d"},
		{"id held by a finished job", all(field("4", "deid", "d"), with("de:d", text("4"))), audit.RuleDedup, "de:d"},
		{"next job of none", with("dn:x", hash("name", "n")), audit.RuleNext, "dn:x"},
		{"parent that disagrees", field("C1", "parentKey", "bull:q:Q"), audit.RuleParent, "C1"},
		{"parent that is no JSON object", field("C1", "parent", `"P"`), audit.RuleParent, "C1"},
		{"child that does not exist", with("P:dependencies", set("bull:q:C1", "bull:q:C9")), audit.RulePending, "P"},
		{"child of nobody", all(field("C1", "parentKey", ""), field("C1", "parent", "")), audit.RulePending, "P"},
		{"child that is done", with("P:dependencies", set("bull:q:C1", "bull:q:4")), audit.RulePending, "P"},
		{"child not waited for", with("P:dependencies", set("bull:q:C2")), audit.RuleUnawaited, "C1"},
		{"parent without children", all(without("C1", "P:dependencies"), with("wait", list("repeat:s:1700000001000", "1"))), audit.RuleReleased, "P"},
		{"parent that should fail", with("P:unsuccessful", scores("bull:q:C2", float64(now+8))), audit.RuleReleased, "P"},
		{"failed child that has not", with("P:unsuccessful", scores("bull:q:C1", float64(now+8))), audit.RuleFailed, "P"},
		{"no concurrency", field("meta", "concurrency", "0"), audit.RuleMeta, "meta"},
		{"cap of events that is none", field("meta", "opts.maxLenEvents", "-1"), audit.RuleMeta, "meta"},
		{"paused otherwise", field("meta", "paused", "0"), audit.RuleMeta, "meta"},
		{"half a rate limit", field("meta", "duration", ""), audit.RuleMeta, "meta"},
		{"points and no count", without("metrics:completed"), audit.RuleMetrics, "metrics:completed:data"},
		{"more points than counted", with("metrics:completed:data", list("4", "1")), audit.RuleMetrics, "metrics:completed"},
		{"point that is no number", with("metrics:completed:data", list("x")), audit.RuleMetrics, "metrics:completed:data"},
		{"count that shrinks", field("metrics:completed", "count", "3"), audit.RuleMetrics, "metrics:completed"},
		{"no count", field("metrics:completed", "prevTS", ""), audit.RuleMetrics, "metrics:completed"},
		{"limit for ever", with("limiter", text("1")), audit.RuleLimiter, "limiter"},
		{"event without a name", with("events", vectors.Entry{Type: "stream", Stream: []vectors.StreamEntry{{ID: "1-1"}}}), audit.RuleEvent, "events"},
		{"result that is no JSON", event("completed", "returnvalue", "x"), audit.RuleEvent, "events"},
		{"progress that is no JSON", event("progress", "data", "{"), audit.RuleEvent, "events"},
		{"scheduler without settings", without("repeat:s"), audit.RuleScheduler, "repeat:s"},
		{"scheduler without a next job", with("repeat", scores("s", float64(now+1001))), audit.RuleScheduler, "repeat:s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			problems := audit.Keyspace(broken(c.change), "bull")
			require.True(t, slices.ContainsFunc(problems, func(p audit.Problem) bool {
				return p.Rule == c.rule && p.Key == "bull:q:"+c.key
			}), "%v", problems)
		})
	}
}

// What stands below no queue is who declares schedulers, and nothing else.
func TestOwners(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key   string
		entry vectors.Entry
		rule  audit.Rule
	}{
		"sound":        {"gen:schedules", set("q:example.com/app", "q2:a:b"), ""},
		"other type":   {"gen:schedules", list("q:a"), audit.RuleKey},
		"no queue":     {"gen:schedules", set(":a"), audit.RuleScheduler},
		"no owner":     {"gen:schedules", set("q"), audit.RuleScheduler},
		"what is this": {"meta", hash("paused", "1"), audit.RuleKey},
	} {
		problems := audit.Keyspace(broken(func(k vectors.Keyspace) { k["bull::"+c.key] = c.entry }), "bull")
		if c.rule == "" {
			require.Empty(t, problems, name)
			continue
		}
		require.Len(t, problems, 1, name)
		require.Equal(t, c.rule, problems[0].Rule, name)
		require.Equal(t, "bull::"+c.key, problems[0].Key, name)
	}
}

// onlyDelayed leaves, of what waits, only the delayed job.
func onlyDelayed(k vectors.Keyspace) {
	without("prioritized", "3", "paused", "8", "1", "C1", "P", "P:dependencies", "waiting-children", "repeat", "repeat:s", "repeat:s:1700000001000")(k)
}

func event(name, field, value string) func(vectors.Keyspace) {
	return with("events", vectors.Entry{Type: "stream", Stream: []vectors.StreamEntry{{ID: "1-1", Fields: map[string]string{"event": name, "jobId": "1", field: value}}}})
}

// Nobody needs to be woken where no job may be taken, or a worker will look by itself.
func TestNobodyToWake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(vectors.Keyspace)
		opts   []audit.Option
	}{
		"paused":                {change: field("meta", "paused", "1")},
		"no slot":               {change: field("meta", "concurrency", "1")},
		"a worker looks":        {opts: []audit.Option{audit.Looking("q")}},
		"a worker knows of it":  {change: all(with("wait", list("0:7")), onlyDelayed), opts: []audit.Option{audit.KnowsOf("q", time.UnixMilli(now+500))}},
		"a worker looks before": {change: all(with("wait", list("0:7")), onlyDelayed), opts: []audit.Option{audit.KnowsOf("q", time.UnixMilli(now+1))}},
	} {
		k := broken(all(c.change, without("marker")))
		require.False(t, wakes(audit.Keyspace(k, "bull", c.opts...)), name)
		if c.opts != nil {
			require.True(t, wakes(audit.Keyspace(k, "bull", audit.Looking("other"))), name)
		}
	}
	late := broken(all(with("wait", list("0:7")), onlyDelayed, without("marker")))
	require.True(t, wakes(audit.Keyspace(late, "bull", audit.KnowsOf("q", time.UnixMilli(now+501)))), "it will look too late")
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
		_, err = s.Add(t.Context(), "q", []storage.NewJob{{Name: "n", Data: []byte("{}"), Opts: []byte("{}"), Timestamp: time.UnixMilli(now)}})
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
