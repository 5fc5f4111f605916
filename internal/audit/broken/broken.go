// Package broken has a queue's keys in a sound state, and that state broken in
// one way for each rule of the audit, for tests.
package broken

import (
	"maps"

	"github.com/bullmq-gen/bullmq-gen/internal/audit"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
)

// Now is the time in the sound state, in milliseconds.
const Now = 1700000000000

func ttl(ms int64) *int64 { return &ms }

// Text makes a string.
func Text(s string) vectors.Entry { return vectors.Entry{Type: "string", Text: s} }

// List makes a list.
func List(ids ...string) vectors.Entry { return vectors.Entry{Type: "list", List: ids} }

// Set makes a set.
func Set(members ...string) vectors.Entry { return vectors.Entry{Type: "set", Set: members} }

// Scores makes a sorted set of names and scores in turn.
func Scores(pairs ...any) vectors.Entry {
	e := vectors.Entry{Type: "zset"}
	for i := 0; i < len(pairs); i += 2 {
		e.Sorted = append(e.Sorted, vectors.Member{Name: pairs[i].(string), Score: pairs[i+1].(float64)})
	}
	return e
}

// Hash makes a hash of fields and values in turn.
func Hash(pairs ...string) vectors.Entry {
	e := vectors.Entry{Type: "hash", Hash: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		e.Hash[pairs[i]] = pairs[i+1]
	}
	return e
}

// Job is the hash of a new job, with more fields or other ones.
func Job(pairs ...string) vectors.Entry {
	e := Hash("name", "n", "data", "{}", "opts", "{}", "timestamp", "1700000000000", "delay", "0", "priority", "0")
	maps.Copy(e.Hash, Hash(pairs...).Hash)
	return e
}

// Ending gives a key an end.
func Ending(e vectors.Entry) vectors.Entry { e.TTL = ttl(3600000); return e }

// Sound is a state with jobs in every state, and nothing wrong with it.
func Sound() vectors.Keyspace {
	const parent = `{"id":"P","queueKey":"bull:q"}`
	return vectors.Keyspace{
		"bull:q:meta":                   Hash("opts.maxLenEvents", "10000", "concurrency", "5", "max", "9", "duration", "1000", "version", "x"),
		"bull:q:id":                     Text("12"),
		"bull:q:pc":                     Text("3"),
		"bull:q:limiter":                Ending(Text("1")),
		"bull:q:stalled-check":          Ending(Text("1700000000000")),
		"bull:q:stalled":                Set("2", "8"),
		"bull:q:marker":                 Scores("0", 0.0, "1", float64(Now+500)),
		"bull:q:events":                 {Type: "stream", Stream: []vectors.StreamEntry{{ID: "1-1", Fields: map[string]string{"event": "completed", "jobId": "4", "returnvalue": "1", "prev": "active"}}}},
		"bull:q:wait":                   List("1", "C1", "0:7"),
		"bull:q:1":                      Job("deid", "d"),
		"bull:q:de:d":                   Text("1"),
		"bull:q:dn:d":                   Hash("name", "n", "data", "{}", "opts", "{}"),
		"bull:q:de:t":                   Ending(Text("gone")),
		"bull:q:paused":                 List("8"),
		"bull:q:8":                      Job("processedOn", "1700000000000", "ats", "1", "stc", "1"),
		"bull:q:active":                 List("2"),
		"bull:q:2":                      Job("processedOn", "1700000000000", "ats", "1"),
		"bull:q:2:lock":                 Ending(Text("token")),
		"bull:q:2:logs":                 List("line"),
		"bull:q:prioritized":            Scores("3", float64(2<<32+3)),
		"bull:q:3":                      Job("priority", "2"),
		"bull:q:delayed":                Scores("5", float64((Now+500)*4096+1)),
		"bull:q:5":                      Job("delay", "500"),
		"bull:q:completed":              Scores("4", float64(Now+7)),
		"bull:q:4":                      Job("processedOn", "1700000000001", "ats", "1", "atm", "1", "finishedOn", "1700000000007", "returnvalue", "1"),
		"bull:q:failed":                 Scores("C2", float64(Now+8)),
		"bull:q:C2":                     Job("ats", "1", "atm", "1", "finishedOn", "1700000000008", "failedReason", "no", "parentKey", "bull:q:P", "parent", parent),
		"bull:q:C1":                     Job("parentKey", "bull:q:P", "parent", parent),
		"bull:q:P":                      Job(),
		"bull:q:P:dependencies":         Set("bull:q:C1", "bull:q:C2"),
		"bull:q:waiting-children":       Scores("P", float64(Now)),
		"bull:q:metrics:completed":      Hash("count", "5", "prevCount", "4", "prevTS", "1700000000000"),
		"bull:q:metrics:completed:data": List("1", "0", "2"),
		"bull:q:repeat":                 Scores("s", float64(Now+1000)),
		"bull:q:repeat:s":               Hash("name", "n", "every", "1000"),
		"bull:q:repeat:s:1700000001000": Job("rjk", "s"),
		"bull:q:gen:cancel":             {Type: "stream"},
		"other:q:wait":                  Text("of another prefix"),
	}
}

