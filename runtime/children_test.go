package bullmq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/runner"
)

func TestPlaceOf(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	for in, want := range map[string][2]string{
		"logo.0." + id: {"logo", "0"}, "pages.12." + id: {"pages", "12"}, "texts.a.b." + id: {"texts", "a.b"},
		"texts.." + id: {"texts", ""}, "texts.%C3%A9%3A+%25." + id: {"texts", "é: %"}, "a-b_c.x." + id: {"a-b_c", "x"},
	} {
		slot, at, ok := placeOf(in)
		require.True(t, ok, in)
		require.Equal(t, want, [2]string{slot, at}, in)
	}
	for _, in := range []string{"", "1", id, "logo", "logo." + id, "logo.0.", "logo.0.x", "1x.0." + id, ".0." + id, "texts.%zz." + id, "logo.0.{" + id + "}", "logo.0.urn:uuid:" + id} {
		_, _, ok := placeOf(in)
		require.False(t, ok, in)
	}
	s := KeyedChildren("texts", map[string]*Node{"é: %.": {}, "": {}})
	for i := range s.nodes {
		n := &Node{place: s.place(i)}
		placed := n.placed(id)
		require.NotContains(t, placed, ":")
		slot, at, ok := placeOf(placed)
		require.True(t, ok, placed)
		require.Equal(t, []string{"texts", s.keys[i]}, []string{slot, at})
	}
}

// placed makes Children of keys, with the names of jobs that still exist.
func placedChildren(t *testing.T, slots []SlotSpec, names map[string]string, keys ...string) *ChildSet {
	t.Helper()
	c := &ChildSet{slots: slots}
	for _, key := range keys {
		child := Child{Key: key, Kind: ChildCompleted, Value: []byte(`"` + key + `"`)}
		child.Queue, child.ID = splitKey(key)
		c.list = append(c.list, child)
	}
	require.NoError(t, c.place(func(keys []string) ([]string, error) {
		out := make([]string, len(keys))
		for i, key := range keys {
			out[i] = names[key]
		}
		return out, nil
	}))
	return c
}

// Children of a program that knows no slots are placed by the names of their
// jobs, or if these are gone by their queues.
func TestPlacingByName(t *testing.T) {
	t.Parallel()
	slots := []SlotSpec{
		{Name: "pages", Kind: SlotMany, Queue: "q", Job: "page", Aliases: []string{"sheet"}},
		{Name: "logo", Queue: "q", Job: "logo"},
		{Name: "texts", Kind: SlotKeyed, Queue: "words", Job: "text"},
	}
	id := uuid.NewString()
	c := placedChildren(t, slots, map[string]string{
		"bull:q:1": "page", "bull:q:2": "sheet", "bull:q:3": "logo", "bull:q:4": "unrelated", "a:b:words:5": "text", "bull:page:6": "page",
	}, "bull:q:2", "bull:q:1", "bull:q:3", "bull:q:4", "a:b:words:5", "bull:words:gone", "bull:q:pages.10."+id, "bull:q:pages.9."+id, "bull:page:6", "bull:q:other.0."+id)
	var pages []string
	var logo string
	var texts map[string]string
	require.ErrorContains(t, ReadMany(c, "pages", &pages), `child "bull:q:other.0.`+id+`" may be in any of the slots pages, logo`)

	names := map[string]string{"bull:q:1": "page", "bull:q:2": "sheet", "bull:q:3": "logo", "bull:q:4": "unrelated", "bull:words:5": "text"}
	c = placedChildren(t, slots, names, "bull:q:2", "bull:q:1", "bull:q:3", "bull:q:4", "bull:words:5", "bull:words:gone", "bull:q:pages.10."+id, "bull:q:pages.9."+id)
	require.NoError(t, errors.Join(ReadMany(c, "pages", &pages), ReadOne(c, "logo", &logo), ReadKeyed(c, "texts", &texts)))
	require.Equal(t, []string{"bull:q:pages.9." + id, "bull:q:pages.10." + id, "bull:q:1", "bull:q:2"}, pages)
	require.Equal(t, "bull:q:3", logo)
	require.Equal(t, map[string]string{"5": "bull:words:5", "gone": "bull:words:gone"}, texts)
	require.Len(t, c.All(), 8)
	require.Equal(t, DependencyCounts{Processed: 8}, c.Counts())

	twins := []SlotSpec{{Name: "left", Queue: "q", Job: "page"}, {Name: "right", Queue: "q", Job: "page"}}
	c = placedChildren(t, twins, names, "bull:q:1", "bull:q:left.0."+id)
	require.ErrorContains(t, ReadOne(c, "right", &logo), `child "bull:q:1" may be in any of the slots left, right, which are for the same task: whoever adds it says which by an id such as "right.0.<uuid>"`)
	require.ErrorContains(t, ReadOne(c, "up", &logo), `the task declares no slot "up"`)
}

