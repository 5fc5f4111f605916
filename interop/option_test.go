package interop

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"
)

const options = "Options"

var optionFeatures = []feature{
	{options, "every option is read as it was set", everyOption, nil},
	{options, "options of a child", childOptions, nil},
	{options, "options that this module does not know survive", unknownOptions, goCannotSet},
	{options, "trace context is carried untouched, without a tracer (C075)", traceContext, nil},
	{options, "a payload over its size limit is refused", sizeLimit, nil},
	{options, "timeout and ttl, which Node workers do not know", ownOptions, nil},
}

func goCannotSet(c *cell) string {
	if c.goFirst {
		return "this module sets only options that it knows"
	}
	return ""
}

// optionTable has every option of a job, and every form of it.
var optionTable = map[string]Args{
	"none":                      {},
	"attempts":                  {"attempts": 3},
	"one attempt":               {"attempts": 1},
	"backoff fixed":             {"attempts": 3, "backoff": Args{"type": "fixed", "delay": 500}},
	"backoff exponential":       {"attempts": 3, "backoff": Args{"type": "exponential", "delay": 500}},
	"backoff with jitter":       {"backoff": Args{"type": "exponential", "delay": 500, "jitter": 0.25}},
	"backoff with maximum":      {"backoff": Args{"type": "exponential", "delay": 500, "max": 4000}},
	"backoff by name":           {"backoff": Args{"type": "mine", "delay": 20}},
	"backoff zero":              {"backoff": Args{"type": "fixed", "delay": 0}},
	"delay":                     {"delay": 86_400_000},
	"delay of ten years":        {"delay": int64(315_360_000_000)},
	"priority":                  {"priority": 5},
	"highest priority":          {"priority": 2097151},
	"lifo":                      {"lifo": true},
	"job id":                    {"jobId": "the-id"},
	"timestamp":                 {"timestamp": int64(1_700_000_000_123)},
	"timestamp and delay":       {"timestamp": int64(1_700_000_000_123), "delay": 1},
	"size limit":                {"sizeLimit": 100},
	"keep logs":                 {"keepLogs": 7},
	"stack trace limit":         {"stackTraceLimit": 2},
	"no stack traces":           {"stackTraceLimit": 0},
	"dedup simple":              {"deduplication": Args{"id": "d1"}},
	"dedup throttle":            {"deduplication": Args{"id": "d2", "ttl": 5000}},
	"dedup debounce":            {"delay": 60_000, "deduplication": Args{"id": "d3", "ttl": 5000, "extend": true, "replace": true}},
	"dedup keep last":           {"deduplication": Args{"id": "d4", "keepLastIfActive": true}},
	"dedup reschedule":          {"deduplication": Args{"id": "d5", "reschedule": true}},
	"telemetry":                 {"telemetry": Args{"metadata": `{"traceparent":"00-1-2-01"}`}},
	"telemetry without context": {"telemetry": Args{"metadata": `{"traceparent":"00-1-2-01"}`, "omitContext": true}},
	"omit context":              {"telemetry": Args{"omitContext": true}},
	"remove on complete":        {"removeOnComplete": true},
	"keep all completed":        {"removeOnComplete": false},
	"keep some completed":       {"removeOnComplete": 12},
	"keep completed by age":     {"removeOnComplete": Args{"age": 3600}},
	"keep completed by both":    {"removeOnComplete": Args{"age": 3600.5, "count": 12, "limit": 5}},
	"remove on fail":            {"removeOnFail": true},
	"keep all failed":           {"removeOnFail": false},
	"keep some failed":          {"removeOnFail": 12},
	"keep failed by age":        {"removeOnFail": Args{"age": 3600}},
	"keep failed by both":       {"removeOnFail": Args{"age": 60, "count": 12, "limit": 5}},
	"timeout":                   {"gen": Args{"timeout": 1500}},
	"ttl":                       {"gen": Args{"timeout": 1500, "ttl": 60_000}},
	"all together": {
		"attempts": 3, "backoff": Args{"type": "fixed", "delay": 500}, "delay": 1000, "priority": 7, "lifo": true,
		"jobId": "all", "timestamp": int64(1_700_000_000_123), "sizeLimit": 100, "keepLogs": 7, "stackTraceLimit": 2,
		"deduplication": Args{"id": "d9"}, "removeOnComplete": true, "removeOnFail": 100,
		"telemetry": Args{"metadata": `{"traceparent":"00-1-2-01"}`, "omitContext": true}, "gen": Args{"timeout": 1500, "ttl": 60_000},
	},
}

func everyOption(c *cell) {
	for _, what := range slices.Sorted(maps.Keys(optionTable)) {
		c.sameOptions(what, optionTable[what])
	}
}

