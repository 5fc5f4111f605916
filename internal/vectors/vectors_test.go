package vectors_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

const allTypes = `{
  "bull:q:1": {"type":"hash","value":{"data":"{\"a\":1,\"b\":\"x/y\"}","delay":"5000","name":"n"},"ttl":60000},
  "bull:q:wait": {"type":"list","value":["b","a"]},
  "bull:q:delayed": {"type":"zset","value":[["1",6963200004100095],["2",6963200004100096]]},
  "bull:q:P:dependencies": {"type":"set","value":["x","y"]},
  "bull:q:P:processed": {"type":"hash","value":{"bull:q:c":"{\"v\":1.0}"}},
  "bull:q:id": {"type":"string","value":"7"},
  "bull:q:events": {"type":"stream","value":[{"id":"5-1","fields":{"event":"added","jobId":"1"}},{"id":"5-2","fields":{"event":"waiting","jobId":"1"}}]},
  "bull:q:old": {"type":"stream","value":[]}
}`

func keyspace(t *testing.T, text string) vectors.Keyspace {
	t.Helper()
	var k vectors.Keyspace
	require.NoError(t, json.Unmarshal([]byte(text), &k))
	return k
}

func TestApplyAndSnapshot(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]*testredis.Server{"redis": testredis.Any(t), "in-process": testredis.Mini(t)} {
		t.Run(name, func(t *testing.T) {
			c := server.Client(t)
			want := keyspace(t, allTypes)
			require.NoError(t, vectors.Apply(t.Context(), c, want))
			got, err := vectors.Snapshot(t.Context(), c)
			require.NoError(t, err)
			require.Empty(t, vectors.Diff(want, got))
			require.Equal(t, "5-1", got["bull:q:events"].Stream[0].ID, "ids of stream entries are kept")
		})
	}
}

// change returns the state with one key replaced, or removed when it is empty.
func change(t *testing.T, key, entry string) vectors.Keyspace {
	k := keyspace(t, allTypes)
	delete(k, key)
	if entry != "" {
		k[key] = keyspace(t, `{"k":`+entry+`}`)["k"]
	}
	return k
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, key, entry, want string }{
		{"keys of JSON in any order, slashes escaped, numbers as numbers", "bull:q:1",
			`{"type":"hash","value":{"data":"{\"b\":\"x\\/y\",\"a\":1.0}","delay":"5000.0","name":"n"},"ttl":59000}`, ""},
		{"other number", "bull:q:1",
			`{"type":"hash","value":{"data":"{\"a\":1,\"b\":\"x/y\"}","delay":"5001","name":"n"},"ttl":60000}`, "bull:q:1: field delay: want"},
		{"other text in JSON", "bull:q:1",
			`{"type":"hash","value":{"data":"{\"a\":\"1\",\"b\":\"x/y\"}","delay":"5000","name":"n"},"ttl":60000}`, "bull:q:1: field data: want"},
		{"field too many", "bull:q:1",
			`{"type":"hash","value":{"data":"{\"a\":1,\"b\":\"x/y\"}","delay":"5000","name":"n","x":""},"ttl":60000}`, "bull:q:1: field x unwanted"},
		{"field missing", "bull:q:1",
			`{"type":"hash","value":{"data":"{\"a\":1,\"b\":\"x/y\"}","name":"n"},"ttl":60000}`, "bull:q:1: field delay missing"},
		{"no expiry", "bull:q:1",
			`{"type":"hash","value":{"data":"{\"a\":1,\"b\":\"x/y\"}","delay":"5000","name":"n"}}`, "bull:q:1: does not expire, want 60000 ms"},
		{"expiry too late", "bull:q:1",
			`{"type":"hash","value":{"data":"{\"a\":1,\"b\":\"x/y\"}","delay":"5000","name":"n"},"ttl":61501}`, "bull:q:1: expires in 61501 ms"},
		{"an expiry too many", "bull:q:id", `{"type":"string","value":"7","ttl":5}`, "bull:q:id: expires in 5 ms, want it to stay"},
		{"list order", "bull:q:wait", `{"type":"list","value":["a","b"]}`, "bull:q:wait: want"},
		{"score", "bull:q:delayed", `{"type":"zset","value":[["1",6963200004100095],["2",6963200004100097]]}`, "bull:q:delayed: want"},
		{"set", "bull:q:P:dependencies", `{"type":"set","value":["x"]}`, "bull:q:P:dependencies: want"},
		{"set order", "bull:q:P:dependencies", `{"type":"set","value":["y","x"]}`, ""},
		{"processed values are JSON", "bull:q:P:processed", `{"type":"hash","value":{"bull:q:c":"{\"v\":1}"}}`, ""},
		{"text", "bull:q:id", `{"type":"string","value":"8"}`, `bull:q:id: want "7", have "8"`},
		{"type", "bull:q:id", `{"type":"list","value":["7"]}`, "bull:q:id: want"},
		{"missing", "bull:q:id", "", `bull:q:id: missing, want "7"`},
		{"unwanted", "bull:q:new", `{"type":"string","value":"8"}`, `bull:q:new: unwanted, have "8"`},
		{"stream ids do not count", "bull:q:events",
			`{"type":"stream","value":[{"id":"9-1","fields":{"event":"added","jobId":"1"}},{"id":"9-2","fields":{"event":"waiting","jobId":"1"}}]}`, ""},
		{"stream order", "bull:q:events",
			`{"type":"stream","value":[{"id":"9-1","fields":{"event":"waiting","jobId":"1"}},{"id":"9-2","fields":{"event":"added","jobId":"1"}}]}`, "bull:q:events: entry 0"},
		{"stream length", "bull:q:events",
			`{"type":"stream","value":[{"id":"9-2","fields":{"event":"waiting","jobId":"1"}}]}`, "bull:q:events: want 2 entries, have 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := vectors.Diff(keyspace(t, allTypes), change(t, c.key, c.entry))
			if c.want == "" {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Contains(t, got[0], c.want)
		})
	}
	tail := change(t, "bull:q:events", `{"type":"stream","value":[{"id":"9-2","fields":{"event":"waiting","jobId":"1"}}]}`)
	require.Empty(t, vectors.Diff(keyspace(t, allTypes), tail, vectors.TrimmedStreams))
}

