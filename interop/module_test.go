package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/interop/gen"
	"github.com/bullmq-gen/bullmq-gen/interop/tasks"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// module is a queue as the generated module for Node sees it.
func (f *typedFlow) module(queue *bullmq.QueueSpec) *on { return f.on(f.node, queue.Name) }

// tryModule adds a job through the module and returns its id.
func (o *on) tryModule(task string, data any, opts Args) (string, error) {
	var job Job
	err := o.try("task.add", Args{"task": task, "data": data, "opts": opts}, &job)
	return job.ID, err
}

func (o *on) addModule(task string, data any, opts Args) string {
	o.Helper()
	id, err := o.tryModule(task, data, opts)
	require.NoError(o, err)
	return id
}

// stored is the hash of a job, with JSON decoded, and without the time at which it
// was added.
func (o *on) stored(id string) map[string]any {
	o.Helper()
	hash, err := o.rdb.HGetAll(o.ctx, "bull:"+o.queue+":"+id).Result()
	require.NoError(o, err)
	require.NotEmpty(o, hash, "job %s of queue %s", id, o.queue)
	delete(hash, "timestamp")
	all := map[string]any{}
	for field, text := range hash {
		all[field] = text
	}
	for _, field := range []string{"opts", "data", "parent"} {
		if text, ok := hash[field]; ok {
			var value any
			require.NoError(o, json.Unmarshal([]byte(text), &value))
			all[field] = value
		}
	}
	return all
}

func pointer[T any](v T) *T { return &v }

// A job that Node adds through the generated module is stored as Go stores it:
// name, payload, options, keys, delay and priority.
func TestModuleStoresWhatGoStores(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é,:~", 40)
	keep := bullmq.Retention{Count: 3, Age: time.Hour}
	cases := []struct {
		name  string
		queue *bullmq.QueueSpec
		inGo  func(f *typedFlow) (string, error)
		task  string
		data  any
		opts  Args
	}{
		{"defaults", gen.PaymentsQueue, inGo(gen.EnqueueCharge, tasks.Charge{Order: "42", Cents: 7}),
			"chargeTask", tasks.Charge{Order: "42", Cents: 7}, nil},
		{"no id of an empty text", gen.PaymentsQueue, inGo(gen.EnqueueCharge, tasks.Charge{}), "chargeTask", tasks.Charge{}, nil},
		{"a key that is hashed", gen.PaymentsQueue, inGo(gen.EnqueueCharge, tasks.Charge{Order: long}), "chargeTask", tasks.Charge{Order: long}, nil},
		{"every option", gen.PaymentsQueue, inGo(gen.EnqueueRefund, tasks.Refund{Order: "a:b", Region: pointer("eu"), Rank: 3, Wait: 60_000}),
			"refundTask", Args{"order": "a:b", "region": "eu", "rank": 3, "wait-ms": 60_000}, nil},
		{"nothing in the fields", gen.PaymentsQueue, inGo(gen.EnqueueRefund, tasks.Refund{}), "refundTask", tasks.Refund{}, nil},
		{"options of the call", gen.PaymentsQueue,
			inGo(gen.EnqueueCharge, tasks.Charge{Order: "1"},
				bullmq.Attempts(9), bullmq.WithBackoff(bullmq.Exponential(time.Second)), bullmq.Delay(time.Minute), bullmq.Priority(5), bullmq.JobID("mine"),
				bullmq.KeepCompleted(bullmq.KeepNone()), bullmq.KeepFailed(&keep), bullmq.KeepLogs(2), bullmq.StackTraceLimit(0), bullmq.SizeLimit(100),
				bullmq.TTL(time.Second)),
			"chargeTask", tasks.Charge{Order: "1"}, Args{
				"attempts": 9, "backoff": Args{"type": "exponential", "delay": 1000}, "delay": 60_000.9, "priority": 5, "jobId": "mine",
				"removeOnComplete": true, "removeOnFail": Args{"age": 3600, "count": 3}, "keepLogs": 2, "stackTraceLimit": 0, "sizeLimit": 100,
				"gen": Args{"ttl": 1000},
			}},
		{"options taken away", gen.PaymentsQueue,
			inGo(gen.EnqueueRefund, tasks.Refund{Order: "1", Rank: 3, Wait: 7},
				bullmq.Attempts(0), bullmq.WithBackoff(bullmq.Backoff{}), bullmq.Delay(0), bullmq.Priority(0), bullmq.LIFO(false), bullmq.SizeLimit(0),
				bullmq.KeepCompleted(nil), bullmq.KeepFailed(nil), bullmq.Timeout(0), bullmq.TTL(0)),
			"refundTask", Args{"order": "1", "rank": 3, "wait-ms": 7}, Args{
				"attempts": nil, "backoff": nil, "delay": nil, "priority": 0, "lifo": false, "sizeLimit": nil,
				"removeOnComplete": nil, "removeOnFail": nil, "gen": Args{"timeout": nil, "ttl": 0},
			}},
		{"deduplication of the call", gen.PaymentsQueue,
			inGo(gen.EnqueueRefund, tasks.Refund{}, bullmq.Deduplicate(bullmq.Dedup{ID: "d", TTL: time.Second})),
			"refundTask", tasks.Refund{}, Args{"deduplication": Args{"id": "d", "ttl": 1000}}},
		{"fields that the payload hides", gen.PaymentsQueue, inGo(gen.EnqueueVoid, tasks.Void{Order: "7", Rank: 12, Note: "n"}),
			"voidTask", Args{"rank": "12", "note": "n"}, Args{"keys": Args{"Order": "7"}}},
		{"a time that has passed", gen.PaymentsQueue, inGo(gen.EnqueueVoid, tasks.Void{Order: "8", At: time.Unix(1_000_000_000, 0).UTC()}),
			"voidTask", Args{"rank": "0", "at": "2001-09-09T01:46:40Z", "note": ""}, Args{"keys": Args{"Order": "8"}}},
	}
	eachTypedFlow(t, func(f *typedFlow) {
		for _, c := range cases {
			m := f.module(c.queue)
			id, err := c.inGo(f)
			require.NoError(f, err, c.name)
			want := m.stored(id)
			require.NoError(f, f.rdb.FlushDB(f.ctx).Err())
			added := m.addModule(c.task, c.data, c.opts)
			require.Equal(f, id, added, c.name)
			require.Equal(f, want, m.stored(added), c.name)
			require.NoError(f, f.rdb.FlushDB(f.ctx).Err())
		}
	})
}

