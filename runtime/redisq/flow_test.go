package redisq

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// flowTime is when the flows of these tests are added.
const flowTime = 1700000000000

// node is a job of a flow: "queue/id", below "queue/id" or "".
func node(at, parent string, change ...func(*storage.FlowNode)) storage.FlowNode {
	queue, id, _ := strings.Cut(at, "/")
	n := storage.FlowNode{Queue: "bull:" + queue, NewJob: storage.NewJob{
		ID: id, Name: "n", Data: []byte("{}"), Opts: []byte(`{"attempts":0}`), Timestamp: time.UnixMilli(flowTime),
	}}
	if parent != "" {
		pq, pid, _ := strings.Cut(parent, "/")
		n.Parent = &storage.Parent{ID: pid, Queue: "bull:" + pq}
	}
	for _, c := range change {
		c(&n)
	}
	return n
}

func onFail(p storage.OnFail) func(*storage.FlowNode) {
	return func(n *storage.FlowNode) { n.Parent.OnFail = p }
}

func (b *bench) addFlow(nodes ...storage.FlowNode) []storage.Added {
	b.t.Helper()
	added, err := b.AddFlow(b.ctx, time.UnixMilli(flowTime), nodes)
	require.NoError(b.t, err)
	require.Len(b.t, added, len(nodes))
	return added
}

func (b *bench) members(queue, name string) []string {
	b.t.Helper()
	m, err := b.c.SMembers(b.ctx, b.key(queue, name)).Result()
	require.NoError(b.t, err)
	slices.Sort(m)
	return m
}

// hash reads the fields of a hash.
func (b *bench) hash(queue, name string) map[string]string {
	b.t.Helper()
	h, err := b.c.HGetAll(b.ctx, b.key(queue, name)).Result()
	require.NoError(b.t, err)
	return h
}

func (b *bench) snapshot() vectors.Keyspace {
	b.t.Helper()
	state, err := vectors.Snapshot(b.ctx, b.c)
	require.NoError(b.t, err)
	return state
}

// The state that a flow of a parent with a plain, a prioritized and a delayed
// child leaves.
func TestAddFlow(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		added := b.addFlow(
			node("pq/R", ""),
			node("cq/C1", "pq/R"),
			node("cq/C2", "pq/R", func(n *storage.FlowNode) { n.Priority = 2 }),
			node("cq/C3", "pq/R", func(n *storage.FlowNode) { n.Delay = 5 * time.Second }),
		)
		require.Equal(t, []storage.Added{{ID: "R"}, {ID: "C1"}, {ID: "C2"}, {ID: "C3"}}, added)
		require.Equal(t, map[string]string{
			"name": "n", "data": "{}", "opts": `{"attempts":0}`, "timestamp": "1700000000000", "delay": "0", "priority": "0",
		}, b.hash("pq", "R"))
		require.Equal(t, map[string]string{
			"name": "n", "data": "{}", "opts": `{"attempts":0}`, "timestamp": "1700000000000", "delay": "5000", "priority": "0",
			"parentKey": "bull:pq:R", "parent": `{"id":"R","queueKey":"bull:pq"}`,
		}, b.hash("cq", "C3"))
		require.Equal(t, []string{"bull:cq:C1", "bull:cq:C2", "bull:cq:C3"}, b.members("pq", "R:dependencies"))
		zset := func(queue, name string) []redis.Z {
			return b.c.ZRangeWithScores(b.ctx, b.key(queue, name), 0, -1).Val()
		}
		require.Equal(t, []redis.Z{{Member: "R", Score: flowTime}}, zset("pq", "waiting-children"))
		require.Equal(t, []string{"C1"}, b.list("cq", "wait"))
		require.Equal(t, []redis.Z{{Member: "C2", Score: 2<<32 + 1}}, zset("cq", "prioritized"))
		require.Equal(t, []redis.Z{{Member: "C3", Score: (flowTime + 5000) * 4096}}, zset("cq", "delayed"))
		require.Equal(t, []redis.Z{{Member: "0", Score: 0}, {Member: "1", Score: flowTime + 5000}}, zset("cq", "marker"))
		require.False(t, b.exists("pq", "marker"))
		require.Equal(t, "1", b.do("get", "bull:pq:id"))
		require.Equal(t, "3", b.do("get", "bull:cq:id"))
		require.Equal(t, "10000", b.do("hget", "bull:cq:meta", "opts.maxLenEvents"))
		require.Equal(t, []string{"added jobId=R name=n", "waiting-children jobId=R"}, b.events("pq"))
		require.Equal(t, []string{
			"added jobId=C1 name=n", "waiting jobId=C1", "added jobId=C2 name=n", "waiting jobId=C2",
			"added jobId=C3 name=n", fmt.Sprintf("delayed delay=%d jobId=C3", int64(flowTime+5000)),
		}, b.events("cq"))
	})
}