// Children that were added in a slot which has another name by now keep their
// places.
func TestSlotThatWasRenamed(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	slots := []SlotSpec{{Name: "sheets", Kind: SlotMany, Queue: "q", Job: "page"}, {Name: "words", Kind: SlotKeyed, Queue: "q", Job: "text"}}
	names := map[string]string{}
	var keys []string
	for _, at := range []string{"pages.10", "pages.2", "texts.b", "texts.a%3A1"} {
		key := "bull:q:" + at + "." + id
		keys, names[key] = append(keys, key), map[bool]string{true: "page", false: "text"}[strings.HasPrefix(at, "pages")]
	}
	c := placedChildren(t, slots, names, keys...)
	var sheets []string
	var words map[string]string
	require.NoError(t, errors.Join(ReadMany(c, "sheets", &sheets), ReadKeyed(c, "words", &words)))
	require.Equal(t, []string{keys[1], keys[0]}, sheets)
	require.Equal(t, map[string]string{"b": keys[2], "a:1": keys[3]}, words)
}

// What a slot gives, by what became of its child and by the type asked for.
func TestReadingResults(t *testing.T) {
	t.Parallel()
	var waits *runner.Deferral
	id := uuid.NewString()
	child := func(kind ChildKind) *ChildSet {
		return &ChildSet{list: []Child{{Key: "bull:q:s.0." + id, Kind: kind, Value: []byte("7"), Reason: "boom", Slot: "s", At: "0"}}}
	}
	var n int
	var o Outcome[int]
	require.NoError(t, ReadOne(child(ChildCompleted), "s", &n))
	require.Equal(t, 7, n)
	require.NoError(t, ReadOne(child(ChildCompleted), "s", &o))
	require.Equal(t, Outcome[int]{Value: 7}, o)

	err := ReadOne(child(ChildPending), "s", &n)
	require.ErrorAs(t, err, &waits)
	require.ErrorIs(t, err, ErrChildPending)
	require.ErrorAs(t, ReadOne(child(ChildPending), "s", &o), &waits)
	early := child(ChildPending)
	early.slots = []SlotSpec{{Name: "s", OnFail: OnFailContinue}}
	require.NoError(t, ReadOne(early, "s", &o))
	require.ErrorIs(t, o.Err, ErrChildPending)
	require.ErrorAs(t, ReadOne(early, "s", &n), &waits, "a result is asked for that is still to come")

	for _, kind := range []ChildKind{ChildIgnored, ChildFailed} {
		err = ReadOne(child(kind), "s", &n)
		require.ErrorIs(t, err, ErrJobFailed)
		require.True(t, IsUnrecoverable(err))
		require.ErrorContains(t, err, "boom")
		require.NoError(t, ReadOne(child(kind), "s", &o))
		var failed *ChildError
		require.ErrorAs(t, o.Err, &failed)
		require.Equal(t, "boom", failed.Reason)
		require.Zero(t, o.Value, "of an earlier reading nothing is left")
	}
	require.EqualError(t, &ChildError{Key: "k"}, `child "k" failed`)

	none := &ChildSet{}
	require.ErrorIs(t, ReadOne(none, "s", &n), ErrNoChild)
	require.NoError(t, ReadOne(none, "s", &o))
	require.ErrorIs(t, o.Err, ErrNoChild)
	var p *int
	require.NoError(t, ReadOptional(none, "s", &p))
	require.Nil(t, p)
	require.NoError(t, ReadOptional(child(ChildCompleted), "s", &p))
	require.Equal(t, 7, *p)
	two := &ChildSet{list: append(child(ChildCompleted).list, child(ChildCompleted).list...)}
	require.ErrorContains(t, ReadOne(two, "s", &n), `slot "s" has 2 children, not one`)
	var text string
	err = ReadOne(child(ChildCompleted), "s", &text)
	require.ErrorContains(t, err, `slot "s": result of child "bull:q:s.0.`+id+`": at $: a JSON number does not fit string`)
	require.True(t, IsUnrecoverable(err))
	empty := child(ChildCompleted)
	empty.list[0].Value = nil
	require.ErrorContains(t, ReadOptional(empty, "s", &p), "the result is null")
}

