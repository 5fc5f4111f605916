package redisq

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
)

// replayFunc runs our operation for a record of the peer's, and returns what
// stands for the peer's reply (vectors.NoReply: nothing does).
type replayFunc func(ctx context.Context, s *Store, r *vectors.Record) (reply any, err error)

// replays are all operations that have a counterpart here, by the record's.
func replays() map[string]replayFunc {
	all := map[string]replayFunc{}
	for _, some := range []map[string]replayFunc{replayAdd, replaySettle, replayOps} {
		maps.Copy(all, some)
	}
	return all
}

// vectorFolders are the records of this repository, those beside a checkout of
// it, and those that the environment names.
func vectorFolders() []string {
	dirs := []string{filepath.Join("..", "..", "testdata", "vectors")}
	beside := filepath.Join("..", "..", "..", "shared", "protocol", "vectors")
	if _, err := os.Stat(beside); err == nil {
		dirs = append(dirs, beside)
	}
	for _, dir := range filepath.SplitList(os.Getenv("BULLMQ_VECTORS")) {
		if dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// tally counts what became of the records of an operation.
type tally struct{ same, differ, unmapped, deviate int }

// outcome is what became of one record.
type outcome struct {
	record *vectors.Record
	diff   []string
	mapped bool
}

// TestVectors replays recorded states of a real BullMQ: the state before, our
// operation, and the state after must be the peer's.
func TestVectors(t *testing.T) {
	records, err := vectors.Load(vectorFolders()...)
	require.NoError(t, err)
	deviations, err := vectors.LoadDeviations(filepath.Join("..", "..", "testdata", "vectors", "deviations.json"))
	require.NoError(t, err)
	if !testing.Short() && len(records) == 0 {
		t.Fatal("no records found")
	}
	var sum tally
	byOp := map[string]*tally{}
	shown := 0
	for _, o := range replayAll(t, records, func(t testing.TB) *testredis.Server { return testredis.Any(t) }) {
		op := byOp[o.record.Op()]
		if op == nil {
			op = &tally{}
			byOp[o.record.Op()] = op
		}
		deviation := deviations.Find(o.record)
		switch {
		case !o.mapped:
			op.unmapped++
			sum.unmapped++
		case len(o.diff) == 0:
			op.same++
			sum.same++
			if deviation != nil && len(deviation.IDs) > 0 {
				t.Errorf("%s: listed as a deviation, but replays with no difference (%s)", o.record.ID, deviation.Reason)
			}
		case deviation != nil:
			op.deviate++
			sum.deviate++
		default:
			op.differ++
			sum.differ++
			if shown++; shown <= 20 {
				t.Errorf("%s (%s, %s)\n  args %s\n  %s", o.record.ID, o.record.Lib, o.record.Note, o.record.Args, strings.Join(o.diff, "\n  "))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byOp)) {
		op := byOp[name]
		t.Logf("%-40s %4d replayed, %d differ, %d not mapped, %d deviate", name, op.same, op.differ, op.unmapped, op.deviate)
	}
	fmt.Printf("vectors: %d replayed, %d differ, %d not mapped, %d deviate by decision\n", sum.same, sum.differ, sum.unmapped, sum.deviate)
	if sum.differ > 0 {
		t.Fail()
	}
}

// TestVectorsOnTheEmbeddedServer replays every tenth record in process: scripts
// need nothing that the embedded server lacks.
func TestVectorsOnTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	records, err := vectors.Load(filepath.Join("..", "..", "testdata", "vectors"))
	require.NoError(t, err)
	deviations, err := vectors.LoadDeviations(filepath.Join("..", "..", "testdata", "vectors", "deviations.json"))
	require.NoError(t, err)
	var some []*vectors.Record
	for i, r := range records {
		if i%10 == 0 && !strings.HasPrefix(r.Op(), "plain:") {
			some = append(some, r)
		}
	}
	for _, o := range replayAll(t, some, testredis.Mini, vectors.TrimmedStreams) {
		if len(o.diff) > 0 && deviations.Find(o.record) == nil {
			t.Errorf("%s (%s)\n  %s", o.record.ID, o.record.Note, strings.Join(o.diff, "\n  "))
		}
	}
}

// replayAll replays records, several at a time, each in a database of its own.
func replayAll(t *testing.T, records []*vectors.Record, server func(testing.TB) *testredis.Server, opts ...vectors.Option) []outcome {
	t.Helper()
	ctx := context.Background()
	funcs := replays()
	out := make([]outcome, len(records))
	next := make(chan int)
	var all sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		rdb := server(t).Client(t)
		all.Go(func() {
			for i := range next {
				out[i] = replayOne(ctx, rdb, funcs[records[i].Op()], records[i], opts)
			}
		})
	}
	for i := range records {
		next <- i
	}
	close(next)
	all.Wait()
	return out
}

// replayOne replays a record in an empty database.
func replayOne(ctx context.Context, rdb *redis.Client, f replayFunc, r *vectors.Record, opts []vectors.Option) outcome {
	o := outcome{record: r, mapped: f != nil}
	if f == nil {
		return o
	}
	if err := rdb.FlushDB(ctx).Err(); err != nil {
		o.diff = []string{err.Error()}
		return o
	}
	if err := vectors.Apply(ctx, rdb, r.Before); err != nil {
		o.diff = []string{"state before: " + err.Error()}
		return o
	}
	prefix, _ := r.Queue()
	storeOpts := []Option{}
	if prefix != "" {
		storeOpts = append(storeOpts, Prefix(prefix))
	}
	if r.Peers5() {
		storeOpts = append(storeOpts, Peers5())
	}
	s, err := New(rdb, storeOpts...)
	if err != nil {
		o.diff = []string{err.Error()}
		return o
	}
	reply, err := f(ctx, s, r)
	o.diff = vectors.DiffReply(r.Reply, reply, err)
	after, err := vectors.Snapshot(ctx, rdb)
	if err != nil {
		o.diff = append(o.diff, err.Error())
		return o
	}
	o.diff = append(o.diff, vectors.Diff(r.After, after, opts...)...)
	return o
}