// inGo adds a job with a generated function.
func inGo[P, R any](enqueue func(context.Context, *bullmq.Client, P, ...bullmq.AddOption) (*bullmq.JobHandle[R], error), p P, opts ...bullmq.AddOption) func(*typedFlow) (string, error) {
	return func(f *typedFlow) (string, error) {
		h, err := enqueue(f.ctx, f.client, p, opts...)
		if err != nil {
			return "", err
		}
		return h.ID, nil
	}
}

// A job added from Node is tried again as its task declares: a busy bank does not
// fail a charge permanently.
func TestModuleJobsAreTriedAgain(t *testing.T) {
	t.Parallel()
	eachTypedFlow(t, func(f *typedFlow) {
		var asked atomic.Int32
		f.start(gen.PaymentsQueue, func(w *bullmq.Worker) {
			gen.HandlePayments(w, bank{asked: &asked})
		})
		m := f.module(gen.PaymentsQueue)
		id := m.addModule("chargeTask", tasks.Charge{Order: "42", Cents: 100}, nil)
		require.Equal(f, "charge/42", id)
		receipt, err := gen.ChargeTask.JobHandle(f.client, id).Result(f.ctx)
		require.NoError(f, err)
		require.Equal(f, tasks.Receipt{Asked: 3}, receipt)
		require.Equal(f, 3, m.job(id).AttemptsMade)
	})
}

// bank is busy twice.
type bank struct {
	gen.UnimplementedPaymentsHandler
	asked *atomic.Int32
}

func (b bank) Charge(context.Context, *bullmq.Job[tasks.Charge]) (tasks.Receipt, error) {
	if n := b.asked.Add(1); n < 3 {
		return tasks.Receipt{}, errors.New("503 Service Unavailable")
	}
	return tasks.Receipt{Asked: int(b.asked.Load())}, nil
}

