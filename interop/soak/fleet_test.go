// Package soak runs a fleet of Go and Node programs on the same queues under
// random faults, and accounts for every job and every run of a handler.
//
//	go test ./interop/soak                                  the short form
//	make soak JOBS=1000000 SEED=7                           the long one
package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/interop"
	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq/audit"
)

// lock is the lock duration of all workers: short, so that frozen processes
// lose their jobs within seconds.
const lock = 3 * time.Second

// queues are the queues whose jobs are accounted for.
var queues = [...]string{"soak-jobs", "soak-parents", "soak-limited", "soak-grouped"}

// nodeUser is the user as which Node programs connect; Go programs are the default one.
const nodeUser = "node"

// patience is how long the fleet may take to finish when all faults are over:
// the clocks of some workers are minutes ahead, and so are the times to which
// they delay jobs.
var patience = time.Duration(setting("BULLMQ_SOAK_PATIENCE", 8*60)) * time.Second

func setting(name string, standard int) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return standard
	}
	return n
}

// fleet is the processes, the server that they share, and the way to it.
type fleet struct {
	*testing.T
	ctx    context.Context
	random *rand.Rand
	dir    string
	goPath string
	server *testredis.Server
	link   *testredis.Link
	rdb    *redis.Client // past the link
	queue  func(name string) *bullmq.Queue

	members  []*member
	faults   map[string]int
	timeline []line // when each fault began and ended
	own      []line // what the test itself added
}

// member is a place in the fleet. Its process may be started many times.
type member struct {
	name    string
	library string // a Node library, or empty for Go
	role    string
	count   int
	skew    time.Duration

	cmd    *exec.Cmd
	ended  chan error
	up     func() bool // hears signals
	starts int
}

func TestEveryJobOfAMixedFleetIsAccountedForUnderFaults(t *testing.T) {
	t.Parallel()
	interop.NeedNode(t)
	total, seed := setting("BULLMQ_SOAK_JOBS", 3000), setting("BULLMQ_SEED", 1)
	f := newFleet(t, uint64(seed))
	began := time.Now()
	producers := []*member{
		{name: "go", role: "produce", count: total / 2},
		{name: "node6", role: "produce", library: interop.Node6.Package(), count: total / 4},
		{name: "node5", role: "produce", library: interop.Node5.Package(), count: total / 4},
	}
	workers := []*member{
		{name: "goworker1", role: "work", skew: 2 * time.Minute},
		{name: "goworker2", role: "work", skew: -2 * time.Minute},
		{name: "node6worker", role: "work", library: interop.Node6.Package()},
		{name: "node5worker", role: "work", library: interop.Node5.Package()},
	}
	f.schedule()
	f.addLimited(total)
	for _, m := range append(producers, workers...) {
		f.start(m)
	}
	f.disturb(producers, workers)
	for _, m := range producers {
		f.awaitEnd(m)
	}
	f.settle()
	f.ticksGoOn()
	for _, m := range workers {
		f.leave(m)
	}
	book := f.read()
	figures := f.verify(book)
	figures.Seed, figures.Seconds = seed, int(time.Since(began).Seconds())
	f.publish(figures)
}

func newFleet(t *testing.T, seed uint64) *fleet {
	f := &fleet{
		T: t, ctx: t.Context(), random: rand.New(rand.NewPCG(seed, 2)), dir: t.TempDir(), //nolint:gosec // a test
		server: testredis.Start(t, testredis.AppendOnly(), testredis.Args("--maxmemory-policy", "noeviction"),
			testredis.Args("--user", nodeUser, "on", "nopass", "~*", "&*", "+@all")),
		faults: map[string]int{},
	}
	f.link = testredis.Proxy(t, f.server.Addr())
	f.rdb = f.server.Client(t)
	store, err := redisq.New(f.rdb)
	require.NoError(t, err)
	client, err := bullmq.NewClient(store)
	require.NoError(t, err)
	f.queue = client.Queue
	f.goPath = filepath.Join(t.TempDir(), "fleetgo")
	build := exec.Command("go", "build", "-o", f.goPath, "./fleetgo")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Cleanup(func() {
		for _, m := range f.members {
			if m.cmd != nil {
				_ = m.cmd.Process.Kill()
				<-m.ended
			}
		}
	})
	return f
}

