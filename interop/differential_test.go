package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// The environment variables that repeat or lengthen a run of TestDifferential.
const (
	seedEnv = "BULLMQ_SEED"
	opsEnv  = "BULLMQ_OPS"
)

const (
	defaultOps6 = 6000 // in all, with 6.x
	defaultOps5 = 1500
	sequenceOps = 160 // from one empty queue
)

// TestDifferential sends random sequences of operations to a Node peer and to
// the Go peer, each on a database of its own, and compares all that they
// stored, emitted and answered after every single one. Where they differ, the
// sequence is made as short as possible and shown.
//
// BULLMQ_SEED chooses other sequences, BULLMQ_OPS sets the number of operations
// with each release.
func TestDifferential(t *testing.T) {
	t.Parallel()
	for lib, ops := range map[Library]int64{Node6: defaultOps6, Node5: defaultOps5} {
		t.Run(lib.Version, func(t *testing.T) {
			t.Parallel()
			differential(t, lib, number(t, seedEnv, 1), int(number(t, opsEnv, ops)))
		})
	}
}

func differential(t *testing.T, lib Library, seed int64, total int) {
	t.Logf("%s=%d %s=%d", seedEnv, seed, opsEnv, total)
	b := newBench(t, lib, total)
	done := map[string]int{}
	for sequence := uint64(0); total > 0; sequence++ {
		played, diff := b.play(rand.New(rand.NewPCG(uint64(seed), sequence)))
		if diff != nil {
			chance := ""
			if b.again(played) == nil {
				chance = ", though not when they are played again"
			}
			short, diff := b.shorten(played, diff)
			t.Fatalf("%s=%d, sequence %d: the peers differ after these %d operations%s:\n%s\n  %s",
				seedEnv, seed, sequence, len(short), chance, lines(short), strings.Join(diff, "\n  "))
		}
		for _, c := range played {
			done[c.Op]++
		}
		total -= len(played)
	}
	t.Logf("differential: %d operations, no difference%s", sum(done), tally(done))
	t.Logf("left out: %d%s", sum(b.leftOut), tally(b.leftOut))
	require.Greater(t, len(done), 50, "kinds of operations that were played")
}

func number(t *testing.T, env string, instead int64) int64 {
	t.Helper()
	s := os.Getenv(env)
	if s == "" {
		return instead
	}
	n, err := strconv.ParseInt(s, 10, 64)
	require.NoError(t, err, env)
	return n
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// tally shows counts one a line.
func tally(counts map[string]int) string {
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "\n  %5d %s", counts[what], what)
	}
	return b.String()
}

// call is an operation that both peers are asked for, or one of those that the
// test does itself: "clock" sets both clocks, "expire" deletes a key, "prolong"
// lets it live for another time, "steal" gives a job's lock to another worker,
// "lose" leaves a job in no state, "wake" takes a marker as a waiting worker does,
// "burn" takes numbers of a queue's counter of ids.
type call struct {
	Op   string
	Args Args
}

// lines shows operations one a line.
func lines(calls []call) string {
	var b strings.Builder
	for _, c := range calls {
		args, _ := json.Marshal(c.Args)
		fmt.Fprintf(&b, "  %s %s\n", c.Op, args)
	}
	return b.String()
}

// bench has the two peers that are compared, each with its database.
type bench struct {
	*testing.T
	ctx   context.Context
	lib   Library
	sides [2]*side // Node's, ours

	leftOut map[string]int // operations that were made up and not played, by op and reason
}

type side struct {
	peer *Peer
	rdb  *redis.Client
}

// The two queues that are played with: jobs of either may be children of jobs
// of either.
const (
	mainQueue = "q"
	kidsQueue = "kids"
)

// The workers of both peers that take by hand: by name the queue and options.
var benchWorkers = map[string]struct {
	queue string
	opts  Args
}{
	"plain": {mainQueue, Args{"name": "w1", "metrics": Args{"maxDataPoints": 4}}},
	"limited": {mainQueue, Args{
		"limiter":          Args{"max": 3, "duration": 2 * ttlStep},
		"removeOnComplete": Args{"age": 600, "count": 3}, "removeOnFail": Args{"age": 60, "limit": 2},
	}},
	"kids": {kidsQueue, Args{"name": "nanny"}},
}

