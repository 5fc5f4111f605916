package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"
)

const flows = "Parents and children"

var flowFeatures = []feature{
	{flows, "a flow added by one side, processed by the other", flowWorked, nil},
	{flows, "each policy for a child that fails (C001)", flowPolicies, nil},
	{flows, "several flows in one call, read back by both sides", flowsReadBack, nil},
	{flows, "a flow added again: its completed child counts as done (C033)", flowAgain, nil},
	{flows, "a flow below a job that is there already", flowBelow, nil},
	{flows, "a failure climbs from level to level", failureClimbs, nil},
	{flows, "a handler adds children and waits for them", childrenAtRunTime, nil},
	{flows, "each policy, children added to a running parent", runTimePolicies, nil},
	{flows, "children read by both sides", dependencies, nil},
	{flows, "a failed child retried by the other side (C061)", retriedChild, nil},
	{flows, "children removed, unlinked, removed with their parent", removedChildren, nil},
	{flows, "a parent that does not exist is refused", noParent, nil},
}

// family is a parent on the cell's queue with children on another queue.
type family struct {
	*cell
	// The children's queue, as both sides see it.
	mine, theirs *on
}

func (c *cell) family() *family {
	c.Helper()
	f := &family{cell: c}
	f.mine, f.theirs = c.pair(name("children"))
	f.mine.listen()
	c.producer.listen()
	return f
}

// childKey is how a parent refers to a child.
func (f *family) childKey(id string) string { return f.base(f.mine.queue) + ":" + id }

// work lets the second side work both queues. A parent waits for its children
// and returns their values.
func (f *family) work() {
	f.Helper()
	f.consumer.work(script{"parent": once(does("waitChildren"), does("childrenValues"))}, nil)
	f.theirs.work(script{
		"good": once(returns("fine")),
		"bad":  {{throws("sorry")}, {returns("better now")}},
	}, nil)
}

func flowWorked(c *cell) {
	f := c.family()
	child := func(name, id string, opts Args) Args {
		opts["jobId"] = id
		return Args{"name": name, "queueName": f.mine.queue, "data": id, "opts": opts}
	}
	tree := ask[Flow](c.producer, "flow.add", Args{"flow": Args{
		"name": "parent", "queueName": c.producer.queue, "data": 1, "opts": Args{"priority": 5},
		"children": []Args{
			child("good", "a", Args{}), child("good", "b", Args{"priority": 2}), child("good", "c", Args{"delay": 1}),
			{"name": "parent", "queueName": c.producer.queue, "children": []Args{child("good", "d", Args{})}},
		},
	}})
	require.Len(c, tree.Children, 4)
	for _, o := range []*on{c.producer, c.consumer} {
		require.Equal(c, "waiting-children", o.state(tree.Job.ID))
	}
	f.work()
	inner := c.producer.queue + ":" + tree.Children[3].Job.ID
	same(c.T, Args{
		f.childKey("a"): "fine", f.childKey("b"): "fine", f.childKey("c"): "fine",
		c.base(inner): Args{f.childKey("d"): "fine"},
	}, c.producer.result(tree.Job.ID))
}

// outcome is what a policy makes of a parent with one failed child.
var outcome = map[string]struct {
	state  string
	counts map[string]int
}{
	"":                          {"waiting-children", map[string]int{"unprocessed": 1}},
	"failParentOnFailure":       {"failed", map[string]int{"failed": 1}},
	"continueParentOnFailure":   {"completed", map[string]int{"ignored": 1}},
	"ignoreDependencyOnFailure": {"completed", map[string]int{"ignored": 1}},
	"removeDependencyOnFailure": {"completed", map[string]int{}},
}

// ended waits for what a policy makes of a parent, and compares what both
// sides read of it.
func (f *family) ended(policy, parent, child string) {
	f.Helper()
	want := outcome[policy]
	f.until(policy+": "+want.state, func() bool { return f.producer.state(parent) == want.state })
	for _, o := range []*on{f.producer, f.consumer} {
		counts := ask[map[string]int](o, "job.getDependenciesCount", Args{"id": parent})
		maps.DeleteFunc(counts, func(_ string, n int) bool { return n == 0 })
		require.Equal(f, want.counts, counts, "%s, read by %s", policy, o.peer.Name)
		ignored := Args{}
		if want.counts["ignored"] > 0 {
			ignored[f.childKey(child)] = "sorry"
		}
		same(f.T, ignored, o.do("job.getIgnoredChildrenFailures", Args{"id": parent}), policy)
		if want.state == "failed" {
			require.Equal(f, "child "+f.childKey(child)+" failed", o.job(parent).FailedReason)
		}
	}
}