// Children added while their parent runs, in steps: each is added once, however
// often the parent runs, and what is removed when it is done is not added again.
func TestAddChildrenWhileRunning(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]*Retention{"kept": nil, "removed": KeepNone()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := flowKit(t)
			var ran, runs atomic.Int32
			k.start(childQueue, func(w *Worker) {
				childTask.Handle(w, func(_ context.Context, job *Job[string]) (string, error) {
					ran.Add(1)
					return job.Data + "!", nil
				})
			}, Concurrency(3))
			task := NewTask[int, string](Spec{Queue: parentQueue, Name: "parent", Attempts: 3, Slots: []SlotSpec{
				{Name: "first", Kind: SlotMany, Queue: "children", Job: "child"},
				{Name: "second", Kind: SlotKeyed, Queue: "children", Job: "child"},
			}}, nil)
			k.start(parentQueue, func(w *Worker) {
				task.Handle(w, func(ctx context.Context, job *Job[int]) (string, error) {
					runs.Add(1)
					var nodes []*Node
					for i := range job.Data {
						nodes = append(nodes, childTask.Node(fmt.Sprint(i), KeepCompleted(keep)))
					}
					if err := job.AddChildren(ctx, "split", ManyChildren("first", nodes)); err != nil {
						return "", err
					}
					first, err := ChildResults[string](ctx, job, "first")
					if err != nil {
						return "", err
					}
					joined := childTask.Node(strings.Join(first, ""), KeepCompleted(keep))
					if err := job.AddChildren(ctx, "join", KeyedChildren("second", map[string]*Node{"all": joined})); err != nil {
						return "", err
					}
					c, err := job.Children(ctx)
					if err != nil {
						return "", err
					}
					var second map[string]string
					if err := ReadKeyed(c, "second", &second); err != nil {
						return "", err
					}
					if job.Attempt == 1 {
						return "", errors.New("once more, with all children there")
					}
					return second["all"], nil
				})
			})
			h, err := task.Add(k.ctx, k.client, 3)
			require.NoError(t, err)
			require.Equal(t, "0!1!2!!", value(k, h))
			require.Equal(t, int32(4), ran.Load(), "each child ran once")
			require.GreaterOrEqual(t, runs.Load(), int32(2))
			require.Equal(t, DependencyCounts{Processed: 4}, k.countsOf("parents", h.ID))
		})
	}
}

// A worker that vanishes after it added children and before that was noted
// leaves them to the next one, which adds none of them again.
func TestAddChildrenAgain(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	h, err := parentTask.Add(k.ctx, k.client, 1)
	require.NoError(t, err)
	m, err := NewManual(k.client, "parents")
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Close() })
	job, err := m.Take(k.ctx)
	require.NoError(t, err)
	mid := childTask.NodeWith("mid", []Slot{OneChild("leaf", childTask.Node("leaf"))})
	slots := []Slot{ManyChildren("a", []*Node{childTask.Node("x", KeepCompleted(KeepNone())), mid})}
	require.NoError(t, job.addChildren(k.ctx, "s", slots))
	keys := func() []string { return k.server.Client(t).Keys(k.ctx, "bull:children:*.*").Val() }
	before := keys()
	require.Len(t, before, 4, "three jobs, and what one waits for")
	require.NoError(t, job.addChildren(k.ctx, "s", slots))
	require.ElementsMatch(t, before, keys())

	k.workChildren()
	k.until("all are done", func() bool { return k.countsOf("parents", h.ID).Processed == 2 })
	done := keys()
	require.NoError(t, job.addChildren(k.ctx, "s", slots))
	require.ElementsMatch(t, done, keys(), "one that is done, and gone, is not added again")
	require.Equal(t, DependencyCounts{Processed: 2}, k.countsOf("parents", h.ID))

	require.NoError(t, job.AddChildren(k.ctx, "other", ManyChildren("a", []*Node{childTask.Node("y")})))
	k.until("another step adds others", func() bool { return k.countsOf("parents", h.ID).Processed == 3 })
}

