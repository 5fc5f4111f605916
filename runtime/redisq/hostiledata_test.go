package redisq

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/wire"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// poison is what another program wrote under the names of a queue.
type poison struct {
	name string
	// key is the one that has another type, or is empty.
	key   string
	write func(b *bench)
}

// hostileTexts stand where a number, JSON or a name belongs.
var hostileTexts = []string{
	"abc", "", "-5", "99999999999999999999", "1e400", "nan", "-inf", "0x10", "1.5", "{", "[]", "null", `{"a":[{}]}`, "\xff\xfe",
	"no colon", "bull:q:wait", "bull:q:", strings.Repeat("[", 5<<20),
}

// otherType puts a value of another type in the place of a key.
func otherType(key, typ string) poison {
	return poison{name: key + " of another type", key: key, write: func(b *bench) {
		b.do("del", key)
		if typ == "string" {
			b.do("rpush", key, "x")
		} else {
			b.do("set", key, "x")
		}
	}}
}

// inField puts a text in a field of a hash.
func inField(key, field, text string) poison {
	return poison{name: fmt.Sprintf("%s %s=%.20q", key, field, text), write: func(b *bench) { b.do("hset", key, field, text) }}
}

var jobFields = []string{
	"name", "data", "opts", "timestamp", "delay", "priority", "atm", "ats", "stc", "attemptsMade", "processedOn", "finishedOn", "returnvalue",
	"failedReason", "stacktrace", "parentKey", "parent", "rjk", "deid", "defa", "gen:slot", "gen:steps", "progress", "pb", "nrjid",
}

// queuePoisons are those of what all jobs of a queue share.
func queuePoisons() []poison {
	var all []poison
	for _, name := range slices.Sorted(maps.Keys(wire.Own)) {
		all = append(all, otherType("bull:q:"+name, wire.Own[name]))
	}
	fields := map[string][]string{
		"meta":              {"paused", "concurrency", "max", "duration", "opts.maxLenEvents", "version"},
		"metrics:completed": {"count", "prevTS", "prevCount"},
		"metrics:failed":    {"count", "prevTS", "prevCount"},
		"repeat:s":          {"every", "offset", "ic", "pattern", "tz", "limit", "startDate", "endDate", "name", "data", "opts", "gen:owner", "gen:first"},
		"gen:group:full":    {"start", "count"},
		"dn:held":           {"name", "data", "opts", "jid", "pk", "pd", "pdk", "rjk"},
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		for _, f := range fields[key] {
			for _, text := range hostileTexts {
				all = append(all, inField("bull:q:"+key, f, text))
			}
		}
	}
	for _, text := range hostileTexts {
		for _, name := range []string{"id", "pc", "limiter", "stalled-check", "de:held"} {
			all = append(all, poison{name: fmt.Sprintf("%s is %.20q", name, text), write: func(b *bench) { b.do("set", "bull:q:"+name, text) }})
		}
		for _, name := range []string{"wait", "paused", "active"} {
			all = append(all, poison{name: fmt.Sprintf("%s holds %.20q", name, text), write: func(b *bench) { b.do("rpush", "bull:q:"+name, text) }})
		}
		all = append(all, poison{name: fmt.Sprintf("an event of %.20q", text), write: func(b *bench) { b.do("xadd", "bull:q:events", "*", text, text) }})
		for _, name := range []string{"prioritized", "delayed", "waiting-children", "completed", "failed", "marker", "repeat"} {
			for _, score := range []string{"-1", "0", "inf", "-inf", "1e300", "1.5"} {
				all = append(all, poison{name: fmt.Sprintf("%s holds %.20q at %s", name, text, score), write: func(b *bench) { b.do("zadd", "bull:q:"+name, score, text) }})
			}
		}
	}
	return all
}

