package interop

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// TestScheduleSetsWithNode: Node works and reads the schedules that a Go program
// declares, and has schedules of its own on the same queue, which stay.
func TestScheduleSetsWithNode(t *testing.T) {
	eachTypedFlow(t, func(f *typedFlow) {
		const owner = "example.com/app/tasks"
		node := f.on(f.node, name("ensured"))
		q := f.client.Queue(node.queue)
		tick := bullmq.NewTask[int, string](bullmq.Spec{Queue: &bullmq.QueueSpec{Name: node.queue}, Name: "tick", Attempts: 3}, nil)
		one := func() (int, error) { return 1, nil }
		often := tick.DeclareSchedule("often", bullmq.ScheduleSpec{Every: 100 * time.Millisecond}, one)
		yearly := tick.DeclareSchedule("yearly", bullmq.ScheduleSpec{Cron: "0 0 1 1 *", TZ: "Europe/Rome", Limit: 5}, one)
		taken := tick.DeclareSchedule("taken", bullmq.ScheduleSpec{Cron: "0 0 1 1 *"}, one)
		set := bullmq.NewScheduleSet(owner, often, yearly, taken)
		require.NoError(f, set.Ensure(f.ctx, f.client))

		s := node.scheduler("yearly")
		require.Equal(f, []any{"tick", "0 0 1 1 *", "Europe/Rome", 5}, []any{s.Name, s.Pattern, s.TZ, s.Limit})
		require.EqualValues(f, 3, s.Template.Opts["attempts"])
		list := ask[[]json.RawMessage](node, "scheduler.list", Args{"start": 0, "end": -1, "asc": true})
		require.Len(f, list, 3)
		for _, entry := range list {
			require.NotContains(f, string(entry), "gen:", "what is ours alone is not shown")
		}

		node.listen()
		w := node.work(script{"tick": once(does("echo"))}, nil)
		for _, id := range node.completed("often", 4) {
			same(f.T, 1, node.job(id).Data)
		}
		require.NoError(f, set.Ensure(f.ctx, f.client), "a Go program starts anew while Node works")
		node.completed("often", 7)
		w.close()
		info, err := q.Schedule(f.ctx, "often")
		require.NoError(f, err)
		require.Equal(f, owner, info.Owner, "it is ours still, after Node went on with it")
		require.GreaterOrEqual(f, info.Iterations, 7)

		// Node stores one of its own, and one under an id of ours.
		node.upsert("nodes", Args{"every": 3600_000}, "tick", 2, nil)
		node.upsert("taken", Args{"pattern": "0 0 1 2 *", "tz": "UTC"}, "tick", 2, nil)
		pruned, err := bullmq.NewScheduleSet(owner, yearly).Prune(f.ctx, f.client)
		require.NoError(f, err)
		require.Equal(f, []bullmq.ScheduleRef{{Queue: node.queue, ID: "often"}}, pruned)
		for id, there := range map[string]bool{"often": false, "yearly": true, "taken": true, "nodes": true} {
			require.Equal(f, there, node.scheduler(id) != nil, id)
		}

		// A declared id that Node took is the program's again when it is ensured.
		require.NoError(f, bullmq.NewScheduleSet(owner, yearly, taken).Ensure(f.ctx, f.client))
		require.Equal(f, "0 0 1 1 *", node.scheduler("taken").Pattern)
		same(f.T, 1, node.job(fmt.Sprintf("repeat:taken:%d", node.scheduler("taken").Next)).Data)
	})
}
