package redisq

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// settleTime is the clock of these tests, ms.
const settleTime = 1700000100000

// Settling in batches of any size, and taking many at once, leaves what
// settling and taking one by one leaves, and answers the same.
func TestSettleBatchEqualsOneByOne(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 2, 7, 50} {
		t.Run(fmt.Sprint("batches of ", size), func(t *testing.T) {
			t.Parallel()
			one, all := testredis.Any(t), testredis.Any(t)
			for seed := range uint64(80) {
				sameSettled(t, seed, size, one, all)
			}
		})
	}
	t.Run("in-process", func(t *testing.T) {
		t.Parallel()
		one, all := testredis.Mini(t), testredis.Mini(t)
		for seed := range uint64(25) {
			sameSettled(t, 1000+seed, 50, one, all)
		}
	})
}

// settler settles one scenario on one database.
type settler struct {
	t    *testing.T
	c    *redis.Client
	s    *Store
	sc   *scenario
	errs []string
	jobs []*storage.Record
}

func sameSettled(t *testing.T, seed uint64, size int, one, all *testredis.Server) {
	t.Helper()
	sc := newScenario(seed)
	run := func(srv *testredis.Server, settle func(r *settler, from, to int, last bool)) (*settler, vectors.Keyspace, map[string][]string) {
		c := redis.NewClient(srv.Options())
		defer func() { _ = c.Close() }()
		require.NoError(t, c.FlushDB(context.Background()).Err())
		require.NoError(t, vectors.Apply(context.Background(), c, sc.before))
		s, err := New(c)
		require.NoError(t, err)
		s.mode = sc.mode
		r := &settler{t: t, c: c, s: s, sc: sc, errs: make([]string, len(sc.settle))}
		for from := 0; from < len(sc.settle); from += size {
			to := min(from+size, len(sc.settle))
			settle(r, from, to, to == len(sc.settle))
		}
		state, err := vectors.Snapshot(context.Background(), c)
		require.NoError(t, err)
		return r, state, eventsByJob(state)
	}
	began := time.Now()
	single, want, wantEvents := run(one, (*settler).singly)
	batch, got, gotEvents := run(all, (*settler).batch)
	forgiveExpiries(want, got, time.Since(began))
	require.Equal(t, single.errs, batch.errs, "seed %d", seed)
	require.Equal(t, single.jobs, batch.jobs, "seed %d", seed)
	require.Empty(t, vectors.Diff(want, got), "seed %d", seed)
	require.Equal(t, wantEvents, gotEvents, "seed %d", seed)
}

// forgiveExpiries makes expiries equal that differ by no more than the two
// runs took: between a write and the look at it passes real time.
func forgiveExpiries(want, got vectors.Keyspace, took time.Duration) {
	for key, w := range want {
		g, ok := got[key]
		if ok && w.TTL != nil && g.TTL != nil && max(*w.TTL-*g.TTL, *g.TTL-*w.TTL) <= took.Milliseconds() {
			g.TTL = w.TTL
			got[key] = g
		}
	}
}

// eventsByJob takes the streams out of a state and sorts their events by job;
// the order between jobs is free. What wakes workers, and says that a queue is
// empty, depends on how far each call went, and is taken out too.
func eventsByJob(state vectors.Keyspace) map[string][]string {
	out := map[string][]string{}
	for _, q := range []string{"q", "p"} {
		for _, e := range state["bull:"+q+":events"].Stream {
			if e.Fields["event"] != "drained" {
				id := q + ":" + e.Fields["jobId"]
				out[id] = append(out[id], fmt.Sprint(e.Fields))
			}
		}
		delete(state, "bull:"+q+":events")
		delete(state, "bull:"+q+":marker")
	}
	return out
}

func (r *settler) call(settle []storage.Settlement, take int) *storage.SettleReply {
	r.t.Helper()
	reply, err := r.s.Settle(context.Background(), "q", &storage.SettleRequest{
		Now: time.UnixMilli(settleTime), Settle: settle, Take: take, Token: "taken", Worker: r.sc.worker,
		Lock: 30 * time.Second, Limit: r.sc.limit, MetricPoints: r.sc.points,
	})
	require.NoError(r.t, err)
	return reply
}

