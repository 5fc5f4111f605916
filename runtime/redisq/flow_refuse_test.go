package redisq

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// A flow of which one job is refused leaves everything as it was.
func TestAddFlowAllOrNone(t *testing.T) {
	t.Parallel()
	dedup := func(n *storage.FlowNode) { n.Dedup = &storage.Dedup{ID: "d"} }
	id := func(id string) func(*storage.FlowNode) { return func(n *storage.FlowNode) { n.ID = id } }
	queue := func(q string) func(*storage.FlowNode) { return func(n *storage.FlowNode) { n.Queue = q } }
	for name, c := range map[string]struct {
		nodes []storage.FlowNode
		place int
		err   error  // that it is, or
		text  string // that it has
	}{
		"missing outer parent":         {[]storage.FlowNode{node("q/A", ""), node("q/R", "q/nobody"), node("q/c", "q/R")}, 1, storage.ErrNoParent, ""},
		"child of another":             {[]storage.FlowNode{node("q/R", ""), node("q/a", "q/R"), node("q/taken", "q/R")}, 2, storage.ErrOtherParent, ""},
		"root below another":           {[]storage.FlowNode{node("q/taken", "q/lone"), node("q/c", "q/taken")}, 0, storage.ErrOtherParent, ""},
		"child of one made before it":  {[]storage.FlowNode{node("q/ghost", ""), node("q/R", ""), node("q/x", "q/ghost"), node("q/orphan", "q/R")}, 3, storage.ErrOtherParent, ""},
		"the same id twice":            {[]storage.FlowNode{node("q/R", ""), node("q/a", "q/R"), node("q/b", "q/R"), node("q/a", "q/R")}, 3, nil, "another job of the flow has the same id"},
		"the same id on two levels":    {[]storage.FlowNode{node("q/R", ""), node("q/a", "q/R"), node("q/R", "q/a")}, 2, nil, "it stands behind its own child"},
		"its own parent":               {[]storage.FlowNode{node("q/R", "q/R")}, 0, nil, "it stands behind its own child"},
		"parent behind its child":      {[]storage.FlowNode{node("q/a", "q/R"), node("q/R", "")}, 1, nil, "it stands behind its own child"},
		"deduplicated parent":          {[]storage.FlowNode{node("q/R", "", dedup), node("q/a", "q/R")}, 0, nil, "a job with children cannot be deduplicated"},
		"deduplicated child":           {[]storage.FlowNode{node("q/R", ""), node("q/a", "q/R", dedup)}, 1, nil, "and be the child of another"},
		"no id":                        {[]storage.FlowNode{node("q/R", ""), node("q/", "q/R")}, 1, nil, "needs an id"},
		"id with a colon":              {[]storage.FlowNode{node("q/R", ""), node("q/a:b:c", "q/R")}, 1, nil, "must not contain a colon"},
		"id of a marker":               {[]storage.FlowNode{node("q/R", "", id("0"))}, 0, nil, "means a marker"},
		"id of a key of the queue":     {[]storage.FlowNode{node("q/R", ""), node("q/wait", "q/R")}, 1, nil, "the name of one of the queue's own keys"},
		"queue without prefix":         {[]storage.FlowNode{node("q/R", "", queue("q"))}, 0, nil, `the queue's name "q" has no prefix`},
		"queue with an empty prefix":   {[]storage.FlowNode{node("q/R", "", queue(":q"))}, 0, nil, "prefix of queue \":q\" is empty"},
		"queue without a name":         {[]storage.FlowNode{node("q/R", ""), node("q/c", "q/R", queue("bull:"))}, 1, nil, "name is empty"},
		"parent without an id":         {[]storage.FlowNode{node("q/R", "q/")}, 0, nil, "a parent needs an id"},
		"priority":                     {[]storage.FlowNode{node("q/R", "", func(n *storage.FlowNode) { n.Priority = -1 })}, 0, nil, "priority -1"},
		"options":                      {[]storage.FlowNode{node("q/R", "", func(n *storage.FlowNode) { n.Opts = nil })}, 0, nil, "at least {}"},
		"timestamp":                    {[]storage.FlowNode{node("q/R", "", func(n *storage.FlowNode) { n.Timestamp = time.Time{} })}, 0, nil, "no timestamp"},
		"child of another, behind dup": {[]storage.FlowNode{node("q/done", ""), node("q/R", ""), node("q/taken", "q/R")}, 2, storage.ErrOtherParent, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onServers(t, nil, func(b *bench) {
				b.job("q", "owner")
				b.waiting("q", "wait", "lone", "taken", "orphan")
				b.childOf("bull:q:owner", "bull:q:taken")
				b.do("hset", "bull:q:orphan", "parentKey", "bull:q:ghost")
				b.in("q", "completed", "done", 5, "returnvalue", "1")
				before := b.snapshot()
				added, err := b.AddFlow(b.ctx, time.UnixMilli(flowTime), c.nodes)
				require.Nil(t, added)
				var whole *storage.FlowError
				require.ErrorAs(t, err, &whole)
				require.Equal(t, c.place, whole.Node)
				if c.err != nil {
					require.ErrorIs(t, err, c.err)
				}
				require.ErrorContains(t, err, c.text)
				var refusal *storage.Error
				require.ErrorAs(t, err, &refusal)
				require.Equal(t, c.nodes[c.place].ID, refusal.Job)
				require.Equal(t, before, b.snapshot())
			})
		})
	}
}

