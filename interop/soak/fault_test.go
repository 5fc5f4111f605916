package soak

import (
	"slices"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
)

// faults happen at random, one at a time. Each is over when its function returns.
var faults = map[string]func(f *fleet, workers []*member){
	"kill -9 of a worker": func(f *fleet, workers []*member) {
		m := f.any(workers)
		require.NoError(f, m.cmd.Process.Kill())
		<-m.ended
		f.start(m)
	},
	"restart of a worker": func(f *fleet, workers []*member) {
		m := f.any(workers)
		f.terminate(m)
		<-m.ended
		f.start(m)
	},
	"a worker frozen beyond its locks": func(f *fleet, workers []*member) {
		m := f.any(workers)
		require.NoError(f, m.cmd.Process.Signal(syscall.SIGSTOP))
		f.pass(lock + lock/2)
		require.NoError(f, m.cmd.Process.Signal(syscall.SIGCONT))
	},
	"kill -9 of the server": func(f *fleet, _ []*member) {
		f.server.Stop()
		f.server.Restart()
		// Redis 7.0 can leave half a transaction at the end of its file. Written
		// anew, the file holds what the server has, and nothing is replayed twice.
		require.NoError(f, f.rdb.BgRewriteAOF(f.ctx).Err())
		f.poll("the file is rewritten", func() bool {
			info, err := f.rdb.InfoMap(f.ctx, "persistence").Result()
			return err == nil && info["Persistence"]["aof_rewrite_in_progress"] == "0" && info["Persistence"]["aof_rewrite_scheduled"] == "0"
		})
	},
	"a frozen server": func(f *fleet, _ []*member) {
		f.server.Pause()
		f.pass(time.Second)
		f.server.Continue()
	},
	"forgotten scripts":  func(f *fleet, _ []*member) { require.NoError(f, f.rdb.ScriptFlush(f.ctx).Err()) },
	"killed connections": func(f *fleet, _ []*member) { f.do("client", "kill", "type", "normal", "skipme", "yes") },
	"paused clients": func(f *fleet, _ []*member) {
		f.do("client", "pause", "700", "write")
		f.pass(700 * time.Millisecond)
	},
	"a full server": func(f *fleet, _ []*member) {
		f.do("config", "set", "maxmemory", "1")
		f.pass(500 * time.Millisecond)
		f.do("config", "set", "maxmemory", "0")
	},
	"a read-only server": func(f *fleet, _ []*member) {
		f.do("config", "set", "min-replicas-to-write", "1")
		f.pass(500 * time.Millisecond)
		f.do("config", "set", "min-replicas-to-write", "0")
	},
	// Only Go programs lose it: Node's scripts stop half-way under it, and lose jobs.
	"a revoked right": func(f *fleet, _ []*member) {
		command := []string{"zpopmin", "lrem", "hset", "xadd", "zadd", "lpush", "rpush", "del", "incr", "hincrby", "set"}[f.random.IntN(11)]
		f.mark("is of", command)
		f.do("acl", "setuser", "default", "-"+command)
		f.pass(400 * time.Millisecond)
		f.do("acl", "setuser", "default", "+"+command)
	},
	"cut connections": func(f *fleet, _ []*member) { f.link.Cut() },
	"a silent network": func(f *fleet, _ []*member) {
		f.link.Stall()
		f.pass(700 * time.Millisecond)
		f.link.Flow()
	},
	"a slow network": func(f *fleet, _ []*member) {
		f.link.Delay(20 * time.Millisecond)
		f.pass(500 * time.Millisecond)
		f.link.Delay(0)
	},
	"a lost answer": func(f *fleet, _ []*member) { f.link.DropReply("evalsha") },
	"refused connections": func(f *fleet, _ []*member) {
		f.link.Refuse(true)
		f.link.Cut()
		f.pass(400 * time.Millisecond)
		f.link.Refuse(false)
	},
}

// disturb makes faults happen until all jobs are added, and each kind at least once.
func (f *fleet) disturb(producers, workers []*member) {
	names := make([]string, 0, len(faults))
	for name := range faults {
		names = append(names, name)
	}
	slices.Sort(names)
	f.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for n := 0; n < len(names) || f.adding(producers); n++ {
		name := names[n%len(names)]
		f.mark("begins", name)
		faults[name](f, workers)
		f.mark("is over", name)
		f.faults[name]++
		f.pass(time.Duration(f.random.IntN(400)) * time.Millisecond)
	}
}

func (f *fleet) mark(event, fault string) {
	f.timeline = append(f.timeline, line{Time: time.Now().UnixMilli(), Who: "fault", Event: event, Text: fault})
}

// adding reports whether some producer has jobs to add.
func (f *fleet) adding(producers []*member) bool {
	return slices.ContainsFunc(producers, func(m *member) bool {
		select {
		case err := <-m.ended:
			m.ended <- err // for awaitEnd
			return false
		default:
			return true
		}
	})
}

func (f *fleet) any(members []*member) *member { return members[f.random.IntN(len(members))] }

func (f *fleet) do(args ...any) {
	f.Helper()
	require.NoError(f, f.rdb.Do(f.ctx, args...).Err())
}

// pass lets a fault last for a while, in which the fleet works on.
func (f *fleet) pass(d time.Duration) {
	select {
	case <-f.ctx.Done():
	case <-time.After(d):
	}
}
