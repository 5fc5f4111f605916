package interop

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// place is where queues are kept.
type place struct {
	url     string
	prefix  string
	keys    *redis.Client // of the server that has the keys
	cluster bool
}

// sharedPlace is a database of the shared server, with the usual prefix.
func sharedPlace(t *testing.T) place {
	t.Helper()
	NeedNode(t)
	s := testredis.Shared(t)
	return place{url: s.URL(), prefix: "bull", keys: s.Client(t)}
}

// clusterPlace is a cluster of three masters, with a prefix that puts all
// queues in one slot.
func clusterPlace(t *testing.T) place {
	t.Helper()
	NeedNode(t)
	const prefix = "{bull}"
	nodes := testredis.Cluster(t, 3)
	return place{url: nodes.URL(), prefix: prefix, keys: nodes.Owner(prefix).Client(t), cluster: true}
}

// fleet are the peers that all cells share.
type fleet struct {
	place
	sides map[Library]sides
}

// sides are a Node peer and the Go peer that works beside it.
type sides struct{ node, ga *Peer }

func startFleet(t *testing.T, at place) *fleet {
	t.Helper()
	prefix := Prefix(at.prefix)
	return &fleet{at, map[Library]sides{
		Node6: {StartNode(t, Node6, at.url, prefix), StartGo(t, at.url, prefix)},
		Node5: {StartNode(t, Node5, at.url, prefix), StartGo(t, at.url, prefix, Peers5())},
	}}
}

func (f *fleet) cell(t *testing.T, col column) *cell {
	t.Helper()
	c := &cell{kit: newKit(t, f.keys), place: f.place, sides: f.sides[col.lib], lib: col.lib, goFirst: col.goFirst}
	c.producer, c.consumer = c.pair(name("q"))
	return c
}
