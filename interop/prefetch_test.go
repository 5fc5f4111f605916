package interop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// Jobs that a Go worker took ahead and did not get to are, for Node, jobs that
// wait, in their old order, and were never started.
func TestPrefetchedJobsGoBackToNode(t *testing.T) {
	t.Parallel()
	NeedNode(t)
	for _, lib := range []Library{Node6, Node5} {
		t.Run(lib.Version, func(t *testing.T) {
			t.Parallel()
			s := testredis.Shared(t)
			k := newKit(t, s.Client(t))
			queue := name("ahead")
			node, ga := k.on(StartNode(t, lib, s.URL()), queue), k.on(StartGo(t, s.URL()), queue)
			node.addMany(50, "quick", nil) // by which the worker learns that handlers take no time
			held := node.add("slow", nil, nil)
			ids := node.addMany(10, "quick", nil)
			w := ga.work(script{"quick": once(returns("go")), "slow": once(holds(queue))}, Args{"concurrency": 1, "prefetch": 4})
			w.held(queue)
			k.until("jobs taken ahead", func() bool { return node.counts()["active"] > 1 })
			ga.do("worker.pause", Args{"worker": w.key})
			k.until("jobs put back", func() bool { return node.counts()["active"] == 1 })
			require.Equal(t, 10, node.counts()["waiting"])
			for _, id := range ids {
				require.Zero(t, node.job(id).AttemptsStart)
			}

			node.work(script{"quick": once(does("echo"))}, Args{"maxStartedAttempts": 1})
			k.until("all done in Node", func() bool { return node.counts()["completed"] == 60 })
			for i, id := range ids {
				job := node.job(id)
				require.Equal(t, 1, job.AttemptsStart)
				if i > 0 {
					require.GreaterOrEqual(t, job.Finished, node.job(ids[i-1]).Finished, "in order")
				}
			}
			ga.release(queue)
			k.until("the last one", func() bool { return node.state(held) == "completed" })
		})
	}
}