// jobPoisons are those of the keys of one job.
func jobPoisons(id string) []poison {
	key := "bull:q:" + id
	all := []poison{otherType(key, "hash")}
	for _, part := range slices.Sorted(maps.Keys(wire.Parts)) {
		all = append(all, otherType(key+":"+part, wire.Parts[part]))
	}
	for _, f := range jobFields {
		for _, text := range hostileTexts {
			all = append(all, inField(key, f, text))
		}
	}
	for _, parent := range []string{`{"id":{},"queueKey":[]}`, `{"id":7,"queueKey":"bull:q","fpof":true}`, `{"id":"wait","queueKey":"bull:q","rdof":true}`, `[1]`, `7`} {
		all = append(all, poison{name: id + " has the parent " + parent, write: func(b *bench) {
			b.do("set", "bull:q:foreign:dependencies", "x")
			b.do("hset", "bull:q:foreign", "name", "n")
			b.do("hset", key, "parentKey", "bull:q:foreign", "parent", parent)
		}})
	}
	for _, opts := range []string{`{"de":{"id":{}},"delay":{},"priority":[],"lifo":null}`, `{"de":{"id":7,"ttl":1e300},"delay":1e308,"priority":1e300}`, `[`, `7`} {
		all = append(all, poison{name: id + " is followed by a job with " + opts, write: func(b *bench) {
			b.do("hset", key, "deid", "foreign")
			b.do("set", "bull:q:de:foreign", id)
			b.do("hset", "bull:q:dn:foreign", "opts", opts, "name", "n", "pdk", "bull:q:wait")
		}})
	}
	return append(all, poison{name: id + " holds a deduplication id of another type", write: func(b *bench) {
		b.do("hset", key, "deid", "foreign")
		b.do("rpush", "bull:q:de:foreign", id)
		b.do("set", "bull:q:dn:foreign", "x")
	}})
}

// some are all poisons with BULLMQ_HOSTILE=0, and otherwise those of another type
// and about so many of the others.
func some(all []poison, n int) []poison {
	if os.Getenv("BULLMQ_HOSTILE") == "0" {
		return all
	}
	step := max(1, len(all)/n) | 1
	var out []poison
	for i, p := range all {
		if p.key != "" || i%step == 0 {
			out = append(out, p)
		}
	}
	return out
}

// inParallel runs a test with each poison, on some databases at a time.
func inParallel(t *testing.T, all []poison, test func(b *bench, p poison)) {
	t.Helper()
	const databases = 4
	for i := range databases {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			c := testredis.Any(t).Client(t)
			s, err := New(c, Clock(func() time.Time { return sceneTime }))
			require.NoError(t, err)
			for j := i; j < len(all); j += databases {
				test(&bench{Store: s, t: t, c: c, ctx: t.Context()}, all[j])
			}
		})
	}
}

// Whatever other programs wrote, a call ends: without a panic, and with an error
// that has a kind and names the key that it could not use.
func TestHostileDataIsNoPanicOfAnyCall(t *testing.T) {
	t.Parallel()
	all := some(queuePoisons(), 60)
	for _, id := range []string{"busy0", "P", "C"} {
		all = append(all, some(jobPoisons(id), 5)...)
	}
	for _, id := range []string{"a", "later", "urgent", "ok", "bad", "holder"} {
		all = append(all, otherType("bull:q:"+id, "hash"))
	}
	all = append(all, otherType("bull:q:de:held", "string"), otherType("bull:q:dn:held", "hash"), otherType("bull:q:repeat:s", "hash"),
		otherType("bull:q:gen:group:full", "hash"), otherType("bull::gen:schedules", "set"), otherType("bull:q:gen:cancel", "stream"))
	calls, every := everyCall(), 5
	if os.Getenv("BULLMQ_HOSTILE") == "0" {
		every = 1
	}
	inParallel(t, all, func(b *bench, p poison) {
		for i, c := range calls {
			if (i+len(p.name))%every != 0 || c.effect == asksNone {
				continue
			}
			b.begin(c)
			p.write(b)
			ctx, cancel := context.WithTimeout(b.ctx, 100*time.Millisecond)
			if c.effect != blocks {
				cancel()
				ctx, cancel = context.WithTimeout(b.ctx, patience)
			}
			err := c.call(ctx, b.Store)
			cancel()
			known := isDocumented(err) || c.effect == blocks && errors.Is(err, context.DeadlineExceeded)
			require.True(b.t, known, "%s, %s: %v", p.name, c.method, err)
			if p.key != "" && isForeign(err) {
				require.Contains(b.t, err.Error(), p.key, "%s: %s", p.name, c.method)
			}
		}
	})
}

// A job that another program spoiled, in whatever state, keeps no other job of
// its queue from being promoted, recovered, taken, settled, retried and listed.
func TestASpoiledJobStopsNoOther(t *testing.T) {
	t.Parallel()
	inParallel(t, some(jobPoisons("spoiled"), 150), func(b *bench, p poison) {
		require.NoError(b.t, b.c.FlushDB(b.ctx).Err())
		b.goodAndBad()
		for _, place := range []string{"wait", "delayed", "prioritized", "active", "stalled", "completed", "failed", "child"} {
			b.spoil(p, "bad-"+place)
		}
		b.processAll(p)
		for _, id := range []string{"wait", "delayed", "prioritized", "active", "stalled", "failed", "child", "parent"} {
			state, err := b.State(b.ctx, "q", "good-"+id)
			require.NoError(b.t, err, p.name)
			require.Equal(b.t, storage.StateCompleted, state, "%s: good-%s", p.name, id)
		}
	})
}