func TestAddFlowStoresPolicies(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		nodes := []storage.FlowNode{node("q/R", "")}
		policies := []storage.OnFail{storage.OnFailWait, storage.OnFailFail, storage.OnFailContinue, storage.OnFailIgnore, storage.OnFailRemove}
		for i, p := range policies {
			nodes = append(nodes, node(fmt.Sprintf("q/c%d", i), "q/R", onFail(p)))
		}
		b.addFlow(nodes...)
		for i, p := range policies {
			want := `{"id":"R","queueKey":"bull:q"}`
			if p != "" {
				want = `{"id":"R","queueKey":"bull:q","` + string(p) + `":true}`
			}
			require.Equal(t, want, b.hash("q", fmt.Sprintf("c%d", i))["parent"])
		}
	})
}

// Jobs wait in the order given, on all queues of a forest; inner parents wait
// for their own children and are waited for.
func TestAddForest(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.addFlow(
			node("q/A", ""), node("q/B", ""), node("q/lone", ""),
			node("q/A1", "q/A"), node("other/A2", "q/A"), node("q/B1", "q/B"),
			node("other/A1x", "q/A1"), node("q/A1y", "q/A1"), node("q/A2x", "other/A2"),
		)
		require.Equal(t, []string{"lone", "B1", "A1y", "A2x"}, b.list("q", "wait"))
		require.Equal(t, []string{"A1x"}, b.list("other", "wait"))
		require.ElementsMatch(t, []string{"A", "B", "A1"}, b.set("q", "waiting-children"))
		require.Equal(t, []string{"A2"}, b.set("other", "waiting-children"))
		require.Equal(t, []string{"bull:other:A2", "bull:q:A1"}, b.members("q", "A:dependencies"))
		require.Equal(t, []string{"bull:other:A1x", "bull:q:A1y"}, b.members("q", "A1:dependencies"))
		require.Equal(t, []string{"bull:q:A2x"}, b.members("other", "A2:dependencies"))
		require.Equal(t, `{"id":"A","queueKey":"bull:q"}`, b.hash("other", "A2")["parent"])
		require.Equal(t, "7", b.do("get", "bull:q:id"))
		require.Equal(t, "2", b.do("get", "bull:other:id"))
	})
}

func TestAddFlowKeepsOptionsOfParents(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.addFlow(
			node("q/R", "", func(n *storage.FlowNode) {
				n.Delay, n.Priority, n.Timestamp = 2*time.Second, 7, time.UnixMilli(1600000000000)
			}),
			node("q/last", "q/R"), node("q/first", "q/R", func(n *storage.FlowNode) { n.LIFO = true }),
		)
		h := b.hash("q", "R")
		require.Equal(t, []string{"2000", "7", "1600000000000"}, []string{h["delay"], h["priority"], h["timestamp"]})
		require.Equal(t, []redis.Z{{Member: "R", Score: 1600000000000}}, b.c.ZRangeWithScores(b.ctx, "bull:q:waiting-children", 0, -1).Val())
		require.Equal(t, []string{"first", "last"}, b.list("q", "wait"))
		require.False(t, b.exists("q", "delayed"))
	})
}