func flowPolicies(c *cell) {
	f := c.family()
	f.work()
	for _, policy := range policies {
		opts := Args{}
		if policy != "" {
			opts[policy] = true
		}
		tree := ask[Flow](c.producer, "flow.add", Args{"flow": Args{
			"name": "parent", "queueName": c.producer.queue,
			"children": []Args{{"name": "bad", "queueName": f.mine.queue, "opts": opts}},
		}})
		child := tree.Children[0].Job.ID
		stored := Args{"id": tree.Job.ID, "queueKey": c.base(c.producer.queue)}
		if policy != "" {
			stored[flags[policy]] = true
		}
		same(c.T, stored, f.theirs.job(child).Parent, policy)
		require.Equal(c, "sorry", f.mine.saw("failed", child).Field("failedReason"))
		f.ended(policy, tree.Job.ID, child)
	}
	other := c.again().family()
	other.othersToCome()
}

// othersToCome has a child fail while another one is yet to come: the policy
// says whether the parent goes on waiting.
func (f *family) othersToCome() {
	f.Helper()
	f.consumer.work(script{"parent": once(gives("was run"))}, nil)
	f.theirs.work(script{"bad": once(throws("sorry"))}, nil)
	for _, policy := range policies {
		opts := Args{}
		if policy != "" {
			opts[policy] = true
		}
		tree := ask[Flow](f.producer, "flow.add", Args{"flow": Args{
			"name": "parent", "queueName": f.producer.queue,
			"children": []Args{
				{"name": "bad", "queueName": f.mine.queue, "opts": opts},
				{"name": "good", "queueName": f.mine.queue, "opts": Args{"delay": hour}},
			},
		}})
		parent, child := tree.Job.ID, tree.Children[0].Job.ID
		f.mine.saw("failed", child)
		switch policy {
		case "failParentOnFailure":
			require.Equal(f, "child "+f.childKey(child)+" failed", f.producer.saw("failed", parent).Field("failedReason"))
		case "continueParentOnFailure":
			require.Equal(f, "was run", f.producer.saw("failed", parent).Field("failedReason"))
		default:
			require.Equal(f, "waiting-children", f.producer.state(parent), policy)
			require.Zero(f, f.consumer.job(parent).AttemptsStart, policy)
		}
	}
}

func flowsReadBack(c *cell) {
	f := c.family()
	leaf := func(n int) Args { return Args{"name": "good", "queueName": f.mine.queue, "data": n} }
	flow := func(n int) Args {
		return Args{"name": "parent", "queueName": c.producer.queue, "data": n, "children": []Args{
			leaf(1), {"name": "parent", "queueName": c.producer.queue, "children": []Args{leaf(2), leaf(3)}},
		}}
	}
	trees := ask[[]Flow](c.producer, "flow.addBulk", Args{"flows": []Args{flow(1), flow(2)}})
	require.Len(c, trees, 2)
	f.work()
	for _, tree := range trees {
		c.producer.result(tree.Job.ID)
		mine := ask[Flow](c.producer, "flow.getFlow", Args{"id": tree.Job.ID})
		theirs := ask[Flow](c.consumer, "flow.getFlow", Args{"id": tree.Job.ID})
		require.Equal(c, outline(&mine), outline(&theirs))
		require.Equal(c, outline(&tree), outline(&mine))
	}
}

// outline is a tree with its children in a fixed order.
func outline(f *Flow) string {
	var below []string
	for i := range f.Children {
		below = append(below, outline(&f.Children[i]))
	}
	slices.Sort(below)
	data := string(f.Job.Data)
	if data == "" {
		data = "{}" // what is stored when there is none
	}
	return fmt.Sprintf("%s:%s %s %s %q", f.Queue, f.Job.ID, f.Job.Name, data, below)
}