// State returns the sound state with the schedule's job waiting too, changed.
func State(change func(k vectors.Keyspace)) vectors.Keyspace {
	k := Sound()
	e := k["bull:q:wait"]
	e.List = append([]string{"repeat:s:1700000001000"}, e.List...)
	k["bull:q:wait"] = e
	if change != nil {
		change(k)
	}
	return k
}

// With returns a change that replaces a key.
func With(key string, e vectors.Entry) func(vectors.Keyspace) {
	return func(k vectors.Keyspace) { k["bull:q:"+key] = e }
}

// Field returns a change that sets a field of a hash; an empty value removes it.
func Field(key, name, value string) func(vectors.Keyspace) {
	return func(k vectors.Keyspace) {
		h := k["bull:q:"+key].Hash
		if h[name] = value; value == "" {
			delete(h, name)
		}
	}
}

// Without returns a change that deletes keys.
func Without(keys ...string) func(vectors.Keyspace) {
	return func(k vectors.Keyspace) {
		for _, key := range keys {
			delete(k, "bull:q:"+key)
		}
	}
}

// All returns a change that makes several.
func All(changes ...func(vectors.Keyspace)) func(vectors.Keyspace) {
	return func(k vectors.Keyspace) {
		for _, c := range changes {
			if c != nil {
				c(k)
			}
		}
	}
}

// OnlyDelayed leaves, of what waits, only the delayed job.
func OnlyDelayed(k vectors.Keyspace) {
	Without("prioritized", "3", "paused", "8", "1", "C1", "P", "P:dependencies", "waiting-children", "repeat", "repeat:s", "repeat:s:1700000001000")(k)
}

func event(name, field, value string) func(vectors.Keyspace) {
	return With("events", vectors.Entry{Type: "stream", Stream: []vectors.StreamEntry{{ID: "1-1", Fields: map[string]string{"event": name, "jobId": "1", field: value}}}})
}

// Case is a broken state, and the rule and key that must be reported.
type Case struct {
	Name   string
	Change func(vectors.Keyspace)
	Rule   audit.Rule
	Key    string // after "bull:q:"
}