func TestAddChildrenProblems(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	_, err := reportTask.Add(k.ctx, k.client, report{"x"})
	require.NoError(t, err)
	m, err := NewManual(k.client, "reports")
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Close() })
	taken, err := m.Take(k.ctx)
	require.NoError(t, err)
	job, err := reportTask.Decode(taken)
	require.NoError(t, err)
	before := k.server.Client(t).Keys(k.ctx, "*").Val()
	require.ErrorContains(t, job.AddChildren(k.ctx, "s", OneChild("cover", pageOf(1))), `the task declares no slot "cover"`)
	require.ErrorContains(t, job.AddChildren(k.ctx, "s", OneChild("logo", pageOf(1))), "is for pages/fetch-logo")
	require.ErrorContains(t, job.AddChildren(k.ctx, "s", ManyChildren("pages", []pageNode{pageOf(1), pageOf(2, Priority(-1))})), "priority must be")
	require.ErrorContains(t, job.AddChildren(k.ctx, ""), "a step needs a name")
	require.NoError(t, job.AddChildren(k.ctx, "s", ManyChildren[pageNode]("pages", nil)))
	require.ElementsMatch(t, before, k.server.Client(t).Keys(k.ctx, "*").Val())
	_, err = ChildResults[string](k.ctx, job, "nothing")
	require.ErrorContains(t, err, `the task declares no slot "nothing"`)
	require.NoError(t, m.Finish(k.ctx, taken, nil, nil))
	_, err = job.Children(k.ctx)
	require.ErrorIs(t, err, ErrLockLost)
}

// Children added one by one, by their parent and by another program.
func TestChildrenAddedOneByOne(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	var runs atomic.Int32
	k.start(reportsQueue, func(w *Worker) {
		HandleFlow(reportTask, w, readReport, func(ctx context.Context, job *Job[report], in reportIn) (string, error) {
			if runs.Add(1) == 1 {
				// Its children were there: a late one, and then it waits again.
				if _, err := pageTask.Add(ctx, k.client, page{9}, ChildOf(job.AsParent(OnFailFail))); err != nil {
					return "", err
				}
				return "", WaitForChildren()
			}
			return bind(ctx, job, in)
		})
	})
	h := k.addReport(slotsOf(logoOf()))
	_, err := pageTask.Add(k.ctx, k.client, page{1}, ChildOf(Parent{Queue: "reports", ID: h.ID}), Priority(7))
	require.NoError(t, err)
	_, err = k.client.Queue("pages").Add(k.ctx, "draw-page", page{2}, ChildOf(Parent{Queue: "reports", ID: h.ID}), Delay(time.Millisecond))
	require.NoError(t, err)
	k.start(pagesQueue, func(w *Worker) {
		pageTask.Handle(w, renderPage)
		logoTask.Handle(w, fetchLogo)
	})
	require.Equal(t, "acme: page 1 page 2 page 9, logo", value(k, h))
	require.Equal(t, int32(2), runs.Load())
}

// A parent that would wait for no child runs again at once.
func TestWaitingForNoChildren(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	k.start(parentQueue, func(w *Worker) {
		parentTask.Handle(w, func(_ context.Context, job *Job[int]) (DependencyCounts, error) {
			if job.Starts < 3 {
				return DependencyCounts{}, WaitForChildren()
			}
			return DependencyCounts{Processed: job.Starts}, nil
		})
	})
	h, err := parentTask.Add(k.ctx, k.client, 1)
	require.NoError(t, err)
	require.Equal(t, 3, value(k, h).Processed)
}

// The ids of children are no integers, and have no colon.
func TestC101IdsInFlows(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	_, err := k.client.AddFlows(k.ctx, NewNode("a:b", "x", 1))
	require.ErrorContains(t, err, `queue name "a:b" must not contain a colon`)
	for _, id := range []string{"x:y", "a:b:c", "12"} {
		n := NewNode("q", "x", 1)
		n.Opts.JobID = id
		_, err := k.client.AddFlows(k.ctx, n)
		require.Error(t, err, id)
	}
	k = k.under("a:{b}:c")
	h := k.addReport([]Slot{OneChild("logo", logoOf()), ManyChildren("pages", []pageNode{pageOf(1)})})
	tree, err := k.client.Queue("reports").Flow(k.ctx, h.ID, 0, 0)
	require.NoError(t, err)
	require.Equal(t, "a:{b}:c:reports", tree.Queue)
	for _, c := range tree.Children {
		require.Equal(t, "a:{b}:c:pages", c.Queue)
		require.NotContains(t, c.ID, ":")
		require.NotEmpty(t, c.Name)
	}
}