// start starts a member's process.
func (f *fleet) start(m *member) {
	f.Helper()
	journal := filepath.Join(f.dir, m.name+".jsonl")
	var cmd *exec.Cmd
	if m.library == "" {
		cmd = exec.Command(f.goPath, "-role", m.role, "-name", m.name, "-redis", f.link.URL(), "-journal", journal,
			"-count", strconv.Itoa(m.count), "-lock", lock.String(), "-skew", m.skew.String())
	} else {
		cmd = exec.Command("node", "soak.js", m.library, "redis://"+nodeUser+":any@"+f.link.Addr(), m.role, m.name, journal,
			strconv.Itoa(m.count), strconv.FormatInt(lock.Milliseconds(), 10))
		cmd.Dir = filepath.Join("..", "node")
	}
	up := journal + ".up"
	_ = os.Remove(up)
	_, err := cmd.StdinPipe() // closed when this process ends, however it does: then the member ends too
	require.NoError(f, err)
	errors, err := os.OpenFile(filepath.Join(f.dir, m.name+".err"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(f, err)
	cmd.Stderr = errors
	require.NoError(f, cmd.Start())
	_ = errors.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	m.up = func() bool { _, err := os.Stat(up); return err == nil }
	if m.starts++; m.starts == 1 {
		f.members = append(f.members, m)
	}
	m.cmd, m.ended = cmd, ended
}

// awaitEnd waits until a producer has added all its jobs.
func (f *fleet) awaitEnd(m *member) {
	f.Helper()
	select {
	case err := <-m.ended:
		m.cmd = nil
		require.NoError(f, err, "%s ended with an error: %s", m.name, f.stderr(m))
	case <-time.After(patience):
		require.Fail(f, "still adds jobs", "%s: %s", m.name, f.stderr(m))
	}
}

// leave asks a worker to end, as a deployment does, and waits for that.
func (f *fleet) leave(m *member) {
	f.Helper()
	f.terminate(m)
	f.awaitEnd(m)
}

// terminate asks a process to end, once it hears signals.
func (f *fleet) terminate(m *member) {
	f.Helper()
	f.poll(m.name+" hears signals", m.up)
	require.NoError(f, m.cmd.Process.Signal(syscall.SIGTERM))
}

func (f *fleet) stderr(m *member) string {
	text, _ := os.ReadFile(filepath.Join(f.dir, m.name+".err"))
	return string(text[max(0, len(text)-4000):])
}

// poll calls ask until it returns true.
func (f *fleet) poll(what string, ask func() bool) {
	f.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ask() {
		if time.Now().After(deadline) {
			counts := ""
			for _, q := range append(queues[:], "soak-ticks") {
				c, err := f.queue(q).Counts(f.ctx)
				counts += fmt.Sprintln(q, c, err)
			}
			report, err := audit.Run(f.ctx, f.rdb)
			require.Fail(f, "it did not happen: "+what, "%s%v %v\n%s\nfaults: %v", counts, report.Findings, err, f.unfinished(), f.faults)
		}
		<-tick.C
	}
}

// unfinished is the history of the first jobs that are acknowledged and not finished.
func (f *fleet) unfinished() string {
	var b strings.Builder
	n := 0
	for _, a := range f.read().accounts {
		if a.Acknowledged && len(a.Stored) == 0 && n < 10 {
			n++
			b.WriteString(a.Key + "\n" + a.history(f.timeline))
		}
	}
	return b.String()
}

// settle waits until no job is left to do.
func (f *fleet) settle() {
	f.Helper()
	f.poll("all jobs are finished", func() bool {
		left, waiting := 0, 0
		for _, name := range queues {
			counts, err := f.queue(name).Counts(f.ctx)
			if err != nil {
				return false
			}
			for state, n := range counts {
				switch state {
				case bullmq.StateCompleted, bullmq.StateFailed:
				case bullmq.StateWaitingChildren:
					waiting += n
				default:
					left += n
				}
			}
		}
		if left == 0 && waiting > 0 {
			f.releaseParentsOfNode()
		}
		return left+waiting == 0
	})
}

// releaseParentsOfNode lets the audit release parents that wait for children
// which a Node producer reported as added, and which were never stored.
func (f *fleet) releaseParentsOfNode() {
	f.Helper()
	jobs, err := f.queue("soak-parents").Jobs(f.ctx, bullmq.StateWaitingChildren, 0, -1)
	require.NoError(f, err)
	b := f.read()
	for _, j := range jobs {
		a := b.account(keyOf(f, j.Data))
		a.Stored = []stored{{"soak-parents", j}}
		if !slices.ContainsFunc(a.children(b), func(child *account) bool { return child.Missing }) {
			return
		}
	}
	_, err = audit.Run(f.ctx, f.rdb, audit.Queues("soak-parents"), audit.Repair())
	require.NoError(f, err)
}

// schedule stores a schedule whose jobs must never stop.
func (f *fleet) schedule() {
	_, err := f.queue("soak-ticks").UpsertSchedule(f.ctx, "tick", bullmq.ScheduleSpec{Every: 300 * time.Millisecond}, "tick",
		map[string]any{"key": "tick", "fails": 0, "value": 1, "millis": 0})
	require.NoError(f, err)
}

// ticksGoOn waits until the schedule has made further jobs, after all faults.
func (f *fleet) ticksGoOn() {
	f.Helper()
	done := func() int {
		counts, err := f.queue("soak-ticks").Counts(f.ctx, bullmq.StateCompleted)
		require.NoError(f, err)
		return counts[bullmq.StateCompleted]
	}
	before := done()
	f.poll("the schedule goes on", func() bool { return done() >= before+3 })
}