// Equal jobs meet, whichever side adds them first.
func TestModuleKeysMeetThoseOfGo(t *testing.T) {
	t.Parallel()
	eachTypedFlow(t, func(f *typedFlow) {
		m := f.module(gen.PaymentsQueue)
		first := m.addModule("chargeTask", tasks.Charge{Order: "1"}, nil)
		h, err := gen.EnqueueCharge(f.ctx, f.client, tasks.Charge{Order: "1", Cents: 9})
		require.NoError(f, err)
		require.Equal(f, first, h.ID)
		require.True(f, h.Existing)
		h, err = gen.EnqueueCharge(f.ctx, f.client, tasks.Charge{Order: "2"})
		require.NoError(f, err)
		require.Equal(f, h.ID, m.addModule("chargeTask", tasks.Charge{Order: "2", Cents: 9}, nil))

		refund := tasks.Refund{Order: "1", Wait: 60_000}
		first = m.addModule("refundTask", refund, Args{"deduplication": nil})
		require.NotEqual(f, first, m.addModule("refundTask", refund, nil), "that one had no key")
		second := m.addModule("refundTask", tasks.Refund{Order: "2"}, nil)
		r, err := gen.EnqueueRefund(f.ctx, f.client, tasks.Refund{Order: "2"})
		require.NoError(f, err)
		require.Equal(f, second, r.ID)
		require.True(f, r.Existing)
		counts := m.counts()
		require.Equal(f, 5, counts["waiting"]+counts["delayed"])
	})
}

// What Go refuses to add, the module refuses too, before anything is stored.
func TestModuleRefusesWhatGoRefuses(t *testing.T) {
	t.Parallel()
	eachTypedFlow(t, func(f *typedFlow) {
		m := f.module(gen.PaymentsQueue)
		for _, c := range []struct {
			task string
			data any
			opts Args
			want string
		}{
			{"refundTask", Args{"order": "1", "rank": -1, "wait-ms": 0}, nil, "priority must be an integer from 0 to 2097151, not -1"},
			{"refundTask", Args{"order": "1", "rank": 1.5, "wait-ms": 0}, nil, "priority must be an integer"},
			{"refundTask", Args{"order": "1", "wait-ms": -5}, nil, "delay must be from 0 ms to 200 years, not -5"},
			{"refundTask", Args{"order": strings.Repeat("x", 5000), "wait-ms": 0}, nil, "exceeds the limit 4096 bytes"},
			{"chargeTask", Args{"order": "1"}, Args{"priority": 2097152}, "priority must be an integer"},
			{"voidTask", Args{"rank": "1", "note": ""}, nil, `task "void" of queue "payments": pass keys.Order, which the payload does not show`},
			{"voidTask", Args{"rank": "1", "at": "soon", "note": ""}, Args{"keys": Args{"Order": "1"}}, "delay must be from 0 ms to 200 years, not NaN"},
			{"letterTask", Args{"text": "a"}, nil, `expected a Queue "letters", got "payments"`},
		} {
			_, err := m.tryModule(c.task, c.data, c.opts)
			require.ErrorContains(f, err, c.want)
		}
		letters := f.module(gen.LettersQueue)
		_, err := letters.tryModule("letterTask", Args{"text": "a"}, nil)
		require.ErrorContains(f, err, "pass encode, which does what the codec Small does in Go")
		var none json.RawMessage
		err = m.try("task.addBulk", Args{"task": "refundTask", "list": []Args{{"order": "1", "wait-ms": 0}, {"order": "2", "wait-ms": -1}}}, &none)
		require.ErrorContains(f, err, "delay must be")
		keys, err := f.rdb.Keys(f.ctx, "bull:*:[0-9]*").Result()
		require.NoError(f, err)
		require.Empty(f, keys)
	})
}

