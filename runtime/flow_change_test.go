package bullmq

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A failed child that is retried is awaited again, and forgotten as a failure,
// whatever the policy; its parent, which has run or failed meanwhile, is
// retried after it.
func TestC061RetriedChildren(t *testing.T) {
	t.Parallel()
	for _, bulk := range []bool{false, true} {
		for _, policy := range policies {
			t.Run(fmt.Sprintf("%v/%s", bulk, policy), func(t *testing.T) {
				t.Parallel()
				k := flowKit(t)
				k.workChildren()
				k.workParents()
				root := parentTask.Node(1)
				child := childTask.Node("fail", WhenFails(policy))
				child.Opts.JobID = "c"
				root.Children = []*Node{child}
				handles, err := k.client.AddFlows(k.ctx, root)
				require.NoError(t, err)
				id := handles[0].ID
				k.inState("children", "c", StateFailed)
				after := StateCompleted
				switch policy {
				case OnFailWait:
					after = StateWaitingChildren
				case OnFailFail:
					after = StateFailed
				}
				k.inState("parents", id, after)

				q := k.client.Queue("children")
				if bulk {
					require.NoError(t, q.RetryAll(k.ctx, StateFailed))
				} else {
					require.NoError(t, q.Retry(k.ctx, "c"))
				}
				k.inState("children", "c", StateCompleted)
				want := DependencyCounts{Processed: 1}
				if policy == OnFailRemove {
					want = DependencyCounts{} // its parent knows nothing of it
				}
				require.Equal(t, want, k.countsOf("parents", id))
				if policy == OnFailFail {
					require.NoError(t, k.client.Queue("parents").Retry(k.ctx, id))
				}
				k.inState("parents", id, StateCompleted)
				require.Equal(t, want, k.countsOf("parents", id))
			})
		}
	}
}

// A failed flow is done again from the leaf up. A parent that is retried before
// its child is done waits for it: the reading of results sees to that.
func TestRetryOfAFailedFlow(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	var hold atomic.Bool
	let := make(chan struct{})
	k.start(childQueue, func(w *Worker) {
		childTask.Handle(w, func(_ context.Context, job *Job[string]) (string, error) {
			if job.Starts == 1 {
				return "", errors.New("boom")
			}
			if hold.Load() {
				<-let
			}
			return "done", nil
		})
	})
	spec := parentTask.Spec()
	spec.Slots = []SlotSpec{{Name: "only", Queue: "children", Job: "child", OnFail: OnFailFail}}
	task := NewTask[int, string](spec, nil)
	var runs atomic.Int32
	k.start(parentQueue, func(w *Worker) {
		task.Handle(w, func(ctx context.Context, job *Job[int]) (string, error) {
			runs.Add(1)
			return ChildResult[string](ctx, job, "only")
		})
	})
	h, err := task.AddFlow(k.ctx, k.client, 1, []Slot{OneChild("only", childTask.Node("x"))})
	require.NoError(t, err)
	k.inState("parents", h.ID, StateFailed)
	require.Zero(t, runs.Load(), "a parent that fails because of a child is not run")

	require.NoError(t, k.client.Queue("parents").Retry(k.ctx, h.ID))
	k.until("the parent failed again", func() bool { return runs.Load() == 1 && k.stateOf("parents", h.ID) == StateFailed })
	require.Regexp(t, `child "bull:children:only.*" failed`, k.reasonOf("parents", h.ID), "its child has still failed")

	hold.Store(true)
	tree, err := k.client.Queue("parents").Flow(k.ctx, h.ID, 0, 0)
	require.NoError(t, err)
	require.NoError(t, k.client.Queue("children").Retry(k.ctx, tree.Children[0].ID))
	require.NoError(t, k.client.Queue("parents").Retry(k.ctx, h.ID))
	k.until("the parent waits", func() bool { return runs.Load() == 2 && k.stateOf("parents", h.ID) == StateWaitingChildren })
	close(let)
	require.Equal(t, "done", value(k, h))
	require.Equal(t, int32(3), runs.Load())
	r, err := k.client.Queue("parents").Job(k.ctx, h.ID)
	require.NoError(t, err)
	require.Equal(t, 3, r.AttemptsMade, "waiting counts no attempt")
}

