package redisq

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Flows all of whose jobs are new are added a short way. One job more that is
// there already, in the same call or in one of its own, makes no difference to
// the others.
func TestAddFlowOfNewJobsEqualsTheLongWay(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) *testredis.Server{"redis": testredis.Any, "in-process": testredis.Mini} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			short, long := start(t), start(t)
			for seed := range uint64(60) {
				rnd := rand.New(rand.NewPCG(seed, 11))
				nodes, last := randomFlow(rnd), node("q/there", "")
				before := vectors.Keyspace{"bull:q:there": hashEntry("name", "n"), "bull:p:meta": hashEntry("paused", "1")}
				want := flowState(t, short, before, nodes, []storage.FlowNode{last})
				got := flowState(t, long, before, append(nodes[:len(nodes):len(nodes)], last))
				require.Empty(t, vectors.Diff(want, got), "seed %d", seed)
			}
		})
	}
}

// flowState is what calls that add flows leave.
func flowState(t *testing.T, srv *testredis.Server, before vectors.Keyspace, calls ...[]storage.FlowNode) vectors.Keyspace {
	t.Helper()
	ctx := context.Background()
	c := redis.NewClient(srv.Options())
	defer func() { _ = c.Close() }()
	require.NoError(t, c.FlushDB(ctx).Err())
	require.NoError(t, vectors.Apply(ctx, c, before))
	s, err := New(c)
	require.NoError(t, err)
	for _, nodes := range calls {
		_, err := s.AddFlow(ctx, time.UnixMilli(flowTime), nodes)
		require.NoError(t, err)
	}
	state, err := vectors.Snapshot(ctx, c)
	require.NoError(t, err)
	return state
}

// randomFlow makes flows on two queues, most of whose neighbours are alike.
func randomFlow(rnd *rand.Rand) []storage.FlowNode {
	var nodes []storage.FlowNode
	for i := range 1 + rnd.IntN(60) {
		n := node(fmt.Sprintf("%s/j%d", oneOf(rnd, "q", "q", "q", "p"), i), "")
		if i > 0 && rnd.IntN(4) > 0 {
			last := nodes[i-1]
			last.ID = n.ID
			nodes = append(nodes, last)
			continue
		}
		if i > 0 && rnd.IntN(4) > 0 {
			p := nodes[rnd.IntN(i)]
			n.Parent = &storage.Parent{ID: p.ID, Queue: p.Queue, OnFail: oneOf(rnd, storage.OnFailWait, storage.OnFailFail, storage.OnFailIgnore)}
		}
		if rnd.IntN(4) == 0 {
			n.Timestamp = n.Timestamp.Add(time.Millisecond)
		}
		switch rnd.IntN(6) {
		case 0:
			n.Delay = time.Minute
		case 1:
			n.Priority = 3
		case 2:
			n.LIFO = true
		case 3:
			n.Once = true
		}
		nodes = append(nodes, n)
	}
	return nodes
}
