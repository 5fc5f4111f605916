package interop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
)

const adding = "Adding and processing"

var addFeatures = []feature{
	{adding, "a job is added and processed, and its result is awaited", addAndWork, nil},
	{adding, "results of every JSON kind", resultKinds, nil},
	{adding, "many jobs in one call, first in first out", bulkInOrder, nil},
	{adding, "delayed jobs", delayed, nil},
	{adding, "prioritized jobs", prioritized, nil},
	{adding, "last in first out", lifo, nil},
	{adding, "custom ids, and adding them twice", customID, nil},
	{adding, "which custom ids are refused (C063)", idVerdicts, nil},
	{adding, "ids stay decimal however large (C011)", largeIDs, nil},
	{adding, "payload texts: emoji, quotes, line ends, 1 MB", payloads, nil},
}

// echo are handlers that return the payload.
func echo(names ...string) script {
	s := script{}
	for _, n := range names {
		s[n] = once(does("echo"))
	}
	return s
}

func addAndWork(c *cell) {
	p := c.producer.listen()
	id := p.add("greet", Args{"name": "ann"}, nil)
	c.consumer.work(script{"greet": once(progresses(50), returns(Args{"text": "hello ann"}))}, Args{"name": "hand"})
	same(c.T, Args{"text": "hello ann"}, p.result(id))
	same(c.T, Args{"text": "hello ann"}, p.saw("completed", id).Fields["returnvalue"])
	for _, name := range []string{"added", "waiting", "active", "progress", "drained"} {
		p.await(name, func(e *Event) bool { return e.Kind == "queue" && e.Name == name })
	}
	job := p.job(id)
	same(c.T, Args{"name": "ann"}, job.Data)
	same(c.T, Args{"text": "hello ann"}, job.ReturnValue)
	require.Equal(c, "hand", job.ProcessedBy)
	require.Equal(c, 1, job.AttemptsMade)
	require.Equal(c, 1, job.AttemptsStart)
	require.Equal(c, "completed", p.state(id))
	require.GreaterOrEqual(c, job.Processed, job.Timestamp)
	require.GreaterOrEqual(c, job.Finished, job.Processed)
	mine, theirs := p.job(id), c.consumer.job(id)
	mine.Opts, theirs.Opts = nil, nil // compared elsewhere, each option by itself
	require.Equal(c, mine, theirs, "both sides read the same job")
}

var jsonKinds = []any{
	nil, true, false, 0, -7, 1.5, int64(9007199254740991), "", "text", "null", "42", []any{}, []any{1, "a", nil},
	Args{}, Args{"deep": Args{"a": []any{Args{"b": nil}}}},
}

func resultKinds(c *cell) {
	p := c.producer
	s := script{}
	for i, v := range jsonKinds {
		s[fmt.Sprint("kind", i)] = once(returns(v))
	}
	c.consumer.work(s, Args{"concurrency": 5})
	for i, v := range jsonKinds {
		id := p.add(fmt.Sprint("kind", i), v, nil)
		same(c.T, v, p.result(id), "awaited")
		same(c.T, v, p.job(id).ReturnValue, "read")
		same(c.T, v, p.job(id).Data, "payload")
	}
}

func bulkInOrder(c *cell) {
	ids := c.producer.addMany(20, "n", nil)
	require.Len(c, ids, 20)
	require.Equal(c, map[string]int{"waiting": 20}, c.consumer.counts())
	require.Equal(c, ids, c.worked(20, "n"))
}

// worked works the queue one by one on the second side, and returns the ids of
// the first n jobs in the order in which they were started.
func (c *cell) worked(n int, names ...string) []string {
	c.Helper()
	w := c.consumer.work(echo(names...), nil)
	var ids []string
	_, err := c.consumer.peer.Await(c.ctx, c.consumer.queue, fmt.Sprint(n, " jobs started"), func(all []*Event) bool {
		ids = ids[:0]
		for _, e := range all {
			if e.Kind == "worker" && e.Worker == w.key && e.Name == "active" {
				ids = append(ids, e.JobID())
			}
		}
		return len(ids) >= n
	})
	require.NoError(c, err)
	w.close()
	return slices.Clone(ids)
}