// note notes why a job was refused. One that is settled twice may be refused
// for what it was before the other settlement or after it.
func (r *settler) note(i int, err error) {
	twice := 0
	for j := range r.sc.settle {
		if r.sc.settle[j].ID == r.sc.settle[i].ID {
			twice++
		}
	}
	switch {
	case err != nil && twice > 1:
		r.errs[i] = "refused"
	case err != nil:
		r.errs[i] = err.Error()
	}
}

func (r *settler) batch(from, to int, last bool) {
	take := 0
	if last {
		take = r.sc.take
	}
	reply := r.call(r.sc.settle[from:to], take)
	for i, err := range reply.Errs {
		r.note(from+i, err)
	}
	r.jobs = append(r.jobs, reply.Jobs...)
}

// singly settles one by one, in the order in which the script settles a batch.
func (r *settler) singly(from, to int, last bool) {
	part := r.sc.settle[from:to]
	if slices.ContainsFunc(part, func(st storage.Settlement) bool { return st.Kind == storage.RetryNow }) {
		r.call([]storage.Settlement{{ID: "nosuch", Token: "0", Kind: storage.RetryNow}}, 0) // makes due jobs wait
	}
	for _, i := range r.order(part) {
		r.note(from+i, r.call(part[i:i+1], 0).Errs[0])
	}
	for n := 0; last && n < r.sc.take; n++ {
		reply := r.call(nil, 1)
		r.jobs = append(r.jobs, reply.Jobs...)
		if len(reply.Jobs) == 0 {
			break
		}
	}
}

// order is that of the script: first what it can settle in bulk, then the
// others, and last, from the end, what goes back to wait.
func (r *settler) order(part []storage.Settlement) []int {
	ctx := context.Background()
	var bulk, single, back []int
	common, seen := commonPolicy(part), map[string]bool{}
	for i := range part {
		st := &part[i]
		key := "bull:q:" + st.ID
		links := r.c.HMGet(ctx, key, "parentKey", "deid").Val()
		children := r.c.Exists(ctx, key+":dependencies", key+":unsuccessful").Val() > 0
		switch {
		case st.Kind == storage.BackToWait:
			back = append([]int{i}, back...)
		case st.Kind == storage.Completed && policyOf(&st.Keep) == common && !seen[st.ID] && links[0] == nil && links[1] == nil && !children:
			bulk = append(bulk, i)
		default:
			single = append(single, i)
		}
		if st.Token == "0" || st.Kind == storage.WaitForChildren || children || r.c.Get(ctx, key+":lock").Val() == st.Token {
			seen[st.ID] = true // else it is refused at once, and the next one of this job is its first
		}
	}
	return slices.Concat(bulk, single, back)
}

// scenario is a queue, and what is to be settled on it.
type scenario struct {
	rnd    *rand.Rand
	before vectors.Keyspace
	mode   string
	worker string
	limit  *storage.RateLimit
	points int
	take   int
	usual  storage.Keep
	settle []storage.Settlement
}

func newScenario(seed uint64) *scenario {
	rnd := rand.New(rand.NewPCG(seed, 11))
	sc := &scenario{
		rnd: rnd, before: vectors.Keyspace{}, mode: oneOf(rnd, "6", "6", "5"), worker: oneOf(rnd, "w", "w", ""),
		points: oneOf(rnd, 0, 0, 3), take: oneOf(rnd, 0, 1, 3, 20),
		usual: oneOf(rnd, keeps...),
	}
	if sc.chance(30) {
		sc.limit = &storage.RateLimit{Max: 1 + rnd.IntN(6), Per: time.Minute}
	}
	sc.settings()
	sc.parents()
	ids := make([]string, 1+rnd.IntN(50))
	for i := range ids {
		ids[i] = fmt.Sprint("a", i)
	}
	for _, id := range ids {
		sc.active(id, ids)
	}
	sc.waitingJobs()
	sc.finished()
	if sc.chance(30) { // one more settlement of some
		sc.settle = append(sc.settle, sc.settlement(oneOf(rnd, ids...), "tok", ids), sc.settlement("nobody", "tok", ids))
	}
	if sc.chance(40) {
		sc.family(ids)
	}
	rnd.Shuffle(len(sc.settle), func(i, j int) { sc.settle[i], sc.settle[j] = sc.settle[j], sc.settle[i] })
	return sc
}