// On a queue that is paused, or that has as many active jobs as it may, nobody
// is woken; a 5.x peer looks for plain jobs of a paused queue elsewhere.
func TestAddFlowOnBlockedQueues(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]Option{"wait": nil, "paused": {Peers5()}} {
		onServers(t, opts, func(b *bench) {
			b.do("hset", "bull:p:meta", "paused", "1")
			b.do("hset", "bull:m:meta", "concurrency", "1")
			b.do("lpush", "bull:m:active", "x")
			b.addFlow(node("q/R", ""), node("p/a", "q/R"), node("m/b", "q/R"), node("q/c", "q/R"))
			require.Equal(t, []string{"a"}, b.list("p", name))
			require.Equal(t, []string{"b"}, b.list("m", "wait"))
			require.False(t, b.exists("p", "marker"))
			require.False(t, b.exists("m", "marker"))
			require.True(t, b.exists("q", "marker"))
		})
	}
}

func TestAddFlowBelowAnExistingJob(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.job("q", "outer")
		b.do("lpush", "bull:q:active", "outer")
		b.addFlow(node("q/R", "q/outer", onFail(storage.OnFailIgnore)), node("q/c", "q/R"), node("q/leaf", "q/outer"))
		require.Equal(t, []string{"bull:q:R", "bull:q:leaf"}, b.members("q", "outer:dependencies"))
		require.Equal(t, `{"id":"outer","queueKey":"bull:q","idof":true}`, b.hash("q", "R")["parent"])
		require.Equal(t, []string{"outer"}, b.list("q", "active"))
	})
}

// Other prefixes are other queues.
func TestAddFlowAcrossPrefixes(t *testing.T) {
	t.Parallel()
	onServers(t, []Option{Prefix("a:b")}, func(b *bench) {
		root, child := node("q/R", ""), node("q/R", "q/R")
		root.Queue, child.Queue = b.Qualify("q"), "other:prefix:q"
		child.Parent.Queue = root.Queue
		b.addFlow(root, child)
		require.Equal(t, []string{"other:prefix:q:R"}, b.members("q", "R:dependencies"))
		require.Equal(t, "a:b:q:R", b.do("hget", "other:prefix:q:R", "parentKey"))
		require.Equal(t, []any{"R"}, b.do("lrange", "other:prefix:q:wait", "0", "-1"))
		require.Empty(t, b.c.Keys(b.ctx, "bull:*").Val())
	})
}

func TestAddFlowOfManyJobs(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		n := b.medium / 2 / 4 * 4
		nodes := []storage.FlowNode{node("q/R", "")}
		for i := range n {
			c := node(fmt.Sprintf("q/c%d", i), "q/R")
			switch i % 4 {
			case 1:
				c.Priority = 1 + i%3
			case 2:
				c.Delay = time.Second
			case 3:
				c.LIFO = true
			}
			nodes = append(nodes, c)
		}
		b.addFlow(nodes...)
		require.Equal(t, int64(n), b.c.SCard(b.ctx, "bull:q:R:dependencies").Val())
		counts, err := b.Counts(b.ctx, "q", storage.StateWaiting, storage.StatePrioritized, storage.StateDelayed, storage.StateWaitingChildren)
		require.NoError(t, err)
		require.Equal(t, []int{n / 2, n / 4, n / 4, 1}, counts)
		wait := b.list("q", "wait")
		require.Equal(t, []string{fmt.Sprintf("c%d", n-1), "c3", "c0", fmt.Sprintf("c%d", n-4)}, []string{wait[0], wait[n/4-1], wait[n/4], wait[n/2-1]})
		delayed := b.c.ZRangeWithScores(b.ctx, "bull:q:delayed", 0, -1).Val()
		require.Equal(t, redis.Z{Member: "c2", Score: (flowTime + 1000) * 4096}, delayed[0])
		require.Equal(t, (flowTime+1000)*4096+float64(min(n/4-1, 4095)), delayed[n/4-1].Score)
		require.Equal(t, fmt.Sprint(n+1), b.do("get", "bull:q:id"))
	})
}