func TestAddFlowChecksTheWhole(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		added, err := b.AddFlow(b.ctx, time.UnixMilli(flowTime), nil)
		require.NoError(t, err)
		require.Empty(t, added)
		_, err = b.AddFlow(b.ctx, time.Time{}, []storage.FlowNode{node("q/R", "")})
		require.ErrorContains(t, err, "no time")
		many := make([]storage.FlowNode, flowJobs+1)
		_, err = b.AddFlow(b.ctx, time.UnixMilli(flowTime), many)
		require.ErrorContains(t, err, "a flow of 100001 jobs is more than the 100000 that are added in one step")
		require.Empty(t, b.keys())
	})
}

// A child that completed before counts as done. The parent is released when
// the whole flow is stored, and not before: other children may be to come.
func TestC033ChildCompletedBefore(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.in("q", "completed", "done", 5, "returnvalue", `{"v":1}`)
		b.in("q", "completed", "old", 5, "returnvalue", `2`, "parentKey", "bull:pq:gone", "parent", `{"id":"gone","queueKey":"bull:pq"}`)
		b.addFlow(node("pq/R", ""), node("q/done", "pq/R"), node("q/new", "pq/R"))
		require.Equal(t, []string{"R"}, b.set("pq", "waiting-children"))
		require.Equal(t, []string{"bull:q:new"}, b.members("pq", "R:dependencies"))
		require.Equal(t, map[string]string{"bull:q:done": `{"v":1}`}, b.hash("pq", "R:processed"))
		require.Equal(t, "bull:pq:R", b.hash("q", "done")["parentKey"])

		added := b.addFlow(node("pq/R2", "", func(n *storage.FlowNode) { n.Delay = time.Second }), node("q/old", "pq/R2"))
		require.Equal(t, "R2", added[0].ID)
		require.True(t, added[1].Existing)
		require.Equal(t, "old", added[1].ID)
		require.Equal(t, []string{"R2"}, b.set("pq", "delayed"), "its delay begins when its children are done")
		require.Equal(t, map[string]string{"bull:q:old": "2"}, b.hash("pq", "R2:processed"))
		require.Equal(t, []string{
			"added jobId=R name=n", "waiting-children jobId=R", "added jobId=R2 name=n", "waiting-children jobId=R2", "delayed delay=1700000001000 jobId=R2",
		}, b.events("pq"))
		require.Equal(t, []string{"duplicated jobId=done", "added jobId=new name=n", "waiting jobId=new", "duplicated jobId=old"}, b.events("q"))
		require.Equal(t, "3", b.do("get", "bull:q:id"))
		require.True(t, b.exists("pq", "marker"))
		require.Empty(t, b.hash("pq", "R2")["flowAttachmentFailed"])
	})
}