// C101: a parent is found by the key that its child has of it, and a child by
// the one that its parent has, whatever colons the prefix has.
func TestC101FlowsBelowAPrefixWithColons(t *testing.T) {
	t.Parallel()
	k := flowKit(t).under("a:{b}:c")
	parents, children := k.client.Queue("parents"), k.client.Queue("children")

	id := k.waitingFlow()
	require.NoError(t, children.Remove(k.ctx, "a"))
	require.Equal(t, StateWaitingChildren, k.stateOf("parents", id))
	unlinked, err := children.RemoveChildDependency(k.ctx, "b")
	require.NoError(t, err)
	require.True(t, unlinked)
	require.Equal(t, StateWaiting, k.stateOf("parents", id), "it is released")
	require.NoError(t, children.Remove(k.ctx, "b"))

	id = k.waitingFlow()
	require.NoError(t, parents.RemovePendingChildren(k.ctx, id))
	require.Equal(t, StateUnknown, k.stateOf("children", "a"))
	require.Equal(t, StateWaiting, k.stateOf("parents", id))

	id = k.waitingFlow()
	require.NoError(t, parents.Remove(k.ctx, id, WithChildren()))
	require.Equal(t, StateUnknown, k.stateOf("children", "b"), "it goes with its parent")

	id = k.waitingFlow()
	k.workChildren()
	k.inState("children", "a", StateCompleted)
	k.inState("children", "b", StateCompleted)
	k.inState("parents", id, StateWaiting)
	require.NoError(t, parents.Remove(k.ctx, id))
	id = k.waitingFlow()
	require.Equal(t, StateWaiting, k.stateOf("parents", id), "its children are done already")
	require.Equal(t, DependencyCounts{Processed: 2}, k.countsOf("parents", id))
}

// When its handler returns while the last child finishes, a parent neither
// waits for ever nor loses the result.
func TestWaitingMeetsTheLastChild(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	k.workChildren()
	task := NewTask[int, string](Spec{Queue: parentQueue, Name: "parent"}, nil)
	k.start(parentQueue, func(w *Worker) {
		task.Handle(w, func(ctx context.Context, job *Job[int]) (string, error) {
			if err := job.AddChildren(ctx, "one", OneChild("c", childTask.Node("v"))); err != nil {
				return "", err
			}
			return ChildResult[string](ctx, job, "c")
		})
	}, Concurrency(8))
	handles, err := task.AddMany(k.ctx, k.client, make([]int, 100))
	require.NoError(t, err)
	for _, h := range handles {
		require.Equal(t, "v", value(k, h))
	}
}

func TestQueueReadsChildren(t *testing.T) {
	t.Parallel()
	k := flowKit(t)
	h := k.addReport(slotsOf(logoOf(), pageOf(0), pageOf(1), pageOf(2)))
	_, err := pageTask.Add(k.ctx, k.client, page{3}, ChildOf(Parent{Queue: "reports", ID: h.ID}))
	require.NoError(t, err)
	q := k.client.Queue("reports")
	list, err := q.Children(k.ctx, h.ID)
	require.NoError(t, err)
	var places []string
	for _, c := range list {
		require.Equal(t, ChildPending, c.Kind)
		places = append(places, c.Slot+"/"+c.At)
	}
	require.Equal(t, []string{"/", "logo/0", "pages/0", "pages/1", "pages/2"}, places)
	k.workPages()
	k.until("all are done", func() bool { return k.countsOf("reports", h.ID).Processed == 5 })
	var paged []Child
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		var page []Child
		page, cursor, err = q.ChildrenPage(k.ctx, h.ID, ChildCompleted, cursor, 2)
		require.NoError(t, err)
		paged = append(paged, page...)
	}
	list, err = q.Children(k.ctx, h.ID)
	require.NoError(t, err)
	require.ElementsMatch(t, list, paged)
	require.Equal(t, `"page 2"`, string(list[4].Value))
	_, err = q.Children(k.ctx, "")
	require.Error(t, err)
}
