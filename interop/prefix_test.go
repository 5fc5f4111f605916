package interop

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// TestC081_Prefix plays both sides with a prefix of their own: not one key may
// be made below the usual one.
func TestC081_Prefix(t *testing.T) {
	t.Parallel()
	NeedNode(t)
	for _, lib := range []Library{Node6, Node5} {
		t.Run(lib.Version, func(t *testing.T) {
			t.Parallel()
			s := testredis.Shared(t)
			k := newKit(t, s.Client(t))
			const prefix = "{app}:q"
			ga := []Option{Prefix(prefix)}
			if lib == Node5 {
				ga = append(ga, Peers5())
			}
			x := &prefixed{k, StartNode(t, lib, s.URL(), Prefix(prefix)), StartGo(t, s.URL(), ga...), prefix}
			x.paused()
			x.children()
			x.flow()
			x.obliterated()
			keys, err := k.rdb.Keys(k.ctx, "bull:*").Result()
			require.NoError(t, err)
			require.Empty(t, keys)
			keys, err = k.rdb.Keys(k.ctx, "*").Result()
			require.NoError(t, err)
			require.NotEmpty(t, keys)
			for _, key := range keys {
				require.Contains(t, key, prefix+":")
			}
		})
	}
}

type prefixed struct {
	*kit
	node, ga *Peer
	prefix   string
}

func (x *prefixed) both(queue string) []*on { return []*on{x.on(x.node, queue), x.on(x.ga, queue)} }

func (x *prefixed) paused() {
	sides := x.both(name("paused"))
	for i, o := range sides {
		other := sides[1-i]
		require.False(x, ask[bool](other, "queue.isPaused", nil))
		o.do("queue.pause", nil)
		require.True(x, ask[bool](other, "queue.isPaused", nil))
		other.add("n", nil, nil)
		o.do("queue.resume", nil)
		require.False(x, ask[bool](other, "queue.isPaused", nil))
	}
	require.Equal(x, map[string]int{"waiting": 2}, sides[0].counts())
	require.Equal(x, map[string]int{"waiting": 2}, sides[1].counts())
}

// children lets each side's handler add a child of the other queue.
func (x *prefixed) children() {
	for i := range 2 {
		queue, other := x.both(name("parents")), x.both(name("children"))
		p, w := queue[i], queue[1-i]
		w.work(script{"parent": once(holds(p.queue), does("waitChildren"), does("childrenValues"))}, nil)
		parent := p.add("parent", nil, nil)
		w.held(p.queue)
		child := other[i].add("child", nil, Args{"parent": Args{"id": parent, "queue": x.prefix + ":" + p.queue}})
		w.release(p.queue)
		other[1-i].work(script{"child": once(returns(7))}, nil)
		same(x.T, Args{x.prefix + ":" + other[0].queue + ":" + child: 7}, p.result(parent))
	}
}

// flow lets each side make a flow of three levels and two queues, worked by the other.
func (x *prefixed) flow() {
	for i := range 2 {
		queue, other := x.both(name("flow")), x.both(name("leaves"))
		p, w := queue[i], queue[1-i]
		leaf := func(n int) Args {
			return Args{"name": "leaf", "queueName": other[0].queue, "data": n, "opts": Args{"failParentOnFailure": true}}
		}
		tree := ask[Flow](p, "flow.add", Args{"flow": Args{
			"name": "top", "queueName": p.queue,
			"children": []Args{{"name": "middle", "queueName": p.queue, "children": []Args{leaf(1), leaf(2)}}},
		}})
		s := script{"top": once(does("childrenValues")), "middle": once(returns("m")), "leaf": once(returns("l"))}
		w.work(s, nil)
		other[1-i].work(s, nil)
		middle := tree.Children[0].Job.ID
		same(x.T, Args{x.prefix + ":" + p.queue + ":" + middle: "m"}, p.result(tree.Job.ID))
		for _, o := range queue {
			if strings.HasSuffix(o.peer.Name, Node5.Version) {
				continue // it reads no flows below a prefix with a colon
			}
			got := ask[Flow](o, "flow.getFlow", Args{"id": tree.Job.ID, "depth": 3})
			require.Equal(x, outline(&tree), outline(&got))
			same(x.T, "l", got.Children[0].Children[0].Job.ReturnValue)
		}
	}
}

func (x *prefixed) obliterated() {
	sides := x.both(name("gone"))
	for i, o := range sides {
		sides[1-i].addMany(5, "n", nil)
		o.do("queue.obliterate", Args{"opts": Args{"force": true}})
		keys, err := x.rdb.Keys(x.ctx, x.prefix+":"+o.queue+":*").Result()
		require.NoError(x, err)
		require.Empty(x, keys)
	}
}