// The same flow once more, its parent gone: the parent runs again, the children
// that are kept do not.
func TestC033TheSameFlowAgain(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		for _, id := range []string{"c1", "c2"} {
			b.in("q", "completed", id, 5, "returnvalue", `"`+id+`"`, "parentKey", "bull:q:R", "parent", `{"id":"R","queueKey":"bull:q"}`)
		}
		b.addFlow(node("q/R", ""), node("q/c1", "q/R"), node("q/c2", "q/R"))
		require.Equal(t, []string{"R"}, b.list("q", "wait"))
		require.Equal(t, map[string]string{"bull:q:c1": `"c1"`, "bull:q:c2": `"c2"`}, b.hash("q", "R:processed"))
		require.Equal(t, []string{"c1", "c2"}, b.set("q", "completed"))
	})
}

// A child that waits, or whose parent is gone, gets the new parent, with the
// policy of the new link.
func TestAddFlowTakesOverChildren(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.waiting("q", "wait", "free", "orphan")
		b.do("hset", "bull:q:orphan", "parentKey", "bull:q:gone", "parent", `{"id":"gone","queueKey":"bull:q","fpof":true}`)
		b.addFlow(node("q/R", ""), node("q/free", "q/R", onFail(storage.OnFailIgnore)), node("q/orphan", "q/R"))
		require.Equal(t, []string{"bull:q:free", "bull:q:orphan"}, b.members("q", "R:dependencies"))
		require.Equal(t, `{"id":"R","queueKey":"bull:q","idof":true}`, b.hash("q", "free")["parent"])
		require.Equal(t, `{"id":"R","queueKey":"bull:q"}`, b.hash("q", "orphan")["parent"])
		require.Equal(t, []string{"free", "orphan"}, b.list("q", "wait"), "it keeps its place")
		require.Equal(t, []string{"R"}, b.set("q", "waiting-children"))
	})
}

// A child that failed before counts as one that fails now: nobody would tell
// its parent later. Without a policy the parent waits for it to be retried.
func TestAddFlowWithChildThatFailedBefore(t *testing.T) {
	t.Parallel()
	for policy, want := range map[storage.OnFail]struct {
		state    string // of the parent, with another child pending
		pending  []string
		ignored  map[string]string
		deferred string
	}{
		storage.OnFailWait:     {"waiting-children", []string{"bull:q:c", "bull:q:lost"}, map[string]string{}, ""},
		storage.OnFailFail:     {"wait", []string{"bull:q:c"}, map[string]string{}, "child bull:q:lost failed"},
		storage.OnFailContinue: {"wait", []string{"bull:q:c"}, map[string]string{"bull:q:lost": "boom"}, ""},
		storage.OnFailIgnore:   {"waiting-children", []string{"bull:q:c"}, map[string]string{"bull:q:lost": "boom"}, ""},
		storage.OnFailRemove:   {"waiting-children", []string{"bull:q:c"}, map[string]string{}, ""},
	} {
		onServers(t, nil, func(b *bench) {
			b.in("q", "failed", "lost", 5, "failedReason", "boom")
			b.addFlow(node("pq/R", ""), node("q/lost", "pq/R", onFail(policy)), node("q/c", "pq/R"))
			state, err := b.State(b.ctx, "pq", "R")
			require.NoError(t, err)
			if want.state == "wait" {
				require.Equal(t, storage.StateWaiting, state, policy)
			} else {
				require.Equal(t, storage.StateWaitingChildren, state, policy)
			}
			require.Equal(t, want.pending, b.members("pq", "R:dependencies"), policy)
			require.Equal(t, want.ignored, b.hash("pq", "R:failed"), policy)
			require.Equal(t, want.deferred, b.hash("pq", "R")["defa"], policy)
			require.Equal(t, policy == storage.OnFailFail, b.exists("pq", "R:unsuccessful"), policy)

			b.in("q", "failed", "lost2", 5, "failedReason", "boom")
			b.addFlow(node("pq/only", ""), node("q/lost2", "pq/only", onFail(policy)))
			state, err = b.State(b.ctx, "pq", "only")
			require.NoError(t, err)
			require.Equal(t, policy == storage.OnFailWait, state == storage.StateWaitingChildren, policy)
		})
	}
}