func (sc *scenario) chance(percent int) bool { return sc.rnd.IntN(100) < percent }

func (sc *scenario) put(name string, e vectors.Entry) { sc.before["bull:"+name] = e }

func (sc *scenario) push(list, id string) {
	e := sc.before["bull:"+list]
	e.Type = "list"
	e.List = slices.Insert(e.List, sc.rnd.IntN(len(e.List)+1), id)
	sc.before["bull:"+list] = e
}

func (sc *scenario) member(set, id string) {
	e := sc.before["bull:"+set]
	e.Type = "set"
	if !slices.Contains(e.Set, id) {
		e.Set = append(e.Set, id)
	}
	sc.before["bull:"+set] = e
}

func (sc *scenario) scored(set, id string, score float64) {
	e := sc.before["bull:"+set]
	e.Type = "zset"
	e.Sorted = append(e.Sorted, vectors.Member{Name: id, Score: score})
	sc.before["bull:"+set] = e
}

// settings are the queue's own, and its counters.
func (sc *scenario) settings() {
	meta := vectors.Entry{Type: "hash", Hash: map[string]string{"version": "x"}}
	if sc.chance(60) {
		meta.Hash["opts.maxLenEvents"] = "10000"
	}
	if sc.chance(15) {
		meta.Hash["paused"] = "1"
	}
	if sc.chance(30) {
		meta.Hash["concurrency"] = strconv.Itoa(1 + sc.rnd.IntN(40))
	}
	if sc.chance(25) {
		meta.Hash["max"], meta.Hash["duration"] = strconv.Itoa(1+sc.rnd.IntN(6)), "60000"
	}
	sc.put("q:meta", meta)
	sc.put("q:id", vectors.Entry{Type: "string", Text: "500"})
	sc.put("q:pc", vectors.Entry{Type: "string", Text: "20"})
	if sc.chance(30) {
		ttl := int64(60000)
		sc.put("q:limiter", vectors.Entry{Type: "string", Text: strconv.Itoa(sc.rnd.IntN(4)), TTL: &ttl})
	}
	if sc.chance(40) {
		sc.put("q:metrics:completed", hashEntry("count", "7", "prevTS", fmt.Sprint(settleTime-oneOf[int64](sc.rnd, 0, 60000, 180000)), "prevCount", "4"))
	}
}

// parentKeys are those of jobs that wait for children.
var parentKeys = []string{"bull:p:P0", "bull:p:P1", "bull:q:P2", "bull:q:P3", "bull:p:gone"}

func (sc *scenario) parents() {
	sc.put("p:P0", hashEntry("name", "p", "priority", "0", "delay", "0"))
	sc.put("p:P1", hashEntry("name", "p", "priority", "3", "delay", "0"))
	sc.put("q:P2", hashEntry("name", "p", "priority", "0", "delay", "700"))
	sc.put("q:P3", hashEntry("name", "p", "priority", "0", "delay", "0"))
	sc.scored("p:waiting-children", "P0", 1)
	sc.scored("p:waiting-children", "P1", 1)
	sc.scored("q:waiting-children", "P2", 1)
	if sc.chance(50) {
		sc.scored("q:waiting-children", "P3", 1)
	} else {
		sc.scored("q:delayed", "P3", settleTime*4096*2)
	}
	if sc.chance(30) { // one that waits for others too
		sc.member(oneOf(sc.rnd, "p:P0", "q:P2")+":dependencies", "bull:q:elsewhere")
	}
}

