package redisq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// gate holds up scripts on their way to the server.
type gate struct {
	arrived chan struct{}
	pass    chan error // nil: the script goes on; else it fails
	open    chan struct{}
}

func (h *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "evalsha" {
			return next(ctx, cmd)
		}
		select {
		case h.arrived <- struct{}{}:
			if err := <-h.pass; err != nil {
				return err
			}
		case <-h.open:
		}
		return next(ctx, cmd)
	}
}

// gathering is a store whose two lanes are held up by a gate.
type gathering struct {
	*Store
	*gate
	t    *testing.T
	c    *redis.Client
	adds sync.WaitGroup
}

func newGathering(t *testing.T) *gathering {
	t.Helper()
	srv := testredis.Any(t)
	client := srv.Client(t)
	g := &gathering{t: t, c: srv.Client(t), gate: &gate{make(chan struct{}), make(chan error), make(chan struct{})}}
	client.AddHook(g.gate)
	var err error
	g.Store, err = New(client)
	require.NoError(t, err)
	g.gatherOf("q").patience = time.Hour
	for i := range addLanes {
		g.adds.Go(func() {
			_, _ = g.Add(t.Context(), "q", []storage.NewJob{plainJob("lane" + strconv.Itoa(i))}) // tests look at what is stored
		})
		<-g.arrived
	}
	return g
}

// add adds a job in the background, and returns when it has joined the others.
func (g *gathering) add(ctx context.Context, job storage.NewJob) <-chan answer {
	g.t.Helper()
	before := g.gathered()
	got := make(chan answer, 1)
	g.adds.Go(func() {
		added, err := g.Add(ctx, "q", []storage.NewJob{job})
		got <- answer{added, err}
	})
	require.Eventually(g.t, func() bool { return g.gathered() == before+1 }, patience, time.Millisecond)
	return got
}

type answer struct {
	added []storage.Added
	err   error
}

