package bullmq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A family of three generations: an elder waits for a parent, and that for a
// child. The child fails on demand; the others return what became of theirs.
var (
	elderQueue  = &QueueSpec{Name: "elders"}
	parentQueue = &QueueSpec{Name: "parents"}
	childQueue  = &QueueSpec{Name: "children"}

	elderTask  = NewTask[int, DependencyCounts](Spec{Queue: elderQueue, Name: "elder"}, nil)
	parentTask = NewTask[int, DependencyCounts](Spec{Queue: parentQueue, Name: "parent"}, nil)
	childTask  = NewTask[string, string](Spec{Queue: childQueue, Name: "child"}, nil)

	policies = []OnFail{OnFailWait, OnFailFail, OnFailContinue, OnFailIgnore, OnFailRemove}
)

// family works the jobs of all three.
func (k *kit) workChildren() {
	k.start(childQueue, func(w *Worker) {
		childTask.Handle(w, func(_ context.Context, job *Job[string]) (string, error) {
			if job.Data == "fail" && job.Starts == 1 {
				return "", errors.New("boom")
			}
			return job.Data, nil
		})
	})
}

func (k *kit) workParents() {
	count := func(ctx context.Context, job AnyJob) (DependencyCounts, error) {
		c, err := job.active().Children(ctx)
		if err != nil {
			return DependencyCounts{}, err
		}
		return c.Counts(), nil
	}
	k.start(parentQueue, func(w *Worker) {
		parentTask.Handle(w, func(ctx context.Context, job *Job[int]) (DependencyCounts, error) { return count(ctx, job) })
	})
	k.start(elderQueue, func(w *Worker) {
		elderTask.Handle(w, func(ctx context.Context, job *Job[int]) (DependencyCounts, error) { return count(ctx, job) })
	})
}

func (k *kit) stateOf(queue, id string) State {
	k.Helper()
	s, err := k.client.Queue(queue).State(k.ctx, id)
	require.NoError(k, err)
	return s
}

func (k *kit) inState(queue, id string, want State) {
	k.Helper()
	k.until(fmt.Sprintf("job %s of %s is %s", id, queue, want), func() bool { return k.stateOf(queue, id) == want })
}

func (k *kit) countsOf(queue, id string) DependencyCounts {
	k.Helper()
	n, err := k.client.Queue(queue).DependencyCounts(k.ctx, id)
	require.NoError(k, err)
	return n
}

func (k *kit) reasonOf(queue, id string) string {
	k.Helper()
	r, err := k.client.Queue(queue).Job(k.ctx, id)
	require.NoError(k, err)
	return r.FailedReason
}

// The policy of each child is what its record says, for a worker of any kind
// decides by that alone; and what follows is the policy's.
func TestC001Policies(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	parents := map[OnFail]*JobHandle[DependencyCounts]{}
	for _, p := range policies {
		task := NewTask[int, DependencyCounts](parentTask.Spec(), nil)
		h, err := task.AddFlow(k.ctx, k.client, 0, []Slot{
			OneChild("child", childTask.Node("fail", WhenFails(p))),
			OneChild("other", childTask.Node("ok")),
		})
		require.NoError(t, err)
		parents[p] = h
		children, err := k.store.Children(k.ctx, "bull:parents:"+h.ID)
		require.NoError(t, err)
		for _, c := range children {
			_, id := splitKey(c.Key)
			r, err := k.client.Queue("children").Job(k.ctx, id)
			require.NoError(t, err)
			policy := ""
			if strings.HasPrefix(id, "child.") && p != "" {
				policy = `,"` + string(p) + `":true`
			}
			require.JSONEq(t, `{"id":"`+h.ID+`","queueKey":"bull:parents"`+policy+`}`, string(r.Parent))
		}
	}
	k.workChildren()
	k.until("all children are finished", func() bool {
		n, err := k.client.Queue("children").Counts(k.ctx, StateCompleted, StateFailed)
		return err == nil && n[StateCompleted] == 5 && n[StateFailed] == 5
	})
	for p, h := range parents {
		want := map[OnFail]DependencyCounts{
			OnFailWait: {Pending: 1, Processed: 1}, OnFailFail: {Failed: 1, Processed: 1},
			OnFailContinue: {Ignored: 1, Processed: 1}, OnFailIgnore: {Ignored: 1, Processed: 1}, OnFailRemove: {Processed: 1},
		}[p]
		require.Equal(t, want, k.countsOf("parents", h.ID), p)
		if p == OnFailContinue || p == OnFailIgnore {
			page, _, err := k.store.Dependencies(k.ctx, "parents", h.ID, ChildIgnored, 0, 10)
			require.NoError(t, err)
			require.Equal(t, "boom", page[0].Reason, "the bare text of the error")
		}
	}
	k.workParents()
	for _, p := range []OnFail{OnFailContinue, OnFailIgnore, OnFailRemove} {
		require.Equal(t, 1, value(k, parents[p]).Processed)
	}
	_, err := parents[OnFailFail].Result(k.ctx)
	require.ErrorIs(t, err, ErrJobFailed)
	require.Regexp(t, `^child bull:children:child\.0\.[0-9a-f-]+ failed$`, k.reasonOf("parents", parents[OnFailFail].ID))
	require.Equal(t, StateWaitingChildren, k.stateOf("parents", parents[OnFailWait].ID))
}