// A parent that is there already stays as it is and gets the children, as from
// peers; with Once nothing is added below it, at any depth.
func TestAddFlowWithExistingParents(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.waiting("q", "wait", "R", "S")
		once := func(n *storage.FlowNode) { n.Once = true }
		added := b.addFlow(
			node("q/R", ""), node("q/S", "", once), node("q/T", "", once),
			node("q/r", "q/R"), node("q/s", "q/S"), node("q/t", "q/T"),
			node("q/ss", "q/s"), node("q/tt", "q/t"),
		)
		require.Equal(t, []storage.Added{
			{ID: "R", Existing: true, Name: "n"}, {ID: "S", Existing: true, Name: "n"}, {ID: "T"}, {ID: "r"}, {}, {ID: "t"}, {}, {ID: "tt"},
		}, added)
		require.Equal(t, []string{"R", "S", "r", "tt"}, b.list("q", "wait"))
		require.Equal(t, []string{"bull:q:r"}, b.members("q", "R:dependencies"))
		require.False(t, b.exists("q", "S:dependencies"))
		require.False(t, b.exists("q", "s"))
		require.False(t, b.exists("q", "ss"))
		require.Equal(t, "6", b.do("get", "bull:q:id"))
		require.Equal(t, []string{"duplicated jobId=R", "duplicated jobId=S"}, b.events("q")[:2])
	})
}

// A job with neither parent nor children may yield to another.
func TestAddFlowWithDeduplicatedRoot(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		dedup := func(n *storage.FlowNode) { n.Dedup = &storage.Dedup{ID: "d"} }
		require.Equal(t, []storage.Added{{ID: "first"}, {ID: "R"}, {ID: "c"}},
			b.addFlow(node("q/first", "", dedup), node("q/R", ""), node("q/c", "q/R")))
		require.Equal(t, []storage.Added{{ID: "first", Existing: true, Name: "n"}}, b.addFlow(node("q/second", "", dedup)))
		require.False(t, b.exists("q", "second"))
		require.Equal(t, "first", b.do("get", "bull:q:de:d"))
		require.Equal(t, "d", b.hash("q", "first")["deid"])
	})
}

