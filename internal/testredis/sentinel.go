package testredis

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
)

// masterName is the name by which the sentinel knows the master.
const masterName = "m"

// Watched is a master and a replica that a sentinel watches.
type Watched struct {
	t               testing.TB
	Master, Replica *Server
	sentinel        *Server
}

// Sentinel runs a master, its replica and a sentinel until the end of the test.
func Sentinel(t testing.TB) *Watched {
	t.Helper()
	w := &Watched{t: t, Master: Start(t)}
	host, port, err := net.SplitHostPort(w.Master.Addr())
	require.NoError(t, err)
	w.Replica = Start(t, Args("--replicaof", host, port, "--repl-diskless-sync-delay", "0"))
	conf := fmt.Sprintf("sentinel monitor %s %s %s 1\nsentinel down-after-milliseconds %s 60000\nsentinel failover-timeout %s 60000\n", masterName, host, port, masterName, masterName)
	w.sentinel = Start(t, func(c *config) { c.conf, c.args = conf, append(c.args, "--sentinel") })
	c := w.sentinel.Client(t)
	w.await("the sentinel knows the replica", func() bool {
		return strings.Contains(c.Info(context.Background(), "sentinel").Val(), "status=ok,address="+w.Master.Addr()+",slaves=1")
	})
	w.await("the replica has all data", func() bool {
		return strings.Contains(w.Replica.Client(t).Info(context.Background(), "replication").Val(), "master_link_status:up")
	})
	return w
}

// Client follows the sentinel; it is closed at the end of the test.
func (w *Watched) Client(t testing.TB) *redis.Client {
	t.Helper()
	c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: masterName, SentinelAddrs: []string{w.sentinel.Addr()}, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Failover makes the replica the master, as an operator does, and waits until the
// sentinel names it.
func (w *Watched) Failover() {
	w.t.Helper()
	ctx := context.Background()
	c := w.sentinel.Client(w.t)
	w.await("the sentinel begins", func() bool { return c.Do(ctx, "sentinel", "failover", masterName).Err() == nil })
	w.await("the replica is the master", func() bool {
		at, err := c.Do(ctx, "sentinel", "get-master-addr-by-name", masterName).StringSlice()
		return err == nil && len(at) == 2 && net.JoinHostPort(at[0], at[1]) == w.Replica.Addr() &&
			strings.Contains(w.Replica.Client(w.t).Info(ctx, "replication").Val(), "role:master")
	})
	w.Master, w.Replica = w.Replica, w.Master
}

func (w *Watched) await(what string, ok func() bool) {
	w.t.Helper()
	require.Eventually(w.t, ok, testneed.Patience, 50*time.Millisecond, what)
}
