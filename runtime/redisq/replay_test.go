package redisq

import (
	"context"
	commandline "flag" // the package has a function of that name
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
	for _, some := range []map[string]replayFunc{replayAdd, replaySettle, replayOps, replayPlain, replayFlow, replaySchedule} {
		maps.Copy(all, some)
	}
	return all
}

// vectorFolders are the records of this repository and those that the
// environment names.
func vectorFolders() []string {
	dirs := []string{filepath.Join("..", "..", "testdata", "vectors")}
	for _, dir := range filepath.SplitList(os.Getenv("BULLMQ_VECTORS")) {
		if dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

var onlyRecords = commandline.String("record", "", "replay only the records whose id or operation contains this text")

// tally counts what became of records.
type tally struct{ same, differ, unmapped, deviate int }

func (c tally) String() string {
	return fmt.Sprintf("%d replayed, %d differ, %d not mapped, %d deviate by decision", c.same, c.differ, c.unmapped, c.deviate)
}

// outcome is what became of one record.
type outcome struct {
	record *vectors.Record
	diff   []string
	mapped bool
}

// shownDiffs is how many records that differ are shown with all they differ in.
const shownDiffs = 20

// TestVectors replays recorded states of a real BullMQ: the state before, our
// operation, and the state after must be the peer's. With -record only some:
//
//	go test ./runtime/redisq -run TestVectors -v -record moveToActive-017
func TestVectors(t *testing.T) {
	records, err := vectors.Load(vectorFolders()...)
	require.NoError(t, err)
	records = slices.DeleteFunc(records, func(r *vectors.Record) bool {
		return !strings.Contains(r.ID, *onlyRecords) && !strings.Contains(r.Op(), *onlyRecords)
	})
	require.NotEmpty(t, records, "no such record")
	deviations := loadDeviations(t)

	var sum tally
	byOp := map[string]*tally{}
	used := map[*vectors.Deviation]bool{}
	for _, o := range replayAll(t, records, testredis.Any) {
		op := byOp[o.record.Op()]
		if op == nil {
			op = &tally{}
			byOp[o.record.Op()] = op
		}
		found := deviations.Find(o.record)
		unexplained := found.Unexplained(o.diff)
		for _, c := range []*tally{op, &sum} {
			c.count(&o, unexplained)
		}
		judge(t, &o, unexplained, sum.differ)
		for _, d := range found {
			used[d] = used[d] || o.mapped
			judgeDeviation(t, &o, d)
		}
	}
	for i, d := range deviations {
		if *onlyRecords == "" && !used[d] {
			t.Errorf("stale deviation: no record falls under entry %d: %s", i+1, d.Reason)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byOp)) {
		t.Logf("%-40s %v", name, byOp[name])
	}
	fmt.Printf("vectors: %v\n", sum)
}

func loadDeviations(t *testing.T) vectors.Deviations {
	t.Helper()
	list, err := vectors.LoadDeviations(filepath.Join("..", "..", "testdata", "vectors", "deviations.json"))
	require.NoError(t, err)
	return list
}

func (c *tally) count(o *outcome, unexplained []string) {
	switch {
	case !o.mapped:
		c.unmapped++
	case len(o.diff) == 0:
		c.same++
	case len(unexplained) == 0:
		c.deviate++
	default:
		c.differ++
	}
}

// judge fails the test for a record that differs.
func judge(t *testing.T, o *outcome, unexplained []string, differ int) {
	t.Helper()
	r := o.record
	switch {
	case !o.mapped || len(unexplained) == 0:
	case differ > shownDiffs:
		t.Fail()
	default:
		t.Errorf("%s (%s, %s)\n  args %s\n  %s", r.ID, r.Lib, r.Note, r.Args, strings.Join(unexplained, "\n  "))
	}
}

// judgeDeviation fails the test for a record that falls under a deviation but
// does not show it. A condition that meets records which replay like the
// peer's is not exact, and may hide what it is not about.
func judgeDeviation(t *testing.T, o *outcome, d *vectors.Deviation) {
	t.Helper()
	rest := vectors.Deviations{d}.Unexplained(o.diff)
	if o.mapped && len(rest) == len(o.diff) {
		t.Errorf("stale deviation: %s (%s, %s) shows nothing of it: %s\n  %s",
			o.record.ID, o.record.Lib, o.record.Note, d.Reason, strings.Join(o.diff, "\n  "))
	}
}

// TestVectorsOnTheEmbeddedServer replays every tenth record in process: scripts
// need nothing that the embedded server lacks.
func TestVectorsOnTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	records, err := vectors.Load(filepath.Join("..", "..", "testdata", "vectors"))
	require.NoError(t, err)
	deviations := loadDeviations(t)
	var some []*vectors.Record
	for i, r := range records {
		if i%10 == 0 {
			some = append(some, r)
		}
	}
	for _, o := range replayAll(t, some, testredis.Mini) {
		if diff := deviations.Find(o.record).Unexplained(o.diff); len(diff) > 0 {
			t.Errorf("%s (%s)\n  %s", o.record.ID, o.record.Note, strings.Join(diff, "\n  "))
		}
	}
}

// replayAll replays records, several at a time, each in a database of its own.
func replayAll(t *testing.T, records []*vectors.Record, server func(testing.TB) *testredis.Server) []outcome {
	t.Helper()
	ctx := context.Background()
	funcs := replays()
	out := make([]outcome, len(records))
	next := make(chan int)
	var all sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		srv := server(t)
		rdb := srv.Client(t)
		var opts []vectors.Option
		if srv.InProcess() {
			opts = append(opts, vectors.TrimmedStreams)
		}
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
	if r.Op() == "plain:trimEvents" && slices.Contains(opts, vectors.TrimmedStreams) {
		reply = vectors.NoReply // how many were removed
	}
	o.diff = vectors.DiffReply(r.Reply, reply, err)
	after, err := vectors.Snapshot(ctx, rdb)
	if err != nil {
		o.diff = append(o.diff, err.Error())
		return o
	}
	o.diff = append(o.diff, vectors.Diff(r.After, after, opts...)...)
	return o
}
