package testredis

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
)

// slots is how many slots a cluster has.
const slots = 16384

// Nodes is a cluster of servers for one test.
type Nodes struct {
	t       testing.TB
	Masters []*Server // each with a part of the slots, in order
	Replica *Server   // of the first master
}

// Cluster runs a cluster until the end of the test: some masters with an equal
// part of the slots each, and a replica of the first one.
func Cluster(t testing.TB, masters int) *Nodes {
	t.Helper()
	n := &Nodes{t: t}
	for range masters + 1 {
		n.Masters = append(n.Masters, Start(t, bus, Args("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0")))
	}
	n.Replica, n.Masters = n.Masters[masters], n.Masters[:masters]
	ctx := context.Background()
	first := n.Masters[0].Client(t)
	for i, s := range append(n.Masters[:masters:masters], n.Replica) {
		c := s.Client(t)
		require.NoError(t, c.Do(ctx, "cluster", "set-config-epoch", i+1).Err())
		if i < masters {
			require.NoError(t, c.ClusterAddSlotsRange(ctx, i*slots/masters, (i+1)*slots/masters-1).Err())
		}
		_, port, _ := strings.Cut(s.Addr(), ":")
		require.NoError(t, first.ClusterMeet(ctx, "127.0.0.1", port).Err())
	}
	n.await("all nodes know one another", func(c *redis.Client) bool {
		info := c.ClusterInfo(ctx).Val()
		return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(masters+1))
	})
	id, err := first.ClusterMyID(ctx).Result()
	require.NoError(t, err)
	require.NoError(t, n.Replica.Client(t).ClusterReplicate(ctx, id).Err())
	n.awaitReplica()
	return n
}

// bus makes a server use a port that leaves room for that of the cluster's bus.
func bus(c *config) { c.maxPort = 65535 - 10000 }

// await waits until something is so for every node.
func (n *Nodes) await(what string, ok func(*redis.Client) bool) {
	n.t.Helper()
	for _, s := range append(n.Masters[:len(n.Masters):len(n.Masters)], n.Replica) {
		c := s.Client(n.t)
		require.Eventually(n.t, func() bool { return ok(c) }, testneed.Patience, 20*time.Millisecond, what)
	}
}

func (n *Nodes) awaitReplica() {
	n.t.Helper()
	c := n.Replica.Client(n.t)
	require.Eventually(n.t, func() bool {
		return strings.Contains(c.Info(context.Background(), "replication").Val(), "master_link_status:up")
	}, testneed.Patience, 20*time.Millisecond, "the replica has all data")
	n.await("all nodes know the replica", func(c *redis.Client) bool {
		return strings.Contains(c.ClusterNodes(context.Background()).Val(), "slave ") // it calls itself "myself,slave"
	})
}

// Client follows the cluster; it is closed at the end of the test.
func (n *Nodes) Client(t testing.TB) *redis.ClusterClient {
	t.Helper()
	o := &redis.ClusterOptions{ContextTimeoutEnabled: true, MaxRetries: -1}
	for _, s := range n.Masters {
		o.Addrs = append(o.Addrs, s.Addr())
	}
	c := redis.NewClusterClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// URL names all masters, in the form that redis.ParseClusterURL reads.
func (n *Nodes) URL() string {
	url, before := n.Masters[0].URL(), "?"
	for _, s := range n.Masters[1:] {
		url, before = url+before+"addr="+s.Addr(), "&"
	}
	return url
}

// Owner is the master that has the slot of a key; others refuse to look.
func (n *Nodes) Owner(key string) *Server {
	n.t.Helper()
	for _, s := range n.Masters {
		if s.Client(n.t).Exists(context.Background(), key).Err() == nil {
			return s
		}
	}
	require.FailNow(n.t, "no master has the slot of "+key)
	return nil
}

// Failover makes the replica take the place of the first master, as one that
// is shut down in order does, and waits until every node knows.
func (n *Nodes) Failover() {
	n.t.Helper()
	ctx := context.Background()
	c := n.Replica.Client(n.t)
	require.NoError(n.t, c.ClusterFailover(ctx).Err())
	id, err := c.ClusterMyID(ctx).Result()
	require.NoError(n.t, err)
	n.await("all nodes know the new master", func(c *redis.Client) bool {
		for line := range strings.Lines(c.ClusterNodes(ctx).Val()) {
			if strings.HasPrefix(line, id) {
				return strings.Contains(line, "master ") && strings.Contains(line, "connected 0-")
			}
		}
		return false
	})
	n.Masters[0], n.Replica = n.Replica, n.Masters[0]
}

// Migrate moves a slot, a key at a time, while it may be in use. Between is
// called whenever some of the keys are moved, unless it is nil.
func (n *Nodes) Migrate(slot, from, to int, between func()) {
	n.t.Helper()
	ctx := context.Background()
	src, dst := n.Masters[from].Client(n.t), n.Masters[to].Client(n.t)
	ids := map[*redis.Client]string{}
	for _, c := range []*redis.Client{src, dst} {
		id, err := c.ClusterMyID(ctx).Result()
		require.NoError(n.t, err)
		ids[c] = id
	}
	require.NoError(n.t, dst.Do(ctx, "cluster", "setslot", slot, "importing", ids[src]).Err())
	require.NoError(n.t, src.Do(ctx, "cluster", "setslot", slot, "migrating", ids[dst]).Err())
	host, port, _ := strings.Cut(n.Masters[to].Addr(), ":")
	for {
		keys, err := src.ClusterGetKeysInSlot(ctx, slot, 1).Result()
		require.NoError(n.t, err)
		if len(keys) == 0 {
			break
		}
		require.NoError(n.t, src.Do(ctx, "migrate", host, port, keys[0], 0, 5000).Err())
		if between != nil {
			between()
		}
	}
	for _, c := range []*redis.Client{dst, src} {
		require.NoError(n.t, c.Do(ctx, "cluster", "setslot", slot, "node", ids[dst]).Err())
	}
}