// Cases breaks each rule.
var Cases = []Case{
	{"key of no queue", With("odd", Text("x")), audit.RuleKey, "odd"},
	{"set where a list should be", With("paused", Set("8")), audit.RuleKey, "paused"},
	{"lock of another type", With("2:lock", List("x")), audit.RuleKey, "2:lock"},
	{"counter that is no number", With("id", Text("many")), audit.RuleKey, "id"},
	{"log of no job", With("77:logs", List("x")), audit.RuleOrphan, "77:logs"},
	{"children of no job", With("77:dependencies", Set("bull:q:C1")), audit.RuleOrphan, "77:dependencies"},
	{"lock of no job", With("77:lock", Ending(Text("t"))), audit.RuleOrphan, "77:lock"},
	{"job without data", Field("1", "data", ""), audit.RuleHash, "1"},
	{"attempts that are no number", Field("2", "ats", "1x"), audit.RuleHash, "2"},
	{"options that are no JSON", Field("1", "opts", "{"), audit.RuleHash, "1"},
	{"flow that never ended", Field("P", "flowAttachmentFailed", "1"), audit.RuleHash, "P"},
	{"job in no state", With("99", Job()), audit.RuleState, "99"},
	{"job in two states", With("active", List("2", "8")), audit.RuleState, "8"},
	{"job twice in a state", With("paused", List("8", "8")), audit.RuleState, "8"},
	{"id of no job", With("paused", List("8", "ghost")), audit.RuleGhost, "paused"},
	{"completed without a result", Field("4", "returnvalue", ""), audit.RuleFinish, "4"},
	{"failed without a reason", Field("C2", "failedReason", ""), audit.RuleFinish, "C2"},
	{"completed at another time", With("completed", Scores("4", float64(Now+9))), audit.RuleFinish, "4"},
	{"waiting with an end", Field("1", "finishedOn", "1700000000000"), audit.RuleFinish, "1"},
	{"waiting with a result", Field("1", "returnvalue", "1"), audit.RuleFinish, "1"},
	{"failed and to be failed", Field("C2", "defa", "child failed"), audit.RuleFinish, "C2"},
	{"active without a beginning", Field("2", "processedOn", ""), audit.RuleActive, "2"},
	{"active without a start", Field("2", "ats", ""), audit.RuleActive, "2"},
	{"lock of a waiting job", With("1:lock", Ending(Text("t"))), audit.RuleLock, "1:lock"},
	{"lock for ever", With("2:lock", Text("t")), audit.RuleLock, "2:lock"},
	{"stalled without a start", With("stalled", Set("1")), audit.RuleStalled, "stalled"},
	{"place of another priority", With("prioritized", Scores("3", float64(3<<32+3))), audit.RulePriority, "3"},
	{"place beyond the counter", With("prioritized", Scores("3", float64(2<<32+4))), audit.RulePriority, "3"},
	{"no counter of places", Without("pc"), audit.RulePriority, "3"},
	{"prioritized without priority", All(Field("3", "priority", "0"), With("prioritized", Scores("3", 1.0))), audit.RulePriority, "3"},
	{"delayed too short", Field("5", "delay", "600"), audit.RuleDelay, "5"},
	{"number to be given again", With("id", Text("7")), audit.RuleID, "id"},
	{"nobody woken", Without("marker", "delayed", "5"), audit.RuleWake, "marker"},
	{"nobody woken for a delayed job", All(With("wait", List("0:7")), With("marker", Scores("1", float64(Now+501))), OnlyDelayed), audit.RuleWake, "marker"},
	{"no marker for a delayed job", All(With("wait", List("0:7")), Without("marker"), OnlyDelayed), audit.RuleWake, "marker"},
	{"odd marker", With("marker", Scores("0", 0.0, "2", 5.0)), audit.RuleMarker, "marker"},
	{"base marker with a time", With("marker", Scores("0", 0.0, "1", 0.0)), audit.RuleMarker, "marker"},
	{"id held by no job", With("de:d", Text("77")), audit.RuleDedup, "de:d"},
	{"id held by a job with another", Field("1", "deid", "e"), audit.RuleDedup, "de:d"},
	{"id held by a finished job", All(Field("4", "deid", "d"), With("de:d", Text("4"))), audit.RuleDedup, "de:d"},
	{"next job of none", With("dn:x", Hash("name", "n")), audit.RuleNext, "dn:x"},
	{"parent that disagrees", Field("C1", "parentKey", "bull:q:Q"), audit.RuleParent, "C1"},
	{"parent that is no JSON object", Field("C1", "parent", `"P"`), audit.RuleParent, "C1"},
	{"child that does not exist", With("P:dependencies", Set("bull:q:C1", "bull:q:C9")), audit.RulePending, "P"},
	{"child of nobody", All(Field("C1", "parentKey", ""), Field("C1", "parent", "")), audit.RulePending, "P"},
	{"child that is done", With("P:dependencies", Set("bull:q:C1", "bull:q:4")), audit.RulePending, "P"},
	{"child not waited for", With("P:dependencies", Set("bull:q:C2")), audit.RuleUnawaited, "C1"},
	{"parent without children", All(Without("C1", "P:dependencies"), With("wait", List("repeat:s:1700000001000", "1"))), audit.RuleReleased, "P"},
	{"parent that should fail", With("P:unsuccessful", Scores("bull:q:C2", float64(Now+8))), audit.RuleReleased, "P"},
	{"failed child that has not", With("P:unsuccessful", Scores("bull:q:C1", float64(Now+8))), audit.RuleFailed, "P"},
	{"no concurrency", Field("meta", "concurrency", "0"), audit.RuleMeta, "meta"},
	{"cap of events that is none", Field("meta", "opts.maxLenEvents", "-1"), audit.RuleMeta, "meta"},
	{"paused otherwise", Field("meta", "paused", "0"), audit.RuleMeta, "meta"},
	{"half a rate limit", Field("meta", "duration", ""), audit.RuleMeta, "meta"},
	{"points and no count", Without("metrics:completed"), audit.RuleMetrics, "metrics:completed:data"},
	{"more points than counted", With("metrics:completed:data", List("4", "1")), audit.RuleMetrics, "metrics:completed"},
	{"point that is no number", With("metrics:completed:data", List("x")), audit.RuleMetrics, "metrics:completed:data"},
	{"count that shrinks", Field("metrics:completed", "count", "3"), audit.RuleMetrics, "metrics:completed"},
	{"no count", Field("metrics:completed", "prevTS", ""), audit.RuleMetrics, "metrics:completed"},
	{"limit for ever", With("limiter", Text("1")), audit.RuleLimiter, "limiter"},
	{"event without a name", With("events", vectors.Entry{Type: "stream", Stream: []vectors.StreamEntry{{ID: "1-1", Fields: map[string]string{"jobId": "1"}}}}), audit.RuleEvent, "events"},
	{"result that is no JSON", event("completed", "returnvalue", "x"), audit.RuleEvent, "events"},
	{"progress that is no JSON", event("progress", "data", "{"), audit.RuleEvent, "events"},
	{"schedule without settings", Without("repeat:s"), audit.RuleScheduler, "repeat:s"},
	{"schedule without a next job", With("repeat", Scores("s", float64(Now+1001))), audit.RuleScheduler, "repeat:s"},
}