// Many jobs are added in one call, with their own keys, and payloads of a task with
// a codec with what makes its envelope.
func TestModuleAddsManyAndEncodes(t *testing.T) {
	t.Parallel()
	eachTypedFlow(t, func(f *typedFlow) {
		m := f.module(gen.PaymentsQueue)
		list := []tasks.Charge{{Order: "a"}, {Order: "b"}, {Order: "c"}}
		jobs := ask[[]Job](m, "task.addBulk", Args{"task": "chargeTask", "list": list, "opts": Args{"attempts": 7}})
		require.Equal(f, []string{"charge/a", "charge/b", "charge/c"}, idsOf(jobs))
		want := m.stored("charge/a")
		require.EqualValues(f, 7, want["opts"].(map[string]any)["attempts"])
		require.EqualValues(f, 1000, want["opts"].(map[string]any)["removeOnComplete"])
		voids := ask[[]Job](m, "task.addBulk", Args{"task": "voidTask", "list": []Args{{"rank": "1"}, {"rank": "2"}}, "each": []Args{
			{"keys": Args{"Order": "x"}}, {"keys": Args{"Order": "y"}, "attempts": 1},
		}})
		require.Equal(f, []string{`void\/order/x`, `void\/order/y`}, idsOf(voids))
		require.Empty(f, ask[[]Job](m, "task.addBulk", Args{"task": "chargeTask", "list": []tasks.Charge{}}))

		letters := f.module(gen.LettersQueue)
		id := letters.addModule("letterTask", tasks.Letter{Text: "dear Ann"}, Args{"encode": "gzip"})
		require.Contains(f, letters.stored(id)["data"], "$gzip")
		read := make(chan string, 1)
		f.start(gen.LettersQueue, func(w *bullmq.Worker) {
			gen.HandleLetter(w, func(_ context.Context, job *bullmq.Job[tasks.Letter]) error {
				read <- job.Data.Text
				return nil
			})
		})
		_, err := gen.LetterTask.JobHandle(f.client, id).Result(f.ctx)
		require.NoError(f, err)
		require.Equal(f, "dear Ann", <-read)
	})
}

// flowHashes are the jobs of the flow's queues, by their names and payloads, without
// what differs from one add to the next: times and ids.
func (f *typedFlow) flowHashes() map[string]any {
	f.Helper()
	all := map[string]any{}
	for _, q := range []*bullmq.QueueSpec{gen.ReportsQueue, gen.PartsQueue} {
		keys, err := f.rdb.Keys(f.ctx, "bull:"+q.Name+":*").Result()
		require.NoError(f, err)
		for _, key := range keys {
			if kind, err := f.rdb.Type(f.ctx, key).Result(); err != nil || kind != "hash" || strings.HasSuffix(key, ":meta") {
				require.NoError(f, err)
				continue
			}
			id := strings.TrimPrefix(key, "bull:"+q.Name+":")
			job := f.module(q).stored(id)
			delete(job["opts"].(map[string]any), "jobId") // Node repeats a child's id there
			place := id
			if at := strings.LastIndexByte(id, '.'); at > 0 {
				place = id[:at]
			}
			all[q.Name+" "+place] = job
		}
	}
	return all
}