// spoil writes a poison to one of the jobs.
func (b *bench) spoil(p poison, id string) {
	b.t.Helper()
	rename := func(args []any) []any {
		out := slices.Clone(args)
		for i, a := range out {
			if text, ok := a.(string); ok {
				out[i] = strings.ReplaceAll(text, "spoiled", id)
			}
		}
		return out
	}
	hook := &argsHook{change: rename}
	o := b.c.Options()
	c := redis.NewClient(&redis.Options{Addr: o.Addr, DB: o.DB})
	defer func() { _ = c.Close() }()
	c.AddHook(hook)
	p.write(&bench{Store: b.Store, t: b.t, c: c, ctx: b.ctx})
}

// goodAndBad lays out a good and a bad job in each state.
func (b *bench) goodAndBad() {
	for _, kind := range []string{"bad-", "good-"} {
		b.waiting("q", "wait", kind+"wait", kind+"child")
		b.in("q", "delayed", kind+"delayed", settleTime*4096-4096)
		b.in("q", "prioritized", kind+"prioritized", 5<<32, "priority", "5")
		for _, place := range []string{"active", "stalled"} {
			b.job("q", kind+place, "processedOn", settleTime, "ats", "1", "pb", "w")
			b.do("lpush", "bull:q:active", kind+place)
		}
		b.do("set", "bull:q:"+kind+"active:lock", "tok", "px", 1<<40)
		b.do("sadd", "bull:q:stalled", kind+"stalled")
		b.in("q", "completed", kind+"completed", settleTime-5, "finishedOn", settleTime-5, "returnvalue", "1")
		b.in("q", "failed", kind+"failed", settleTime-5, "finishedOn", settleTime-5, "failedReason", "no")
		b.in("q", "waiting-children", kind+"parent", settleTime)
		b.childOf("bull:q:"+kind+"parent", "bull:q:"+kind+"child")
		b.do("hset", "bull:q:"+kind+"child", "parent", `{"id":"`+kind+`parent","queueKey":"bull:q"}`)
	}
}

// processAll does what workers and operators do, until no job is left to be taken.
func (b *bench) processAll(p poison) {
	_, err := b.RecoverStalled(b.ctx, "q", storage.StalledRequest{Now: sceneTime, Interval: time.Hour, MaxStalled: 1})
	require.NoError(b.t, err, p.name)
	require.NoError(b.t, b.RetryAll(b.ctx, "q", storage.StateFailed, sceneTime.Add(time.Hour), 0), p.name)
	_, err = b.ListJobs(b.ctx, "q", append(slices.Clone(storage.States), storage.StatePaused), 0, -1, true)
	require.NoError(b.t, err, p.name)
	_, err = b.Jobs(b.ctx, "q", "bad-wait", "bad-active", "good-wait")
	require.NoError(b.t, err, p.name)
	settle := []storage.Settlement{completed("bad-active"), completed("good-active")}
	for call := range 20 {
		req := callWith("call"+strconv.Itoa(call), 5, settle...)
		req.MetricPoints = 60
		reply, err := b.Settle(b.ctx, "q", req)
		require.NoError(b.t, err, p.name)
		for i, st := range settle {
			if strings.HasPrefix(st.ID, "good") {
				require.NoError(b.t, reply.Errs[i], "%s: %s", p.name, st.ID)
			}
		}
		if len(reply.Jobs) == 0 {
			break
		}
		settle = nil
		for _, j := range reply.Jobs {
			st := completed(j.ID)
			st.Token = req.Token
			st.Keep = storage.Keep{Age: time.Hour}
			settle = append(settle, st)
		}
	}
	_, err = b.Clean(b.ctx, "q", storage.StateFailed, sceneTime, 0)
	require.NoError(b.t, err, p.name)
	_, err = b.Clean(b.ctx, "q", storage.StateActive, sceneTime, 0)
	require.NoError(b.t, err, p.name)
	require.NoError(b.t, b.Drain(b.ctx, "q", true), p.name)
	require.NoError(b.t, b.PromoteAll(b.ctx, "q", 0), p.name)
}

// argsHook changes the arguments of all commands.
type argsHook struct{ change func([]any) []any }

func (h *argsHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *argsHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *argsHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		copy(cmd.Args(), h.change(cmd.Args()))
		return next(ctx, cmd)
	}
}