func delayed(c *cell) {
	p := c.producer
	later := p.add("n", "later", Args{"delay": 3600_000})
	soon := p.add("n", "soon", Args{"delay": 200})
	require.Equal(c, map[string]int{"delayed": 2}, p.counts())
	require.Equal(c, map[string]int{"delayed": 2}, c.consumer.counts())
	require.Equal(c, []string{soon}, c.worked(1, "n"))
	job := c.consumer.job(soon)
	require.GreaterOrEqual(c, job.Processed, job.Timestamp+200, "not before its time")
	require.Zero(c, job.Delay, "its delay is over")
	require.EqualValues(c, 3600_000, c.consumer.job(later).Delay)

	p.do("job.promote", Args{"id": later})
	require.Equal(c, []string{later}, c.worked(1, "n"))
}

func prioritized(c *cell) {
	p := c.producer
	var ids []string
	for _, prio := range []int{3, 1, 2, 0, 2097151, 1} {
		ids = append(ids, p.add("n", prio, Args{"priority": prio}))
	}
	require.Equal(c, map[string]int{"prioritized": 5, "waiting": 1}, c.consumer.counts())
	require.Equal(c, []string{ids[3], ids[1], ids[5], ids[2], ids[0], ids[4]}, c.worked(6, "n"))
}

func lifo(c *cell) {
	p := c.producer
	a, b := p.add("n", "a", nil), p.add("n", "b", nil)
	last := p.add("n", "c", Args{"lifo": true})
	require.Equal(c, []string{last, a, b}, c.worked(3, "n"))
}

func customID(c *cell) {
	p := c.producer.listen()
	require.Equal(c, "invoice-1", p.add("n", 1, Args{"jobId": "invoice-1"}))
	require.Equal(c, "invoice-1", c.consumer.add("n", 2, Args{"jobId": "invoice-1"}))
	require.Equal(c, "invoice-1", p.add("n", 3, Args{"jobId": "invoice-1", "delay": 5000}))
	p.sawAll("duplicated", 2)
	same(c.T, 1, c.consumer.job("invoice-1").Data, "the first one stays")
	c.consumer.work(echo("n"), nil)
	same(c.T, 1, p.result("invoice-1"))
	require.Equal(c, "invoice-1", c.consumer.add("n", 4, Args{"jobId": "invoice-1"}), "also when it is finished")
	require.Equal(c, map[string]int{"completed": 1}, p.counts())
}

func idVerdicts(c *cell) {
	for id, ok := range map[string]bool{
		"123": false, "-5": false, "0": false, "0:a:b": false, "00123": true, "1e3": true, "1.0": true, " 1": true, "+1": true,
		"a:b": false, ":": false, "a:b:c": true, "a:b:c:d": false, "": true, "é 🎉": true, "two\nlines": true,
		strings.Repeat("long", 2500): true,
	} {
		for _, o := range []*on{c.producer, c.consumer} {
			_, err := o.tryAdd("n", nil, Args{"jobId": id})
			require.Equal(c, ok, err == nil, "%s, id %.40q: %v", o.peer.Name, id, err)
		}
	}
}

func largeIDs(c *cell) {
	p := c.producer.listen()
	for _, n := range []string{"99999999", "299999999", "999999999999"} {
		require.NoError(c, c.rdb.Set(c.ctx, c.base(p.queue)+":id", n, 0).Err())
		plain := p.add("n", "plain", nil)
		urgent := p.add("n", "urgent", Args{"priority": 1})
		delayed := p.add("n", "delayed", Args{"delay": 1})
		for i, id := range []string{plain, urgent, delayed} {
			require.Equal(c, add(n, i+1), id)
			p.saw("added", id)
			require.Equal(c, id, c.consumer.job(id).ID)
		}
		require.ElementsMatch(c, []string{plain, urgent, delayed}, c.worked(3, "n"))
		for _, id := range []string{plain, urgent, delayed} {
			p.saw("completed", id)
		}
	}
}

func add(n string, by int) string {
	var v json.Number = json.Number(n)
	i, _ := v.Int64()
	return fmt.Sprint(i + int64(by))
}

func payloads(c *cell) {
	p := c.producer
	c.consumer.work(echo("n"), nil)
	for _, s := range []string{"\U0001F389 é", `"quoted" \ back`, "a\r\n\tb\u2028c\u0000d", strings.Repeat("x", 1<<20), "</script>&<>"} {
		id := p.add("n", Args{"s": s, s[:4]: nil}, nil)
		same(c.T, Args{"s": s, s[:4]: nil}, p.result(id))
	}
}