// sameOptions adds a job with options, and requires that both sides read them.
func (c *cell) sameOptions(what string, opts Args) {
	c.Helper()
	want := maps.Clone(opts)
	if want["attempts"] == nil {
		want["attempts"] = 0
	}
	id := c.producer.add("n", Args{}, opts)
	for _, o := range []*on{c.producer, c.consumer} {
		job := o.job(id)
		text, err := json.Marshal(job.Opts)
		require.NoError(c, err)
		same(c.T, want, text, "%s, read by %s", what, o.peer.Name)
		require.EqualValues(c, or(opts["delay"], 0), job.Delay, what)
		require.EqualValues(c, or(opts["priority"], 0), job.Priority, what)
		if opts["timestamp"] != nil {
			require.EqualValues(c, opts["timestamp"], job.Timestamp, what)
		}
		if d, ok := opts["deduplication"].(Args); ok {
			require.Equal(c, d["id"], job.DedupID, what)
		}
	}
}

func or(v, instead any) any {
	if v == nil {
		return instead
	}
	return v
}

var policies = []string{"", "failParentOnFailure", "continueParentOnFailure", "ignoreDependencyOnFailure", "removeDependencyOnFailure"}

// flags are the policies as they are stored with a child.
var flags = map[string]string{
	"failParentOnFailure": "fpof", "continueParentOnFailure": "cpof", "ignoreDependencyOnFailure": "idof", "removeDependencyOnFailure": "rdof",
}

func childOptions(c *cell) {
	parents, _ := c.pair(name("parents"))
	queue := c.base(parents.queue)
	for _, policy := range policies {
		parent := parents.add("parent", nil, nil)
		opts := Args{"parent": Args{"id": parent, "queue": queue}}
		stored := Args{"id": parent, "queueKey": queue}
		if policy != "" {
			opts[policy] = true
			stored[flags[policy]] = true
		}
		c.sameOptions("child with "+policy, opts)
		child := ask[[]Job](c.consumer, "queue.getWaiting", nil)
		require.NotEmpty(c, child)
		last := child[len(child)-1]
		same(c.T, stored, last.Parent, policy)
		require.Equal(c, queue+":"+parent, last.ParentKey)
	}
}

func unknownOptions(c *cell) {
	p := c.producer
	opts := Args{"attempts": 2, "myOwn": Args{"a": []any{1, "x"}}, "note": "é", "zero": 0, "off": false}
	id := p.add("n", Args{}, opts)
	key := c.base(p.queue) + ":" + id
	before, err := c.rdb.HGet(c.ctx, key, "opts").Result()
	require.NoError(c, err)
	c.consumer.work(script{"n": {{throws("again")}, {returns("done")}}}, nil)
	same(c.T, "done", p.result(id))
	after, err := c.rdb.HGet(c.ctx, key, "opts").Result()
	require.NoError(c, err)
	require.Equal(c, before, after)
	for _, o := range []*on{p, c.consumer} {
		text, err := json.Marshal(o.job(id).Opts)
		require.NoError(c, err)
		same(c.T, opts, text)
	}
}

func traceContext(c *cell) {
	meta := `{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`
	id := c.producer.add("n", nil, Args{"attempts": 2, "telemetry": Args{"metadata": meta}})
	w := c.consumer.work(script{"n": {{throws("again")}, {delays(1)}, {holds(id + c.producer.queue)}}}, nil)
	w.held(id + c.producer.queue)
	for _, o := range []*on{c.producer, c.consumer} {
		same(c.T, Args{"metadata": meta}, o.job(id).Opts["telemetry"], "after a retry and a delay")
	}
	w.release(id + c.producer.queue)
	c.producer.result(id)
	require.Equal(c, 2, c.producer.job(id).AttemptsMade)
}

func sizeLimit(c *cell) {
	for _, o := range []*on{c.producer, c.consumer} {
		_, err := o.tryAdd("n", Args{"a": 1}, Args{"sizeLimit": 7})
		require.NoError(c, err, "%s: 7 bytes", o.peer.Name)
		_, err = o.tryAdd("n", Args{"a": "é"}, Args{"sizeLimit": 9})
		require.Error(c, err, "%s: 10 bytes in UTF-8", o.peer.Name)
	}
}

func ownOptions(c *cell) {
	p := c.producer
	made := int64(1_700_000_000_000)
	late := p.add("n", nil, Args{"timestamp": made, "gen": Args{"ttl": 60_000}})
	slow := p.add("slow", nil, Args{"gen": Args{"timeout": 50}})
	key := name("never")
	run := once(holds(key), returns("ran"))
	if c.goFirst { // then a Node worker runs it
		run = once(returns("ran"))
	}
	c.consumer.work(script{"n": once(returns("ran")), "slow": run}, Args{"concurrency": 2})
	if c.goFirst {
		same(c.T, "ran", p.result(late))
		same(c.T, "ran", p.result(slow))
		return
	}
	p.until("both jobs failed", func() bool { return p.counts()["failed"] == 2 })
	require.Contains(c, p.job(late).FailedReason, "expired")
	require.Contains(c, p.job(slow).FailedReason, "timeout")
}