func flowAgain(c *cell) {
	f := c.family()
	f.work()
	want, _ := json.Marshal(Args{f.childKey("once"): "fine"})
	for n := range 2 {
		c.producer.do("flow.add", Args{"flow": Args{
			"name": "parent", "queueName": c.producer.queue, "opts": Args{"jobId": "report", "removeOnComplete": true},
			"children": []Args{{"name": "good", "queueName": f.mine.queue, "opts": Args{"jobId": "once"}}},
		}})
		done := c.producer.sawAll("completed", n+1)[n]
		require.Equal(c, "report", done.JobID())
		require.JSONEq(c, string(want), string(done.Fields["returnvalue"]))
		require.Equal(c, "unknown", c.consumer.state("report"), "the parent is removed")
	}
	require.Equal(c, 1, f.theirs.job("once").AttemptsStart, "the child ran once")
}

func flowBelow(c *cell) {
	f := c.family()
	parent, release := f.running()
	f.theirs.do("flow.add", Args{"flow": Args{
		"name": "middle", "queueName": f.mine.queue, "opts": Args{"parent": Args{"id": parent, "queue": c.base(c.producer.queue)}},
		"children": []Args{{"name": "good", "queueName": f.mine.queue}},
	}})
	release()
	c.producer.saw("waiting-children", parent)
	f.mine.work(script{"good": once(returns(1)), "middle": once(returns(2))}, nil)
	value := c.producer.result(parent)
	require.Contains(c, string(value), ":2", "%s", value)
}

func failureClimbs(c *cell) {
	f := c.family()
	f.work()
	climb := Args{"failParentOnFailure": true}
	tree := ask[Flow](c.producer, "flow.add", Args{"flow": Args{
		"name": "parent", "queueName": c.producer.queue, "children": []Args{
			{"name": "parent", "queueName": c.producer.queue, "opts": climb, "children": []Args{
				{"name": "bad", "queueName": f.mine.queue, "opts": climb},
			}},
		},
	}})
	middle := tree.Children[0]
	bottom := f.childKey(middle.Children[0].Job.ID)
	top := c.producer.saw("failed", tree.Job.ID)
	require.Equal(c, "child "+c.base(c.producer.queue)+":"+middle.Job.ID+" failed", top.Field("failedReason"))
	require.Equal(c, "child "+bottom+" failed", c.producer.job(middle.Job.ID).FailedReason)
	require.Equal(c, "sorry", f.theirs.job(middle.Children[0].Job.ID).FailedReason)
}

// running has the second side run a parent that holds, then waits for children.
func (f *family) running() (parent string, release func()) {
	f.Helper()
	key := name("hold")
	w := f.consumer.work(script{"parent": once(holds(key), does("waitChildren"), does("childrenValues"))}, nil)
	parent = f.producer.add("parent", nil, nil)
	w.held(key)
	return parent, func() { w.release(key) }
}

func (f *family) addChild(o *on, name, parent string, opts Args) string {
	f.Helper()
	all := Args{"parent": Args{"id": parent, "queue": f.base(f.producer.queue)}}
	maps.Copy(all, opts)
	return o.add(name, nil, all)
}

func childrenAtRunTime(c *cell) {
	f := c.family()
	parent, release := f.running()
	a := f.addChild(f.mine, "good", parent, nil)
	b := f.addChild(f.theirs, "good", parent, Args{"priority": 3})
	release()
	c.producer.saw("waiting-children", parent)
	require.Equal(c, "waiting-children", c.consumer.state(parent))
	f.mine.work(script{"good": once(returns("fine"))}, nil)
	same(c.T, Args{f.childKey(a): "fine", f.childKey(b): "fine"}, c.producer.result(parent))
	job := c.producer.job(parent)
	require.Equal(c, []int{1, 2}, []int{job.AttemptsMade, job.AttemptsStart})
}

func runTimePolicies(c *cell) {
	for _, policy := range policies {
		f := c.family()
		f.cell = c.again()
		opts := Args{}
		if policy != "" {
			opts[policy] = true
		}
		parent, release := f.running()
		child := f.addChild(f.theirs, "bad", parent, opts)
		release()
		f.producer.saw("waiting-children", parent)
		f.mine.work(script{"bad": once(throws("sorry"))}, nil)
		f.mine.saw("failed", child)
		f.ended(policy, parent, child)
	}
}

// again is the cell with other queues.
func (c *cell) again() *cell {
	next := *c
	next.producer, next.consumer = c.pair(name("q"))
	next.producer.listen()
	return &next
}