func TestReadFlow(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		nodes := []storage.FlowNode{node("q/R", "")}
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			nodes = append(nodes, node("q/"+id, "q/R"))
		}
		b.addFlow(nodes...)
		b.do("srem", "bull:q:R:dependencies", "bull:q:a", "bull:q:b", "bull:q:c")
		b.do("hset", "bull:q:R:processed", "bull:q:a", `{"v":1}`)
		b.do("hset", "bull:q:R:failed", "bull:q:b", "boom")
		b.do("zadd", "bull:q:R:unsuccessful", "7", "bull:q:c")
		b.do("lrem", "bull:q:wait", "0", "a")
		b.do("zadd", "bull:q:completed", "7", "a")
		b.do("del", "bull:q:e")

		all := []storage.Child{
			{Kind: storage.DependencyProcessed, Dependency: storage.Dependency{Key: "bull:q:a", Value: []byte(`{"v":1}`)}},
			{Kind: storage.DependencyPending, Dependency: storage.Dependency{Key: "bull:q:d"}},
			{Kind: storage.DependencyPending, Dependency: storage.Dependency{Key: "bull:q:e"}},
			{Kind: storage.DependencyFailed, Dependency: storage.Dependency{Key: "bull:q:c"}},
			{Kind: storage.DependencyIgnored, Dependency: storage.Dependency{Key: "bull:q:b", Reason: "boom"}},
		}
		children, err := b.Children(b.ctx, "bull:q:R")
		require.NoError(t, err)
		require.ElementsMatch(t, all, children)

		records, err := b.ReadFlow(b.ctx, -1, "bull:q:R", "bull:q:a", "bull:q:d", "bull:q:e", "bull:q:nobody")
		require.NoError(t, err)
		require.Len(t, records, 5)
		r := records[0]
		require.Equal(t, "R", r.ID)
		require.Equal(t, storage.StateWaitingChildren, r.State)
		require.Equal(t, storage.DependencyCounts{Processed: 1, Pending: 2, Ignored: 1, Failed: 1}, r.Counts)
		require.ElementsMatch(t, all, r.Children)
		require.Equal(t, storage.StateCompleted, records[1].State)
		require.Equal(t, storage.StateWaiting, records[2].State)
		require.Equal(t, "bull:q:R", records[2].ParentKey)
		require.Empty(t, records[2].Children)
		require.Nil(t, records[3])
		require.Nil(t, records[4])

		for width, kinds := range map[int][]storage.DependencyKind{
			0: nil,
			1: {storage.DependencyProcessed},
			4: {storage.DependencyProcessed, storage.DependencyPending, storage.DependencyPending, storage.DependencyFailed},
		} {
			records, err := b.ReadFlow(b.ctx, width, "bull:q:R")
			require.NoError(t, err)
			var got []storage.DependencyKind
			for _, c := range records[0].Children {
				got = append(got, c.Kind)
			}
			require.Equal(t, kinds, got)
		}
	})
}

func TestReadNamesAndBadKeys(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.addFlow(node("q/R", ""), node("q/a", "q/R"))
		names, err := b.Names(b.ctx, "bull:q:a", "bull:q:nobody", "bull:q:R")
		require.NoError(t, err)
		require.Equal(t, []string{"n", "", "n"}, names)
		for _, key := range []string{"", "x", "q:1", "bull:q:", ":q:1"} {
			_, err := b.Children(b.ctx, key)
			require.Error(t, err, key)
			_, err = b.Names(b.ctx, key)
			require.Error(t, err, key)
			_, err = b.ReadFlow(b.ctx, 1, key)
			require.Error(t, err, key)
		}
	})
}

func TestReadFlowOfManyChildren(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		nodes := []storage.FlowNode{node("q/R", "")}
		for i := range 1200 {
			nodes = append(nodes, node("q/c"+itoa(i), "q/R"))
		}
		b.addFlow(nodes...)
		records, err := b.ReadFlow(b.ctx, 30, "bull:q:R")
		require.NoError(t, err)
		require.Len(t, records[0].Children, 30)
		keys := []string{}
		children, err := b.Children(b.ctx, "bull:q:R")
		require.NoError(t, err)
		for _, c := range children {
			keys = append(keys, c.Key)
		}
		records, err = b.ReadFlow(b.ctx, 0, keys...)
		require.NoError(t, err)
		require.Len(t, records, 1200)
		for i, r := range records {
			require.Equal(t, keys[i], "bull:q:"+r.ID)
		}
		names, err := b.Names(b.ctx, keys...)
		require.NoError(t, err)
		require.NotContains(t, names, "")
	})
}

func TestFlowReplies(t *testing.T) {
	t.Parallel()
	nodes := []storage.FlowNode{node("q/R", "")}
	for _, reply := range [][]string{nil, {"1"}, {"0", "1"}, {"-5", "2"}, {"-5", "x"}, {"0", "1", "1"}, {"0", "2", "1", "R", "n"}, {"0", "x", "1", "R", "n"}} {
		_, err := flowReply(nodes, reply)
		require.Error(t, err, reply)
		require.False(t, errors.As(err, new(*storage.FlowError)), reply)
	}
}