// A completed child that is run again has its parent wait for it, and its new
// result counts.
func TestRetryOfACompletedChild(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	k.workChildren()
	root := parentTask.Node(1)
	child := childTask.Node("x")
	child.Opts.JobID = "c"
	root.Children = []*Node{child, childTask.Node("later", Delay(time.Hour))}
	handles, err := k.client.AddFlows(k.ctx, root)
	require.NoError(t, err)
	k.inState("children", "c", StateCompleted)
	require.Equal(t, DependencyCounts{Pending: 1, Processed: 1}, k.countsOf("parents", handles[0].ID))
	q := k.client.Queue("children")
	require.NoError(t, q.Pause(k.ctx))
	require.NoError(t, q.RetryWith(k.ctx, "c", RetryRequest{State: StateCompleted}))
	require.Equal(t, DependencyCounts{Pending: 2}, k.countsOf("parents", handles[0].ID))
	require.NoError(t, q.Resume(k.ctx))
	k.inState("children", "c", StateCompleted)
	require.Equal(t, DependencyCounts{Pending: 1, Processed: 1}, k.countsOf("parents", handles[0].ID))
}

// waitingFlow adds a parent with two children that wait, and returns its id.
func (k *kit) waitingFlow(opts ...NodeOption) string {
	k.Helper()
	root := parentTask.Node(1, opts...)
	for _, id := range []string{"a", "b"} {
		c := childTask.Node(id)
		c.Opts.JobID = id
		root.Children = append(root.Children, c)
	}
	handles, err := k.client.AddFlows(k.ctx, root)
	require.NoError(k, err)
	return handles[0].ID
}

// Children that are taken away are not waited for any more. A parent that is
// let go so goes where its own options say.
func TestTakingChildrenAway(t *testing.T) {
	t.Parallel()
	ways := map[string]func(k *kit, id string) error{
		"remove": func(k *kit, id string) error { return k.client.Queue("children").Remove(k.ctx, id) },
		"remove child dependency": func(k *kit, id string) error {
			ok, err := k.client.Queue("children").RemoveChildDependency(k.ctx, id)
			require.True(k, ok)
			return err
		},
		"clean": func(k *kit, id string) error {
			_, err := k.client.Queue("children").Clean(k.ctx, StateWaiting, 0, 1)
			return err
		},
	}
	for name, take := range ways {
		for state, opts := range map[State][]NodeOption{
			StateWaiting: nil, StatePrioritized: {Priority(3)}, StateDelayed: {Delay(time.Hour)},
		} {
			t.Run(fmt.Sprintf("%s/%s", name, state), func(t *testing.T) {
				t.Parallel()
				k := flowKit(t)
				id := k.waitingFlow(opts...)
				require.NoError(t, take(k, "a"))
				require.Equal(t, StateWaitingChildren, k.stateOf("parents", id))
				require.NoError(t, take(k, "b"))
				require.Equal(t, state, k.stateOf("parents", id))
				require.Equal(t, DependencyCounts{}, k.countsOf("parents", id))
			})
		}
	}
}

func TestUnlinkedChildRuns(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	id := k.waitingFlow()
	q := k.client.Queue("children")
	ok, err := q.RemoveChildDependency(k.ctx, "a")
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = q.RemoveChildDependency(k.ctx, "a")
	require.NoError(t, err)
	require.False(t, ok)
	_, err = q.RemoveChildDependency(k.ctx, "nobody")
	require.ErrorIs(t, err, ErrJobNotFound)
	k.workChildren()
	k.inState("children", "a", StateCompleted)
	k.inState("parents", id, StateWaiting)
	require.Equal(t, DependencyCounts{Processed: 1}, k.countsOf("parents", id))
	r, err := q.Job(k.ctx, "a")
	require.NoError(t, err)
	require.Empty(t, r.ParentKey)
	require.Empty(t, r.Parent)
}