// C001: only two policies end the wait for other children, which are still to come.
func TestC001PoliciesWithChildrenToCome(t *testing.T) {
	t.Parallel()
	for _, p := range policies {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			k := flowKit(t)
			root := parentTask.Node(0)
			child := childTask.Node("fail", WhenFails(p))
			child.Opts.JobID = "c"
			root.Children = []*Node{child, childTask.Node("later", Delay(time.Hour))}
			handles, err := k.client.AddFlows(k.ctx, root)
			require.NoError(t, err)
			k.workChildren()
			k.inState("children", "c", StateFailed)
			want := StateWaitingChildren
			if p == OnFailFail || p == OnFailContinue {
				want = StateWaiting
			}
			require.Equal(t, want, k.stateOf("parents", handles[0].ID))
		})
	}
}

// A parent whose child fails with it does so whatever it is doing, and its own
// parent is told by its own policy.
func TestC013ParentFailsInEveryState(t *testing.T) {
	t.Parallel()
	for _, state := range []State{StateWaiting, StatePrioritized, StateDelayed, StateWaitingChildren} {
		for _, policy := range policies {
			t.Run(fmt.Sprintf("%s/%s", state, policy), func(t *testing.T) {
				t.Parallel()
				k := flowKit(t)
				elder, parent, child := k.family(state, policy)
				require.Equal(t, state, k.stateOf("parents", parent))
				k.workChildren()
				k.inState("children", child, StateFailed)
				why := "child bull:children:" + child + " failed"
				if state == StateDelayed || state == StateWaitingChildren {
					require.Equal(t, StateWaiting, k.stateOf("parents", parent), "it does not wait for its time, or for others, any more")
				} else {
					require.Equal(t, state, k.stateOf("parents", parent))
				}
				r, err := k.client.Queue("parents").Job(k.ctx, parent)
				require.NoError(t, err)
				require.Equal(t, why, r.Deferred)
				k.workParents()
				k.inState("parents", parent, StateFailed)
				require.Equal(t, why, k.reasonOf("parents", parent))
				k.elderAfter(elder, parent, policy, why)
			})
		}
	}
}

// family adds the three, the parent in the state given, and returns their ids.
func (k *kit) family(state State, policy OnFail) (elder, parent, child string) {
	k.Helper()
	p := parentTask.Node(1, WhenFails(policy))
	p.Opts.JobID = "p"
	c := childTask.Node("fail", WhenFails(OnFailFail))
	c.Opts.JobID = "c"
	switch state {
	case StatePrioritized:
		p.Opts.Priority = 5
	case StateDelayed:
		p.Opts.Delay = time.Hour
	case StateWaitingChildren:
		p.Children = []*Node{c, childTask.Node("later", Delay(time.Hour))}
	}
	e := elderTask.Node(1)
	e.Children = []*Node{p}
	handles, err := k.client.AddFlows(k.ctx, e)
	require.NoError(k, err)
	if state != StateWaitingChildren {
		_, err = childTask.Add(k.ctx, k.client, "fail", JobID("c"), ChildOf(Parent{Queue: "parents", ID: "p", OnFail: OnFailFail}))
		require.NoError(k, err)
	}
	return handles[0].ID, "p", "c"
}

// elderAfter checks what became of the elder when its child failed.
func (k *kit) elderAfter(elder, parent string, policy OnFail, why string) {
	k.Helper()
	switch policy {
	case OnFailWait:
		require.Equal(k, DependencyCounts{Pending: 1}, k.countsOf("elders", elder))
		require.Equal(k, StateWaitingChildren, k.stateOf("elders", elder))
	case OnFailFail:
		k.inState("elders", elder, StateFailed)
		require.Equal(k, "child bull:parents:"+parent+" failed", k.reasonOf("elders", elder))
	case OnFailContinue, OnFailIgnore:
		k.inState("elders", elder, StateCompleted)
		page, _, err := k.store.Dependencies(k.ctx, "elders", elder, ChildIgnored, 0, 10)
		require.NoError(k, err)
		require.Equal(k, why, page[0].Reason)
	case OnFailRemove:
		k.inState("elders", elder, StateCompleted)
		require.Equal(k, DependencyCounts{}, k.countsOf("elders", elder))
	}
}