// active lays out a job that is being worked, and mostly settles it.
func (sc *scenario) active(id string, all []string) {
	rnd := sc.rnd
	job := hashEntry("name", "n", "data", "{}", "opts", "{}", "timestamp", "1000", "delay", "0",
		"priority", oneOf(rnd, "0", "0", "0", "2"), "processedOn", "2000", "ats", "1")
	if sc.worker != "" {
		job.Hash["pb"] = sc.worker
	}
	for field, value := range map[string]string{"atm": "1", "progress": "50", "failedReason": "was", "defa": "child failed", "stc": "1"} {
		if sc.chance(6) {
			job.Hash[field] = value
		}
	}
	sc.link(id, job.Hash)
	if sc.chance(10) {
		sc.dedup(id, job.Hash)
	}
	if sc.chance(6) { // waits for another one that is settled, or for any
		sc.adopt(id, oneOf(rnd, all...))
	}
	if sc.chance(2) {
		sc.scored("q:"+id+":unsuccessful", "bull:q:x", 1)
	}
	if sc.chance(5) {
		sc.put("q:"+id+":logs", vectors.Entry{Type: "list", List: []string{"line"}})
	}
	if !sc.chance(3) {
		sc.put("q:"+id, mergeHash(job, sc.before["bull:q:"+id]))
	} else {
		delete(sc.before, "bull:q:"+id)
	}
	if !sc.chance(4) {
		sc.push("q:active", id)
	}
	if sc.chance(20) {
		sc.member("q:stalled", id)
	}
	token, ttl := fmt.Sprint("tok", id), int64(20000)
	switch rnd.IntN(20) {
	case 0: // no lock
	case 1:
		sc.put("q:"+id+":lock", vectors.Entry{Type: "string", Text: "someone", TTL: &ttl})
	case 2:
		token = "0"
	default:
		sc.put("q:"+id+":lock", vectors.Entry{Type: "string", Text: token, TTL: &ttl})
	}
	if !sc.chance(10) {
		sc.settle = append(sc.settle, sc.settlement(id, token, all))
	}
}

// mergeHash adds what was written to a job before it was laid out.
func mergeHash(e, more vectors.Entry) vectors.Entry {
	for f, v := range more.Hash {
		e.Hash[f] = v
	}
	return e
}

// link may make a job the child of one of the parents.
func (sc *scenario) link(id string, job map[string]string) {
	if !sc.chance(25) || job["parentKey"] != "" {
		return
	}
	key := oneOf(sc.rnd, parentKeys...)
	queue, pid := key[:6], key[7:]
	policy := oneOf(sc.rnd, "", `,"fpof":true`, `,"cpof":true`, `,"idof":true`, `,"rdof":true`)
	job["parentKey"], job["parent"] = key, fmt.Sprintf(`{"id":%q,"queueKey":%q%s}`, pid, queue, policy)
	if !sc.chance(10) {
		sc.member(key[5:]+":dependencies", "bull:q:"+id)
	}
}

// adopt makes a job wait for another of the same queue.
func (sc *scenario) adopt(parent, child string) {
	e, ok := sc.before["bull:q:"+child]
	if parent == child || ok && e.Hash["parentKey"] != "" {
		sc.member("q:"+parent+":dependencies", "bull:q:elsewhere")
		return
	}
	sc.member("q:"+parent+":dependencies", "bull:q:"+child)
	if !ok {
		e = hashEntry()
	}
	e.Hash["parentKey"] = "bull:q:" + parent
	e.Hash["parent"] = fmt.Sprintf(`{"id":%q,"queueKey":"bull:q","fpof":true}`, parent)
	sc.put("q:"+child, e)
}

// dedup makes a job hold a deduplication id, and may keep one to follow it.
func (sc *scenario) dedup(id string, job map[string]string) {
	deid := "d" + id
	job["deid"] = deid
	holder := vectors.Entry{Type: "string", Text: oneOf(sc.rnd, id, id, "other")}
	if ttl := int64(50000); sc.chance(30) {
		holder.TTL = &ttl
	}
	sc.put("q:de:"+deid, holder)
	if sc.chance(60) {
		opts := oneOf(sc.rnd, "", `,"delay":500`, `,"priority":4`, `,"lifo":true`)
		next := hashEntry("name", "next", "data", "1", "opts", fmt.Sprintf(`{"de":{"id":%q,"keepLastIfActive":true}%s}`, deid, opts))
		if sc.chance(30) {
			next.Hash["jid"] = "next-" + id
		}
		sc.put("q:dn:"+deid, next)
	}
}