// ttlStep, in milliseconds, divides all times to live in the sequences. Keys run
// out by the servers' own clocks, which the test sets back (see world.still): so
// whatever is slow, and one operation may take half of it, no key expires, and
// none looks as if it had been set to another time.
const ttlStep = 300_000

// differentialTime bounds the whole test, beside what each operation may take.
const (
	differentialTime = 10 * time.Minute
	operationTime    = 100 * time.Millisecond
)

func newBench(t *testing.T, lib Library, ops int) *bench {
	t.Helper()
	NeedNode(t)
	ctx, cancel := context.WithTimeout(context.Background(), differentialTime+time.Duration(ops)*operationTime)
	t.Cleanup(cancel)
	one, two := testredis.Shared(t), testredis.Shared(t)
	var mode []Option
	if lib == Node5 {
		mode = append(mode, Peers5())
	}
	b := &bench{T: t, ctx: ctx, lib: lib, leftOut: map[string]int{}, sides: [2]*side{
		{StartNode(t, lib, one.URL()), patient(t, one)}, {StartGo(t, two.URL()+"?read_timeout=1h", mode...), patient(t, two)},
	}}
	for _, s := range b.sides {
		// The first add of a queue announces the program; the worlds begin after that.
		for _, q := range []string{mainQueue, kidsQueue} {
			require.NoError(t, s.peer.Call(ctx, "queue.add", Args{"queue": q, "name": "first", "opts": Args{}}, nil))
		}
		for name, w := range benchWorkers {
			opts := Args{"lockDuration": ttlStep, "stalledInterval": ttlStep}
			maps.Copy(opts, w.opts)
			args := Args{"worker": name, "queue": w.queue, "opts": opts, "backoff": Args{"mine": []int{700, 0, -1}}}
			require.NoError(t, s.peer.Call(ctx, "worker.open", args, nil))
		}
	}
	return b
}

// patient is a client that waits for a slow server, and never does twice what it
// was asked for once.
func patient(t *testing.T, server *testredis.Server) *redis.Client {
	t.Helper()
	opts := server.Options()
	opts.MaxRetries, opts.ReadTimeout = -1, -1
	c := redis.NewClient(opts)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// play plays one random sequence, and returns it; a difference ends it.
func (b *bench) play(r *rand.Rand) ([]call, []string) {
	b.Helper()
	w := b.world()
	g := &generator{r: r, w: w}
	for len(w.played) < sequenceOps {
		c := g.next()
		if why := deviates(w, c); why != "" {
			b.leftOut[c.Op+": "+why]++
			continue
		}
		if diff := w.step(c); diff != nil {
			return w.played, diff
		}
	}
	return w.played, nil
}

// shortenTime is how long a sequence is tried to be made shorter.
const shortenTime = 60 * time.Second

// shorten leaves out what is not needed for the peers to differ. Where a job
// is only needed because it takes a number, the number is taken by itself.
func (b *bench) shorten(calls []call, diff []string) ([]call, []string) {
	b.Helper()
	end := time.Now().Add(shortenTime)
	try := func(other []call) bool {
		if time.Now().After(end) {
			return false
		}
		d := b.again(other)
		if d != nil {
			calls, diff = other, d
		}
		return d != nil
	}
	for size := len(calls) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(calls); {
			if !try(slices.Concat(calls[:at], calls[at+size:])) {
				at += size
			}
		}
	}
	for at := range calls {
		if n := numbers(calls[at]); n > 0 {
			other := slices.Clone(calls)
			other[at] = call{"burn", Args{"queue": calls[at].Args["queue"], "numbers": n}}
			try(other)
		}
	}
	for at := 0; at < len(calls); {
		if !try(slices.Concat(calls[:at], calls[at+1:])) {
			at++
		}
	}
	return calls, diff
}

// numbers is how many ids an operation takes.
func numbers(c call) int {
	switch c.Op {
	case "queue.add":
		return 1
	case "queue.addBulk":
		return len(c.Args["jobs"].([]Args))
	}
	return 0
}

// again plays a sequence until the peers differ.
func (b *bench) again(calls []call) []string {
	b.Helper()
	w := b.world()
	for _, c := range calls {
		if deviates(w, c) != "" {
			continue
		}
		if diff := w.step(c); diff != nil {
			return diff
		}
	}
	return nil
}