// A flow that Node adds through the module is stored as Go's, and its parts are
// found in their slots.
func TestModuleFlowsAreThoseOfGo(t *testing.T) {
	t.Parallel()
	eachTypedFlow(t, func(f *typedFlow) {
		page := func(text string) gen.PageNode { return gen.FlowPage(tasks.Page{Text: text}) }
		_, err := gen.EnqueueReport(f.ctx, f.client, tasks.Report{ID: "r"}, gen.ReportFlow{
			Pages: []gen.PageNode{page("1"), gen.FlowPage(tasks.Page{Text: "2", Rank: 4}, bullmq.Attempts(1))},
			Logo:  gen.FlowLogo(tasks.Logo{Of: "acme"}), Regions: map[string]gen.PageNode{"eu west": page("3")},
		}, bullmq.Priority(2))
		require.NoError(f, err)
		want := f.flowHashes()
		require.Len(f, want, 5)
		require.NoError(f, f.rdb.FlushDB(f.ctx).Err())

		node := func(text string) Args { return Args{"task": "pageTask", "data": Args{"text": text}} }
		m := f.module(gen.ReportsQueue)
		children := Args{
			"pages":   []Args{node("1"), {"task": "pageTask", "data": Args{"text": "2", "rank": 4}, "opts": Args{"attempts": 1}}},
			"logo":    Args{"task": "logoTask", "data": Args{"of": "acme"}},
			"regions": Args{"eu west": node("3")},
		}
		flow := func(children Args, opts Args) (Flow, error) {
			var added Flow
			err := m.try("task.addFlow", Args{"task": "reportTask", "data": Args{"id": "r"}, "children": children, "opts": opts}, &added)
			return added, err
		}
		added, err := flow(children, Args{"priority": 2})
		require.NoError(f, err)
		require.Equal(f, "report/r", added.Job.ID)
		got := f.flowHashes()
		require.ElementsMatch(f, mapKeys(unescaped(want)), mapKeys(unescaped(got)))
		require.Equal(f, unescaped(want), unescaped(got))

		f.start(gen.PartsQueue, func(w *bullmq.Worker) { gen.HandleParts(w, parts{}) })
		f.start(gen.ReportsQueue, func(w *bullmq.Worker) {
			gen.HandleReport(w, func(_ context.Context, job *bullmq.Job[tasks.Report], in gen.ReportResults) (tasks.Summary, error) {
				logo, err := in.Logo.Get()
				return tasks.Summary{Texts: append(append(in.Pages, logo), in.Regions["eu west"])}, err
			})
		})
		sum, err := gen.ReportTask.JobHandle(f.client, "report/r").Result(f.ctx)
		require.NoError(f, err)
		require.Equal(f, tasks.Summary{Texts: []string{"1", "2", "logo of acme", "3"}}, sum)

		// Node's library adds the children once more, where Go leaves a flow alone that is there.
		again, err := flow(children, nil)
		require.NoError(f, err)
		for i, c := range again.Children {
			if c.Job.Name == "page" {
				require.NotEqual(f, added.Children[i].Job.ID, c.Job.ID)
				require.Equal(f, "page", f.module(gen.PartsQueue).job(c.Job.ID).Name)
			}
		}

		for want, c := range map[string]Args{
			`the flow is not complete: slot "logo" of task "report" is empty`: {"pages": []Args{node("1")}},
			`task "report" declares no slot "page"`:                           {"logo": children["logo"], "page": node("1")},
			`slot "logo" of task "report" takes task "logo" of queue "parts"`: {"logo": node("1")},
			`leave jobId out, since the id says the slot`: {"logo": children["logo"], "cover": Args{
				"task": "pageTask", "data": Args{"text": ""}, "opts": Args{"jobId": "mine"},
			}},
		} {
			_, err := flow(c, nil)
			require.ErrorContains(f, err, want)
		}
	})
}

type parts struct{}

func (parts) Page(_ context.Context, job *bullmq.Job[tasks.Page]) (string, error) {
	return job.Data.Text, nil
}

func (parts) Logo(_ context.Context, job *bullmq.Job[tasks.Logo]) (string, error) {
	return "logo of " + job.Data.Of, nil
}