func (g *gathering) gathered() int {
	q := g.gatherOf("q")
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

func (g *gathering) lanes() int {
	q := g.gatherOf("q")
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running
}

func (g *gathering) stored() []string {
	g.t.Helper()
	ids, err := g.c.LRange(context.Background(), "bull:q:wait", 0, -1).Result()
	require.NoError(g.t, err)
	names := []string{}
	for _, id := range ids {
		names = append(names, g.c.HGet(context.Background(), "bull:q:"+id, "name").Val())
	}
	slices.Sort(names)
	return names
}

func TestAddsOfManyGoroutinesShareACall(t *testing.T) {
	t.Parallel()
	g := newGathering(t)
	var answers []<-chan answer
	want := []string{"lane0", "lane1"}
	for i := range 30 {
		job := plainJob(fmt.Sprintf("job%02d", i))
		job.Timestamp = job.Timestamp.Add(time.Duration(i) * time.Millisecond)
		want = append(want, job.Name)
		answers = append(answers, g.add(t.Context(), job))
	}
	g.pass <- nil
	<-g.arrived // with all the others
	require.Zero(t, g.gathered())
	g.pass <- nil
	g.pass <- nil
	close(g.open)
	g.adds.Wait()
	for i, a := range answers {
		got := <-a
		require.NoError(t, got.err)
		key := "bull:q:" + got.added[0].ID
		require.Equal(t, fmt.Sprintf("job%02d", i), g.c.HGet(t.Context(), key, "name").Val())
		require.Equal(t, fmt.Sprint(1700000000000+int64(i)), g.c.HGet(t.Context(), key, "timestamp").Val())
	}
	require.Equal(t, want, append([]string{"lane0", "lane1"}, slices.DeleteFunc(g.stored(), func(n string) bool { return n[:4] == "lane" })...))
	require.Eventually(t, func() bool { return g.lanes() == 0 }, patience, time.Millisecond)
}

// What becomes of one add is its own: a job that is there already, a context
// that ends before or while the call is under way.
func TestGatheredAddsFailEachOnItsOwn(t *testing.T) {
	t.Parallel()
	g := newGathering(t)
	require.NoError(t, g.c.HSet(t.Context(), "bull:q:there", "name", "old").Err())
	existing := plainJob("second")
	existing.ID = "there"
	gone, cancelGone := context.WithCancel(t.Context())
	left, cancelLeft := context.WithCancel(t.Context())
	answers := []<-chan answer{g.add(t.Context(), plainJob("first")), g.add(t.Context(), existing), g.add(gone, plainJob("never")), g.add(left, plainJob("last"))}
	cancelGone()
	got := <-answers[2]
	require.ErrorIs(t, got.err, context.Canceled)
	require.NotErrorIs(t, got.err, storage.ErrUncertain)
	g.pass <- nil
	<-g.arrived
	cancelLeft()
	got = <-answers[3]
	require.ErrorIs(t, got.err, context.Canceled)
	require.ErrorIs(t, got.err, storage.ErrUncertain)
	g.pass <- nil
	g.pass <- nil
	close(g.open)
	g.adds.Wait()
	got = <-answers[0]
	require.NoError(t, got.err)
	require.Len(t, got.added, 1)
	got = <-answers[1]
	require.NoError(t, got.err)
	require.Equal(t, []storage.Added{{ID: "there", Existing: true, Name: "old"}}, got.added)
	require.Equal(t, []string{"first", "lane0", "lane1", "last"}, g.stored())
}

func TestGatheredAddsShareAnErrorOfTheirCall(t *testing.T) {
	t.Parallel()
	g := newGathering(t)
	answers := []<-chan answer{g.add(t.Context(), plainJob("a")), g.add(t.Context(), plainJob("b"))}
	g.pass <- nil
	<-g.arrived
	boom := errors.New("boom")
	g.pass <- boom // whichever of the two calls that are held up it is, one is that of a lane
	g.pass <- boom
	for _, a := range answers {
		require.ErrorIs(t, (<-a).err, boom)
	}
	close(g.open)
	g.adds.Wait()
	added, err := g.Add(t.Context(), "q", []storage.NewJob{plainJob("later")})
	require.NoError(t, err)
	require.Len(t, added, 1)
}

// Calls that are not answered hold up nobody for long.
func TestAddsDoNotWaitBehindADeadConnection(t *testing.T) {
	t.Parallel()
	g := newGathering(t)
	g.gatherOf("q").patience = 0
	done := make(chan error, 1)
	go func() {
		_, err := g.Add(t.Context(), "q", []storage.NewJob{plainJob("direct")})
		done <- err
	}()
	<-g.arrived // and not behind the others
	close(g.open)
	for range addLanes + 1 {
		g.pass <- nil
	}
	require.NoError(t, <-done)
	g.adds.Wait()
	require.Equal(t, []string{"direct", "lane0", "lane1"}, g.stored())
}

// Gathered calls are no larger than others.
func TestGatheredCallsAreBounded(t *testing.T) {
	t.Parallel()
	g := &gather{running: addLanes}
	job := plainJob("x")
	for range 7 {
		j := &joined{}
		for range joinJobs {
			j.jobs = append(j.jobs, intake{NewJob: &job})
		}
		g.waiting = append(g.waiting, j)
	}
	for left := 7; left > 0; left -= addJobs / joinJobs {
		require.Len(t, g.next(), min(left, addJobs/joinJobs))
	}
	require.Nil(t, g.next())
	require.Equal(t, addLanes-1, g.running)
	large := job
	large.Data = make([]byte, addBytes/8)
	require.False(t, joins([]intake{{NewJob: &large}}))
	for range 12 {
		large.Data = make([]byte, addBytes/10)
		g.waiting = append(g.waiting, &joined{jobs: []intake{{NewJob: &large}}})
	}
	require.Len(t, g.next(), 9)
}