// A parent is removed with its children or without; what is left runs by itself.
func TestRemovingParents(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	parents, children := k.client.Queue("parents"), k.client.Queue("children")
	id := k.waitingFlow()
	require.NoError(t, parents.Remove(k.ctx, id, WithChildren()))
	require.Equal(t, StateUnknown, k.stateOf("parents", id))
	counts, err := children.Counts(k.ctx, StateWaiting)
	require.NoError(t, err)
	require.Zero(t, counts[StateWaiting])

	id = k.waitingFlow()
	require.NoError(t, parents.Remove(k.ctx, id))
	k.workChildren()
	k.inState("children", "a", StateCompleted)
	k.inState("children", "b", StateCompleted)
	for _, key := range k.server.Client(t).Keys(k.ctx, "bull:parents:*").Val() {
		require.Contains(t, []string{"bull:parents:id", "bull:parents:meta", "bull:parents:events", "bull:parents:marker"}, key)
	}
}

// A tree of which a worker holds a job is not removed; pending children that
// nobody holds are.
func TestRemovingATreeThatIsWorkedOn(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	id := k.waitingFlow()
	m, err := NewManual(k.client, "children")
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Close() })
	job, err := m.Take(k.ctx)
	require.NoError(t, err)
	require.Equal(t, "a", job.ID)
	parents := k.client.Queue("parents")
	require.ErrorIs(t, parents.Remove(k.ctx, id, WithChildren()), ErrLocked)
	require.Equal(t, DependencyCounts{Pending: 2}, k.countsOf("parents", id))
	require.NoError(t, parents.RemovePendingChildren(k.ctx, id))
	require.Equal(t, DependencyCounts{Pending: 1}, k.countsOf("parents", id))
	require.Equal(t, StateUnknown, k.stateOf("children", "b"))
	require.NoError(t, m.Finish(k.ctx, job, "ok", nil))
	require.Equal(t, StateWaiting, k.stateOf("parents", id))
}

// A parent that a failed child set going may drop the children that are still
// to come; with them it could not complete.
func TestContinueAndDropTheRest(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	task := NewTask[int, string](Spec{Queue: parentQueue, Name: "parent", Attempts: 1, Slots: []SlotSpec{
		{Name: "tries", Kind: SlotMany, Queue: "children", Job: "child", OnFail: OnFailContinue},
	}}, nil)
	k.start(parentQueue, func(w *Worker) {
		HandleFlow(task, w, func(c *ChildSet) (in []Outcome[string], err error) {
			err = ReadMany(c, "tries", &in)
			return in, err
		}, func(ctx context.Context, job *Job[int], in []Outcome[string]) (string, error) {
			text := ""
			for _, o := range in {
				switch _, err := o.Get(); {
				case errors.Is(err, ErrChildPending):
					text += "pending "
				case errors.Is(err, ErrJobFailed):
					text += "failed "
				}
			}
			if job.Data == 1 {
				return text, nil // and still has a child to come
			}
			return text, k.client.Queue("parents").RemovePendingChildren(ctx, job.ID)
		})
	})
	k.workChildren()
	slots := func() []Slot {
		return []Slot{ManyChildren("tries", []*Node{childTask.Node("later", Delay(time.Hour)), childTask.Node("fail")})}
	}
	h, err := task.AddFlow(k.ctx, k.client, 0, slots())
	require.NoError(t, err)
	require.Equal(t, "pending failed ", value(k, h))
	h, err = task.AddFlow(k.ctx, k.client, 1, slots())
	require.NoError(t, err)
	_, err = h.Result(k.ctx)
	require.ErrorContains(t, err, ErrPendingChildren.Error())
}

// Drain takes a waiting child and, with it, a parent of the same queue that
// waits for it alone.
func TestDrainOfAFlow(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	root := childTask.Node("root")
	root.Children = []*Node{childTask.Node("a"), childTask.Node("b")}
	_, err := k.client.AddFlows(k.ctx, root)
	require.NoError(t, err)
	id := k.waitingFlow()
	require.NoError(t, k.client.Queue("children").Drain(k.ctx, WithDelayed()))
	counts, err := k.client.Queue("children").Counts(k.ctx)
	require.NoError(t, err)
	for s, n := range counts {
		require.Zero(t, n, s)
	}
	require.Equal(t, StateWaiting, k.stateOf("parents", id), "one of another queue is let go")
}