func TestDiffReply(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, c := range []struct {
		want string
		got  any
		err  error
		same bool
	}{
		{`null`, nil, nil, true},
		{`null`, 0, nil, false},
		{`0`, nil, nil, false},
		{`5`, 5, nil, true},
		{`"5"`, 5, nil, true},
		{`5`, int64(6), nil, false},
		{`true`, true, nil, true},
		{`true`, false, nil, false},
		{`"waiting"`, storage.StateWaiting, nil, true},
		{`[1,"a",null]`, []any{1, "a", nil}, nil, true},
		{`[1,"a"]`, []any{1, "b"}, nil, false},
		{`[1]`, []int{1, 2}, nil, false},
		{`["b","a"]`, vectors.Set{"a", "b"}, nil, true},
		{`["b","b"]`, vectors.Set{"a", "b"}, nil, false},
		{`{"a":[1]}`, map[string]any{"a": []int{1}}, nil, true},
		{`{"a":[1]}`, map[string]any{"b": []int{1}}, nil, false},
		{`["n","x","data","{\"a\":1, \"b\":2}"]`, vectors.Hash{"data": `{"b":2,"a":1}`, "n": "x"}, nil, true},
		{`["n","x"]`, vectors.Hash{"n": "y"}, nil, false},
		{`["name","x","delay","0"]`, vectors.JobOf(&storage.Record{Name: "x"}), nil, true},
		{`["name","x","delay","1"]`, vectors.JobOf(&storage.Record{Name: "x"}), nil, false},
		{`["name","x"]`, vectors.JobOf(&storage.Record{Name: "x", AttemptsMade: 1}), nil, false},
		{`4000`, vectors.Near(2600), nil, true},
		{`4000`, vectors.Near(2400), nil, false},
		{`-2`, vectors.Near(-1), nil, false},
		{`{"r":1}`, json.RawMessage(`{"r":1.0}`), nil, true},
		{`"{\"r\":1}"`, []byte(`{"r": 1}`), nil, true},
		{`{"error":"x"}`, nil, boom, true},
		{`{"error":"x"}`, nil, nil, false},
		{`-1`, nil, &storage.Error{Err: storage.ErrJobNotFound}, true},
		{`-2`, nil, &storage.Error{Err: storage.ErrJobNotFound}, false},
		{`0`, nil, boom, false},
		{`[1]`, vectors.NoReply, nil, true},
	} {
		d := vectors.DiffReply(json.RawMessage(c.want), c.got, c.err)
		require.Equal(t, c.same, len(d) == 0, "%s against %v, %v: %v", c.want, c.got, c.err, d)
	}
}