func mapKeys(m map[string]any) []string {
	var keys []string
	for key := range maps.Keys(m) {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// unescaped are the jobs by their places in one form: Go writes a blank in a key as
// a plus, and Node as %20.
func unescaped(jobs map[string]any) map[string]any {
	all := map[string]any{}
	for place, job := range jobs {
		all[strings.NewReplacer("+", " ", "%20", " ").Replace(place)] = job
	}
	return all
}

// A worker of the module's processor processes what Go adds: by names and earlier
// names, and one that lacks a handler does not start.
func TestModuleProcessorProcessesJobsOfGo(t *testing.T) {
	t.Parallel()
	eachTypedFlow(t, func(f *typedFlow) {
		m := f.module(gen.PaymentsQueue)
		start := func(names ...string) (*worker, error) {
			w := &worker{on: m, key: name("worker")}
			s := script{"charge": {{throws("503")}, {returns(Args{"asked": 2})}}, "charge-card": once(returns(Args{"asked": 1})), "refund": once(returns(nil)), "void": once(returns(nil))}
			var none json.RawMessage
			return w, m.try("processor.start", Args{"worker": w.key, "names": names, "handlers": s}, &none)
		}
		_, err := start("charge", "refund")
		require.ErrorContains(f, err, `queue "payments": no handler for jobs named "void"`)
		h, err := gen.EnqueueCharge(f.ctx, f.client, tasks.Charge{Order: "1"})
		require.NoError(f, err)
		old := m.add("charge-card", tasks.Charge{Order: "2"}, nil)
		unknown := m.add("chrge", tasks.Charge{Order: "3"}, nil)
		w, err := start("charge", "refund", "void")
		require.NoError(f, err)
		receipt, err := h.Result(f.ctx)
		require.NoError(f, err)
		require.Equal(f, tasks.Receipt{Asked: 2}, receipt)
		receipt, err = gen.ChargeTask.JobHandle(f.client, old).Result(f.ctx)
		require.NoError(f, err)
		require.Equal(f, tasks.Receipt{Asked: 1}, receipt)
		w.said("failed", unknown)
		require.Equal(f, fmt.Sprintf(`queue "payments": no handler for job "%s", which is named "chrge"`, unknown), m.job(unknown).FailedReason)
		w.close()
	})
}

// A schedule that Node stores through the module is the one that Go declares.
func TestModuleSchedulesAreThoseOfGo(t *testing.T) {
	t.Parallel()
	eachTypedFlow(t, func(f *typedFlow) {
		read := func(id string) (map[string]string, map[string]any) {
			hash, err := f.rdb.HGetAll(f.ctx, "bull:ticks:repeat:"+id).Result()
			require.NoError(f, err)
			var opts map[string]any
			require.NoError(f, json.Unmarshal([]byte(hash["opts"]), &opts))
			for _, own := range []string{"opts", "gen", "data", "gen:owner", "gen:first"} {
				delete(hash, own)
			}
			return hash, opts
		}
		require.NoError(f, gen.EnsureSchedules(f.ctx, f.client))
		m := f.module(gen.TicksQueue)
		for _, id := range []string{"weekly", "often"} {
			want, wantOpts := read(id)
			require.NoError(f, f.rdb.FlushDB(f.ctx).Err())
			m.do("task.upsertSchedule", Args{"task": "tickTask", "id": id, "data": Args{}})
			got, opts := read(id)
			require.Equal(f, want, got)
			require.Equal(f, wantOpts, opts)
			require.NoError(f, gen.EnsureSchedules(f.ctx, f.client))
			owner, err := f.rdb.HGet(f.ctx, "bull:ticks:repeat:"+id, "gen:owner").Result()
			require.NoError(f, err)
			require.Equal(f, "github.com/bullmq-gen/bullmq-gen/interop/tasks", owner)
		}
		var none json.RawMessage
		require.ErrorContains(f, m.try("task.upsertSchedule", Args{"task": "tickTask", "id": "yearly", "data": Args{}}, &none), `task "tick" declares no schedule "yearly"`)
	})
}

// Whoever uses a plain Queue finds the defaults and the functions that make ids.
func TestModuleGivesPlainOptions(t *testing.T) {
	t.Parallel()
	eachTypedFlow(t, func(f *typedFlow) {
		m := f.module(gen.PaymentsQueue)
		data := Args{"order": "1", "rank": 3, "wait-ms": 5}
		same(f.T, Args{
			"queue": "payments", "name": "charge",
			"defaults": Args{
				"attempts": 4, "backoff": Args{"type": "fixed", "delay": 1}, "removeOnComplete": 1000, "removeOnFail": Args{"age": 604800}, "gen": Args{"timeout": 30000},
			},
			"jobId": "charge/1",
		}, m.do("task.read", Args{"task": "chargeTask", "members": [][]any{{"queue"}, {"name"}, {"defaults"}, {"jobId", data}, {"deduplicationId", data}}}))
		same(f.T, Args{"deduplicationId": "money/1,~", "options": Args{
			"attempts": 1, "backoff": Args{"type": "exponential", "delay": 1000, "jitter": 0.25, "max": 60000}, "lifo": true, "removeOnComplete": true,
			"removeOnFail": Args{"age": 5400, "count": 100}, "sizeLimit": 4096, "gen": Args{"timeout": 30000, "ttl": 5}, "priority": 3, "delay": 5,
			"deduplication": Args{"id": "money/1,~", "ttl": 600000, "extend": true, "replace": true},
		}}, m.do("task.read", Args{"task": "refundTask", "members": [][]any{{"deduplicationId", data}, {"options", data, Args{"attempts": 1, "gen": Args{"ttl": 5}}}}}))

		// What a task takes away is not the queue's default either.
		m.do("queue.open", Args{"opts": Args{"defaultJobOptions": Args{"attempts": 8, "priority": 9, "keepLogs": 4}}})
		id := m.addModule("refundTask", data, Args{"attempts": nil, "priority": nil})
		opts := m.stored(id)["opts"].(map[string]any)
		require.EqualValues(f, 0, opts["attempts"])
		require.NotContains(f, opts, "priority")
		require.EqualValues(f, 4, opts["kl"])
	})
}