// A server that forgot the script gets it again; nothing is added twice.
func TestC009FlowAfterScriptsWereForgotten(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	s, err := New(c)
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, c.ScriptFlush(t.Context()).Err())
		at := func(name string) string { return fmt.Sprintf("q/%s%d", name, i) }
		added, err := s.AddFlow(t.Context(), time.Now(), []storage.FlowNode{
			node(at("r"), ""), node(at("m"), at("r")), node(at("l"), at("m")), node(at("l2"), at("m")),
		})
		require.NoError(t, err)
		require.Len(t, added, 4)
		require.Equal(t, int64(2*(i+1)), c.LLen(t.Context(), "bull:q:wait").Val())
		require.Equal(t, int64(2*(i+1)), c.ZCard(t.Context(), "bull:q:waiting-children").Val())
	}
}

// On a cluster all queues of a flow are in one slot, or nothing is written.
func TestC087FlowOnACluster(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	s, err := New(c)
	require.NoError(t, err)
	for want, nodes := range map[string][]storage.FlowNode{
		`its queue "bull:{b}x" is not in the same slot of the cluster as "bull:{a}x"`: {node("{a}x/R", ""), node("{a}y/c", "{a}x/R"), node("{b}x/c", "{a}x/R")},
		`the parent's queue "bull:{b}" has another hash tag`:                          {node("{a}/R", "{b}/outer")},
		`queue "bull:plain"`: {node("plain/R", "")},
	} {
		_, err := s.AddFlow(t.Context(), time.Now(), nodes)
		require.ErrorIs(t, err, ErrNoHashTag)
		require.ErrorContains(t, err, want)
		var whole *storage.FlowError
		require.ErrorAs(t, err, &whole)
		require.Equal(t, len(nodes)-1, whole.Node)
	}
	require.Empty(t, c.Keys(t.Context(), "*").Val(), "nothing is written")

	for _, nodes := range [][]storage.FlowNode{
		{node("{a}x/R", ""), node("{a}y/c", "{a}x/R")},
		{node("{a}x/R2", "{a}x/R"), node("y{a}/c", "{a}x/R2")},
	} {
		require.NoError(t, c.ForEachMaster(t.Context(), func(ctx context.Context, m *redis.Client) error { return m.ScriptFlush(ctx).Err() }))
		_, err := s.AddFlow(t.Context(), time.Now(), nodes)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"c"}, c.LRange(t.Context(), "bull:y{a}:wait", 0, -1).Val())
	records, err := s.ReadFlow(t.Context(), -1, "bull:{a}x:R", "bull:y{a}:c")
	require.NoError(t, err)
	require.Equal(t, storage.StateWaitingChildren, records[0].State)
	require.Len(t, records[0].Children, 2)
	require.Equal(t, storage.StateWaiting, records[1].State)
}

// When the answer is lost it is not known whether the flow is stored: it is
// not sent again.
func TestLostAnswerToAFlow(t *testing.T) {
	t.Parallel()
	srv := testredis.Shared(t)
	link := testredis.Proxy(t, srv.Addr())
	c := srv.Client(t)
	for name, s := range clients(t, link.Addr(), srv.DB()) {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, c.FlushDB(t.Context()).Err())
			require.NoError(t, s.Ping(t.Context()))
			_, err := s.AddFlow(t.Context(), time.Now(), []storage.FlowNode{node("q/x", "")}) // the script is known
			require.NoError(t, err)
			link.DropReply("evalsha")
			added, err := s.AddFlow(t.Context(), time.Now(), []storage.FlowNode{node("q/R", ""), node("q/c", "q/R")})
			require.ErrorIs(t, err, storage.ErrUncertain)
			require.Nil(t, added)
			require.Equal(t, "3", c.Get(t.Context(), "bull:q:id").Val(), "sent once")
			once := node("q/R", "")
			once.Once = true
			added, err = s.AddFlow(t.Context(), time.Now(), []storage.FlowNode{once, node("q/another", "q/R")})
			require.NoError(t, err)
			require.Equal(t, []storage.Added{{ID: "R", Existing: true, Name: "n"}, {}}, added)
			require.Equal(t, int64(0), c.Exists(t.Context(), "bull:q:another").Val())
		})
	}
}