func TestRecordQueue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		record             vectors.Record
		prefix, queue, job string
	}{
		{vectors.Record{Args: []byte(`{"prefix":"{my}:pre:other:"}`), Keys: []string{"{my}:pre:other:wait"}}, "{my}:pre", "other", "wait"},
		{vectors.Record{Args: []byte(`{"jobId":"1"}`), Keys: []string{"bull:q:1"}}, "bull", "q", "1"},
		{vectors.Record{Keys: []string{"a:b:q:x:1"}, Before: vectors.Keyspace{"a:b:q:meta": {}, "a:b:meta": {}}}, "a:b", "q", "x:1"},
		{vectors.Record{Operation: "x", Commands: [][]string{{"hset", "bull:pq:meta"}}}, "bull", "pq", "meta"},
	} {
		p, q := c.record.Queue()
		require.Equal(t, []string{c.prefix, c.queue, c.job}, []string{p, q, c.record.Job()})
	}
}

func TestDeviations(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "d.json")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write(`[
		{"operations":["drain"],"ids":["drain-001"],"only":["reply","wait"],"reason":"r1"},
		{"operations":["promote","drain"],"lib":"5.","when":["noSuchJob","twoLists"],"reason":"r2"}]`)
	list, err := vectors.LoadDeviations(file)
	require.NoError(t, err)
	both := keyspace(t, `{"bull:q:wait":{"type":"list","value":["a"]},"bull:q:paused":{"type":"list","value":["b"]}}`)
	record := func(id, op, lib string, before vectors.Keyspace) *vectors.Record {
		return &vectors.Record{ID: id, Script: op, Lib: lib, Args: []byte(`{"prefix":"bull:q:","jobId":"1"}`), Before: before}
	}
	require.Equal(t, list[:1], list.Find(record("drain-001", "drain", "6.7.0", both)))
	require.Equal(t, list, list.Find(record("drain-001", "drain", "5.81.5", both)))
	require.Equal(t, list[1:], list.Find(record("promote-001", "promote", "5.81.5", both)))
	require.Empty(t, list.Find(record("promote-001", "promote", "5.81.5", nil)), "one of two conditions is not met")
	require.Empty(t, list.Find(record("drain-001", "pause", "5.81.5", both)))

	diff := []string{"reply: want 1", "reply[0]: want 1", "reply.a: want 1", "bull:q:wait: missing", "bull:r:wait: missing", "bull:q:await: missing"}
	require.Equal(t, diff[5:], list[:1].Unexplained(diff))
	require.Empty(t, list[1:].Unexplained(diff))
	require.Equal(t, diff, vectors.Deviations(nil).Unexplained(diff))
}

func TestDeviationsThatSayTooLittle(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "d.json")
	for text, want := range map[string]string{
		`[{"operations":["drain"],"reason":"matches nothing"}]`:                                     "entry 1: give operations",
		`[{"operations":["drain"],"reason":"both","ids":["1"],"when":["twoLists"]}]`:                "entry 1: give operations",
		`[{"when":["twoLists"],"reason":"of which operation?"}]`:                                    "entry 1: give operations",
		`[{"operations":["drain"],"when":["twoLists"],"reason":"r"},{"operations":["drain"]}]`:      "entry 2: give operations",
		`[{"operations":["drain"],"when":["twoList"],"reason":"no such condition"}]`:                `there is no condition "twoList"`,
		`[{"operations":["drain"],"note":"x","when":["twoLists"],"reason":"there is no such key"}]`: "note",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := vectors.LoadDeviations(file)
		require.ErrorContains(t, err, want)
	}
}