// A parent that runs is not interrupted: it fails when it returns, whether it
// is done or would wait for the child.
func TestC013RunningParentFails(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]error{"returns": nil, "waits": WaitForChildren()} {
		for _, policy := range policies {
			t.Run(fmt.Sprintf("%s/%s", name, policy), func(t *testing.T) {
				t.Parallel()
				k := flowKit(t)
				k.workChildren()
				k.start(parentQueue, func(w *Worker) {
					parentTask.Handle(w, func(ctx context.Context, job *Job[int]) (DependencyCounts, error) {
						_, err := childTask.Add(ctx, k.client, "fail", JobID("c"), ChildOf(job.AsParent(OnFailFail)))
						if err == nil && end != nil { // there is one to wait for
							_, err = childTask.Add(ctx, k.client, "later", Delay(time.Hour), ChildOf(job.AsParent(OnFailWait)))
						}
						if err != nil {
							return DependencyCounts{}, err
						}
						for ctx.Err() == nil {
							n, err := k.store.DependencyCounts(ctx, "parents", job.ID)
							if err != nil || n.Failed == 1 {
								return n, errors.Join(err, end)
							}
						}
						return DependencyCounts{}, ctx.Err()
					})
				})
				e, p := elderTask.Node(1), parentTask.Node(1, WhenFails(policy), Attempts(3))
				p.Opts.JobID = "p"
				e.Children = []*Node{p}
				handles, err := k.client.AddFlows(k.ctx, e)
				require.NoError(t, err)
				k.inState("parents", "p", StateFailed)
				r, err := k.client.Queue("parents").Job(k.ctx, "p")
				require.NoError(t, err)
				require.Equal(t, "child bull:children:c failed", r.FailedReason)
				require.Equal(t, 1, r.AttemptsMade, "it is not tried again")
				require.Empty(t, r.Deferred)
				k.start(elderQueue, func(w *Worker) {
					elderTask.Handle(w, func(context.Context, *Job[int]) (DependencyCounts, error) { return DependencyCounts{}, nil })
				})
				k.elderAfter(handles[0].ID, "p", policy, "child bull:children:c failed")
			})
		}
	}
}

// What a child's failure means does not depend on what the child is: a job that
// waits, is delayed or has a priority, is retried first, or is itself a parent.
func TestPoliciesByKindOfChild(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(WhenFailing NodeOption) *Node{
		"plain":       func(o NodeOption) *Node { return childTask.Node("fail", o) },
		"prioritized": func(o NodeOption) *Node { return childTask.Node("fail", o, Priority(3)) },
		"delayed":     func(o NodeOption) *Node { return childTask.Node("fail", o, Delay(time.Millisecond)) },
		"removed":     func(o NodeOption) *Node { return childTask.Node("fail", o, KeepFailed(KeepNone())) },
		"a parent": func(o NodeOption) *Node {
			n := childTask.Node("fail", o)
			n.Children = []*Node{childTask.Node("ok")}
			return n
		},
		"failing by its own child": func(o NodeOption) *Node {
			n := childTask.Node("ok", o)
			n.Children = []*Node{childTask.Node("fail", WhenFails(OnFailFail))}
			return n
		},
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := flowKit(t)
			k.workChildren()
			k.workParents()
			for _, policy := range policies {
				root := parentTask.Node(1)
				root.Children = []*Node{kind(WhenFails(policy))}
				handles, err := k.client.AddFlows(k.ctx, root)
				require.NoError(t, err)
				id := handles[0].ID
				switch {
				case policy == OnFailFail:
					k.inState("parents", id, StateFailed)
					require.Equal(t, DependencyCounts{Failed: 1}, k.countsOf("parents", id))
				case policy == OnFailWait && name == "removed":
					// Nobody can retry it: that it is gone releases its parent.
					k.inState("parents", id, StateCompleted)
					require.Equal(t, DependencyCounts{}, k.countsOf("parents", id))
				case policy == OnFailWait:
					k.until("the child has failed", func() bool {
						n, err := k.client.Queue("children").Counts(k.ctx, StateFailed)
						return err == nil && n[StateFailed] > 0
					})
					require.Equal(t, StateWaitingChildren, k.stateOf("parents", id))
				case policy == OnFailRemove:
					k.inState("parents", id, StateCompleted)
					require.Equal(t, DependencyCounts{}, k.countsOf("parents", id))
				default:
					k.inState("parents", id, StateCompleted)
					require.Equal(t, DependencyCounts{Ignored: 1}, k.countsOf("parents", id))
				}
			}
		})
	}
}

// A child that is tried again tells its parent nothing until it has failed for
// good, or is done.
func TestParentWaitsForRetries(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	k.workChildren()
	k.workParents()
	for _, policy := range policies {
		root := parentTask.Node(1)
		root.Children = []*Node{childTask.Node("fail", WhenFails(policy), Attempts(2))}
		handles, err := k.client.AddFlows(k.ctx, root)
		require.NoError(t, err)
		k.inState("parents", handles[0].ID, StateCompleted)
		require.Equal(t, DependencyCounts{Processed: 1}, k.countsOf("parents", handles[0].ID), policy)
	}
}