// waitingJobs are those that may be taken.
func (sc *scenario) waitingJobs() {
	for i := range sc.rnd.IntN(15) {
		id := fmt.Sprint("w", i)
		job := hashEntry("name", "n", "data", "{}", "opts", "{}", "timestamp", "1000", "delay", "0", "priority", "0")
		if sc.chance(20) {
			job.Hash["defa"] = "child failed"
		}
		if sc.chance(20) {
			job.Hash["ats"] = "2"
		}
		if sc.chance(30) {
			job.Hash["parentKey"], job.Hash["parent"] = "bull:p:P0", `{"id":"P0","queueKey":"bull:p"}`
		}
		switch sc.rnd.IntN(6) {
		case 0, 1, 2:
			sc.push("q:wait", id)
		case 3:
			job.Hash["priority"] = "2"
			sc.scored("q:prioritized", id, 2<<32+float64(i))
		case 4:
			job.Hash["delay"] = "10"
			sc.scored("q:delayed", id, (settleTime-100+float64(i))*4096)
		case 5:
			sc.scored("q:delayed", id, (settleTime+5000+float64(i))*4096)
		}
		if !sc.chance(4) {
			sc.put("q:"+id, job)
		}
	}
	if sc.chance(10) {
		sc.push("q:wait", "0:7")
	}
}

// finished are jobs that retention may remove.
func (sc *scenario) finished() {
	for i := range sc.rnd.IntN(12) {
		id, state := fmt.Sprint("f", i), oneOf(sc.rnd, "q:completed", "q:failed")
		job := hashEntry("name", "n", "returnvalue", "1", "finishedOn", "5")
		sc.link(id, job.Hash)
		sc.put("q:"+id, job)
		sc.scored(state, id, settleTime-float64(sc.rnd.IntN(100000)))
	}
}

var keeps = []storage.Keep{
	{}, {}, {}, {Remove: true}, {Count: 2}, {Count: 5, Age: 30 * time.Second}, {Age: 40 * time.Second, Limit: 1}, {Age: time.Hour},
}

// family makes all jobs complete in the usual way, none with children of its
// own, so that children among them are completed in bulk.
func (sc *scenario) family(ids []string) {
	for _, id := range ids {
		delete(sc.before, "bull:q:"+id+":dependencies")
		delete(sc.before, "bull:q:"+id+":unsuccessful")
	}
	for i := range sc.settle {
		sc.settle[i].Kind, sc.settle[i].Keep = storage.Completed, sc.usual
	}
}

func (sc *scenario) settlement(id, token string, all []string) storage.Settlement {
	rnd := sc.rnd
	st := storage.Settlement{
		ID: id, Token: token, Value: []byte(oneOf(rnd, `{"v":1}`, `{"v":1}`, `{"v":2}`)), Attempts: rnd.IntN(3),
		Kind: oneOf(rnd, storage.Completed, storage.Completed, storage.Completed, storage.Completed, storage.Failed, storage.Failed,
			storage.RetryNow, storage.RetryLater, storage.DelayedUntil, storage.BackToWait, storage.WaitForChildren),
		Reason: oneOf(rnd, "boom", ""), Delay: time.Duration(1+rnd.IntN(3)) * time.Second, LIFO: sc.chance(30), Unstarted: sc.chance(30),
		Telemetry: oneOf(rnd, "", "", "trace"),
	}
	st.Keep = sc.usual // most have one policy, as the jobs of a real worker do
	if sc.chance(35) {
		st.Keep = oneOf(rnd, keeps...)
	}
	if sc.chance(70) {
		st.Stack = []byte(`["at a"]`)
	}
	if sc.chance(30) {
		st.Child = "bull:q:" + oneOf(rnd, all...)
	}
	return st
}