func dependencies(c *cell) {
	f := c.family()
	parent, release := f.running()
	good, waiting := f.addChild(f.mine, "good", parent, nil), f.addChild(f.mine, "good", parent, Args{"delay": hour})
	ignored := f.addChild(f.theirs, "bad", parent, Args{"ignoreDependencyOnFailure": true})
	failed := f.addChild(f.theirs, "bad", parent, Args{"failParentOnFailure": true})
	f.mine.work(script{"good": once(returns(Args{"a": 1})), "bad": once(throws("sorry"))}, nil)
	f.mine.saw("completed", good)
	f.mine.saw("failed", ignored)
	f.mine.saw("failed", failed)
	for _, o := range []*on{c.producer, c.consumer} {
		same(c.T, Args{
			"processed": Args{f.childKey(good): Args{"a": 1}}, "unprocessed": []string{f.childKey(waiting)},
			"ignored": Args{f.childKey(ignored): "sorry"}, "failed": []string{f.childKey(failed)},
		}, o.do("job.getDependencies", Args{"id": parent}))
		same(c.T, Args{"processed": 1, "unprocessed": 1, "ignored": 1, "failed": 1}, o.do("job.getDependenciesCount", Args{"id": parent}))
		same(c.T, Args{f.childKey(good): Args{"a": 1}}, o.do("job.getChildrenValues", Args{"id": parent}))
		require.Equal(c, "child "+f.childKey(failed)+" failed", o.job(parent).Deferred)
	}
	release()
	c.producer.until("the parent has failed", func() bool { return c.producer.state(parent) == "failed" })
}

func retriedChild(c *cell) {
	for _, policy := range policies {
		f := c.family()
		f.cell = c.again()
		opts := Args{}
		if policy != "" {
			opts[policy] = true
		}
		parent, release := f.running()
		child := f.addChild(f.mine, "bad", parent, opts)
		f.mine.work(script{"bad": {{throws("sorry")}, {returns("better now")}}}, nil)
		f.mine.saw("failed", child)
		f.theirs.do("job.retry", Args{"id": child})
		f.mine.saw("completed", child)
		want := Args{"processed": 1, "unprocessed": 0, "ignored": 0, "failed": 0}
		if policy == "removeDependencyOnFailure" {
			want["processed"] = 0 // no trace of it was kept
		}
		for _, o := range []*on{f.producer, f.consumer} {
			same(c.T, want, o.do("job.getDependenciesCount", Args{"id": parent}), policy)
		}
		release()
	}
}

func removedChildren(c *cell) {
	f := c.family()
	parent, release := f.running()
	ids := []string{}
	for _, o := range []*on{f.mine, f.theirs, f.mine, f.theirs} {
		ids = append(ids, f.addChild(o, "good", parent, Args{"delay": hour}))
	}
	pending := func() []string {
		var d struct{ Unprocessed []string }
		require.NoError(c, json.Unmarshal(c.consumer.do("job.getDependencies", Args{"id": parent}), &d))
		slices.Sort(d.Unprocessed)
		return d.Unprocessed
	}
	require.Len(c, pending(), 4)
	f.mine.do("job.remove", Args{"id": ids[0]})
	require.Len(c, pending(), 3)
	require.True(c, ask[bool](f.mine, "job.removeChildDependency", Args{"id": ids[1]}))
	require.Equal(c, "delayed", f.theirs.state(ids[1]))
	require.Empty(c, f.theirs.job(ids[1]).ParentKey)
	require.Len(c, pending(), 2)
	c.producer.do("job.removeUnprocessedChildren", Args{"id": parent})
	require.Empty(c, pending())
	require.Equal(c, "unknown", f.theirs.state(ids[2]))

	last := f.addChild(f.theirs, "good", parent, Args{"delay": hour})
	release()
	c.producer.saw("waiting-children", parent)
	c.producer.do("job.remove", Args{"id": parent, "opts": Args{"removeChildren": true}})
	require.Equal(c, "unknown", c.consumer.state(parent))
	require.Equal(c, "unknown", f.theirs.state(last))
}

func noParent(c *cell) {
	opts := Args{"parent": Args{"id": "no-such-job", "queue": c.base(c.producer.queue)}}
	for _, o := range []*on{c.producer, c.consumer} {
		_, err := o.tryAdd("n", nil, opts)
		require.ErrorContains(c, err, "parent", o.peer.Name)
		require.Empty(c, o.counts())
	}
}
