package bullmq

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/audit"
	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// fault is something that happens to a server, or on the way to it.
type fault struct {
	*kit
	server *testredis.Server
	link   *testredis.Link
	rdb    *redis.Client // past the link
}

// wait lets some jobs be worked before the fault is over.
func (f *fault) wait(d time.Duration) {
	select {
	case <-f.ctx.Done():
	case <-time.After(d):
	}
}

func (f *fault) config(name, value string) {
	f.Helper()
	require.NoError(f, f.rdb.ConfigSet(f.ctx, name, value).Err())
}

// faultsOfServers are what the tests of single cases do not do under load.
var faultsOfServers = map[string]func(f *fault){
	"a restart in order": func(f *fault) { f.server.Restart() },
	"a crash": func(f *fault) {
		f.server.Stop()
		f.server.Restart()
	},
	"a server that hangs": func(f *fault) {
		f.server.Pause()
		f.wait(400 * time.Millisecond)
		f.server.Continue()
	},
	"connections are killed": func(f *fault) {
		for range 20 {
			require.NoError(f, f.rdb.ClientKillByFilter(f.ctx, "type", "normal", "skipme", "yes").Err())
			f.wait(5 * time.Millisecond)
		}
	},
	"blocked connections are unblocked": func(f *fault) {
		for range 20 {
			f.wait(5 * time.Millisecond)
			for id := range int64(40) {
				f.rdb.Do(f.ctx, "client", "unblock", id, "error")
			}
		}
	},
	"no memory is left": func(f *fault) {
		f.config("maxmemory", "1")
		f.wait(300 * time.Millisecond)
		f.config("maxmemory", "0")
	},
	"writes are paused": func(f *fault) {
		require.NoError(f, f.rdb.Do(f.ctx, "client", "pause", 300, "write").Err())
	},
	"scripts are forgotten": func(f *fault) {
		for range 50 {
			require.NoError(f, f.rdb.ScriptFlush(f.ctx).Err())
			f.wait(2 * time.Millisecond)
		}
	},
	"too few replicas": func(f *fault) {
		f.config("min-replicas-to-write", "1")
		f.wait(300 * time.Millisecond)
		f.config("min-replicas-to-write", "0")
	},
	"a slow network": func(f *fault) {
		f.link.Delay(20 * time.Millisecond)
		f.wait(600 * time.Millisecond)
		f.link.Delay(0)
	},
	"half-open connections": func(f *fault) {
		f.link.Stall()
		f.wait(300 * time.Millisecond)
		f.link.Refuse(true)
		f.link.Cut()
		f.link.Flow()
		f.link.Refuse(false)
	},
	"answers are lost": func(f *fault) {
		for range 20 {
			f.link.DropReply("evalsha")
			f.wait(10 * time.Millisecond)
		}
	},
}

// Whatever happens to a server while jobs are added and worked: all are done,
// and every key is as it must be.
func TestFaultsUnderLoad(t *testing.T) {
	t.Parallel()
	for name, happens := range faultsOfServers {
		for _, prefetch := range []int{0, 7} {
			t.Run(fmt.Sprintf("%s, %d taken ahead", name, prefetch), func(t *testing.T) {
				t.Parallel()
				server := testredis.Start(t, testredis.AppendOnly())
				link := testredis.Proxy(t, server.Addr())
				k := newKitAt(t, server, link.URL())
				f := &fault{kit: k, server: server, link: link, rdb: server.Client(t)}
				newLoad(k, Prefetch(prefetch)).during(func() { happens(f) })
				problems, err := audit.Check(k.ctx, f.rdb, "bull")
				require.NoError(t, err)
				require.Empty(t, problems)
			})
		}
	}
}
