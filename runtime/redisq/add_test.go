package redisq

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// plainJob is a job with nothing special to it.
func plainJob(name string) storage.NewJob {
	return storage.NewJob{Name: name, Data: []byte(`{"a":1}`), Opts: []byte(`{"attempts":0}`), Timestamp: time.UnixMilli(1700000000000)}
}

func plainJobs(n int) []storage.NewJob {
	jobs := make([]storage.NewJob, n)
	for i := range jobs {
		jobs[i] = plainJob("n" + strconv.Itoa(i))
	}
	return jobs
}

// Ids are decimal text everywhere, whatever the counter stands at: also where
// a server or Lua itself would print a number in another form.
func TestAddIDsAtBordersOfTheCounter(t *testing.T) {
	t.Parallel()
	for _, start := range []int64{0, 99999999, 299999999, 999999999999, 99999999999998, 9007199254740980} {
		onServers(t, nil, func(b *bench) {
			if strconv.IntSize == 32 && start > math.MaxInt32 && strings.Contains(b.t.Name(), "in-process") {
				b.t.Skip("the embedded server answers with an int of the machine")
			}
			counter := start
			b.do("set", b.key("q", "id"), counter)
			b.job("q", "parent")
			jobs := plainJobs(6)
			jobs[2].Delay = time.Second
			jobs[3].Priority = 5
			jobs[4].LIFO = true
			jobs[5].Parent = &storage.Parent{ID: "parent", Queue: "bull:q"}
			for _, part := range [][]storage.NewJob{jobs[:5], jobs[5:]} { // with a parent in the call ids are given one by one
				added, err := b.Add(b.ctx, "q", part)
				require.NoError(t, err)
				for i, a := range added {
					counter++
					id := strconv.FormatInt(counter, 10)
					require.Equal(t, storage.Added{ID: id}, a)
					require.Equal(t, part[i].Name, b.c.HGet(b.ctx, b.key("q", id), "name").Val())
				}
			}
			last := func(back int64) string { return strconv.FormatInt(counter-back, 10) }
			require.Equal(t, []string{last(1), last(5), last(4), last(0)}, b.list("q", "wait"))
			require.Equal(t, []string{last(3)}, b.set("q", "delayed"))
			require.Equal(t, []string{last(2)}, b.set("q", "prioritized"))
			require.Equal(t, []string{"bull:q:" + last(0)}, b.c.SMembers(b.ctx, b.key("q", "parent:dependencies")).Val())
			require.Equal(t, last(0), b.c.Get(b.ctx, b.key("q", "id")).Val())
			seen := map[string]int{}
			for _, m := range b.c.XRange(b.ctx, b.key("q", "events"), "-", "+").Val() {
				seen[m.Values["jobId"].(string)]++
			}
			for back := range int64(6) {
				require.Equal(t, 2, seen[last(back)], "events of job %s: %v", last(back), seen)
			}
		})
	}
}

// Each job of a call has its own answer.
func TestAddAnswers(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		b.job("q", "p1")
		b.job("q", "p2")
		jobs := plainJobs(8)
		jobs[1].ID = "mine"
		jobs[2].ID, jobs[2].Data = "mine", []byte(`{"other":1}`)
		jobs[3].Parent = &storage.Parent{ID: "nobody", Queue: "bull:q"}
		jobs[4].ID, jobs[4].Parent = "child", &storage.Parent{ID: "p1", Queue: "bull:q", OnFail: storage.OnFailFail}
		jobs[5].ID, jobs[5].Parent = "child", &storage.Parent{ID: "p2", Queue: "bull:q"}
		jobs[6].Dedup = &storage.Dedup{ID: "d", TTL: time.Minute}
		jobs[7].Dedup = &storage.Dedup{ID: "d"}

		added, err := b.Add(b.ctx, "q", jobs)
		require.NoError(t, err)
		require.Equal(t, []storage.Added{{ID: "1"}, {ID: "mine"}, {ID: "mine", Existing: true, Name: jobs[1].Name}}, added[:3])
		require.ErrorIs(t, added[3].Err, storage.ErrNoParent)
		require.Empty(t, added[3].ID)
		require.Equal(t, storage.Added{ID: "child"}, added[4])
		require.ErrorIs(t, added[5].Err, storage.ErrOtherParent)
		require.EqualError(t, added[5].Err, `bullmq: add of job "child" on queue "q": job belongs to another parent`)
		require.Equal(t, []storage.Added{{ID: "6"}, {ID: "6", Existing: true, Name: jobs[6].Name}}, added[6:])

		require.Equal(t, `{"a":1}`, b.c.HGet(b.ctx, b.key("q", "mine"), "data").Val())
		require.JSONEq(t, `{"id":"p1","queueKey":"bull:q","fpof":true}`, b.c.HGet(b.ctx, b.key("q", "child"), "parent").Val())
		require.Equal(t, []string{"1", "mine", "child", "6"}, b.list("q", "wait"))
		require.Equal(t, "7", b.c.Get(b.ctx, b.key("q", "id")).Val(), "a job without a parent takes no id")
	})
}

// Many jobs are added in steps, in order, with consecutive ids.
func TestAddManyJobs(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		const n = 10000
		b.do("hset", b.key("q", "meta"), "opts.maxLenEvents", "500")
		added, err := b.Add(b.ctx, "q", plainJobs(n))
		require.NoError(t, err)
		require.Len(t, added, n)
		want := make([]string, n)
		for i, a := range added {
			require.NoError(t, a.Err)
			require.Equal(t, strconv.Itoa(i+1), a.ID)
			want[i] = a.ID
		}
		require.Equal(t, want, b.list("q", "wait"))
		require.Equal(t, fmt.Sprint("n", n-1), b.c.HGet(b.ctx, b.key("q", strconv.Itoa(n)), "name").Val())
		kept := b.c.XLen(b.ctx, b.key("q", "events")).Val()
		require.GreaterOrEqual(t, kept, int64(500))
		require.Less(t, kept, int64(500+2*addJobs), "the stream is kept short while many jobs are added")
	})
}

func TestAddNothing(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		added, err := b.Add(b.ctx, "q", nil)
		require.NoError(t, err)
		require.Empty(t, added)
		require.Empty(t, b.keys())
	})
}

// Payloads and names reach the hash byte by byte.
func TestAddKeepsBytes(t *testing.T) {
	t.Parallel()
	onServers(t, []Option{Prefix("{a}:b")}, func(b *bench) {
		job := plainJob("")
		job.ID, job.Name = "my id/é\n", "name \x00 ü"
		job.Data, job.Opts = []byte("\"\x00\xff\""), []byte(`{"big":12345678901234567890,"list":[]}`)
		_, err := b.Add(b.ctx, "my queue/ü", []storage.NewJob{job})
		require.NoError(t, err)
		require.Equal(t, map[string]string{
			"name": job.Name, "data": string(job.Data), "opts": string(job.Opts),
			"timestamp": "1700000000000", "delay": "0", "priority": "0",
		}, b.c.HGetAll(b.ctx, "{a}:b:my queue/ü:my id/é\n").Val())
		require.Equal(t, []string{job.ID}, b.c.LRange(b.ctx, "{a}:b:my queue/ü:wait", 0, -1).Val())
	})
}

func TestStepSizes(t *testing.T) {
	t.Parallel()
	job := func(size int) intake { return intake{NewJob: &storage.NewJob{Data: bytes.Repeat([]byte("x"), size)}} }
	many := make([]intake, addJobs+1)
	for i := range many {
		many[i] = job(10)
	}
	require.Equal(t, addJobs, step(many))
	require.Equal(t, addJobs, step(many[:addJobs]))
	require.Equal(t, 1, step([]intake{job(addBytes * 2), job(1)}), "a large job goes alone")
	require.Equal(t, 2, step([]intake{job(addBytes / 2), job(addBytes / 2), job(1)}))
	require.Equal(t, 1, step([]intake{job(1), job(addBytes)}))
}

// What would damage a queue is refused before anything is sent.
func TestAddRefuses(t *testing.T) {
	t.Parallel()
	onServers(t, nil, func(b *bench) {
		for want, change := range map[string]func(*storage.NewJob){
			`"0:x" must not be 0`:           func(j *storage.NewJob) { j.ID = "0:x" },
			`"0" must not be 0`:             func(j *storage.NewJob) { j.ID = "0" },
			"there are no options":          func(j *storage.NewJob) { j.Opts = nil },
			"it has no timestamp":           func(j *storage.NewJob) { j.Timestamp = time.Time{} },
			"priority -1 is not one of 0":   func(j *storage.NewJob) { j.Priority = -1 },
			"priority 2097152 is not one":   func(j *storage.NewJob) { j.Priority = 1 << 21 },
			"deduplication needs an id":     func(j *storage.NewJob) { j.Dedup = &storage.Dedup{} },
			"a parent needs an id":          func(j *storage.NewJob) { j.Parent = &storage.Parent{Queue: "bull:q"} },
			"and a queue with its prefix":   func(j *storage.NewJob) { j.Parent = &storage.Parent{ID: "1"} },
			`queue "q": job 2 of 3: job id`: func(j *storage.NewJob) { j.ID = "0" },
		} {
			jobs := plainJobs(3)
			change(&jobs[1])
			added, err := b.Add(b.ctx, "q", jobs)
			require.ErrorContains(t, err, want)
			require.Nil(t, added)
		}
		require.Empty(t, b.keys())
	})
}

// The text that is stored with a child decides what happens when it fails.
func TestParentJSON(t *testing.T) {
	t.Parallel()
	require.Equal(t, `{"id":"1","queueKey":"bull:q"}`, parentJSON(&storage.Parent{ID: "1", Queue: "bull:q"}))
	for _, policy := range []storage.OnFail{storage.OnFailFail, storage.OnFailContinue, storage.OnFailIgnore, storage.OnFailRemove} {
		got := parentJSON(&storage.Parent{ID: "<a>\"\n", Queue: "b:é", OnFail: policy})
		require.Equal(t, `{"id":"<a>\"\n","queueKey":"b:é","`+string(policy)+`":true}`, got)
	}
}

// A store works the same over both protocols, and over any client it is given.
func TestAddOverBothProtocols(t *testing.T) {
	t.Parallel()
	for _, protocol := range []int{2, 3} {
		srv := testredis.Any(t)
		o := srv.Options()
		o.Protocol = protocol
		o.ContextTimeoutEnabled = protocol == 2
		c := redis.NewClient(o)
		t.Cleanup(func() { _ = c.Close() })
		s, err := New(c)
		require.NoError(t, err)
		jobs := plainJobs(3)
		jobs[1].ID, jobs[2].ID = "x", "x"
		added, err := s.Add(t.Context(), "q", jobs)
		require.NoError(t, err)
		require.Equal(t, []storage.Added{{ID: "1"}, {ID: "x"}, {ID: "x", Existing: true, Name: "n1"}}, added)
		events, err := s.ReadEvents(t.Context(), "q", "", time.Second)
		require.NoError(t, err)
		var names []string
		for _, e := range events {
			names = append(names, e.Name+" "+e.Fields["jobId"])
		}
		require.Equal(t, "added 1,waiting 1,added x,waiting x,duplicated x", strings.Join(names, ","))
	}
}

// An answer that makes no sense is an error, not jobs without ids.
func TestAddRefusesStrangeReplies(t *testing.T) {
	t.Parallel()
	jobs := plainJobs(2)
	list := []intake{{NewJob: &jobs[0]}, {NewJob: &jobs[1]}}
	for _, reply := range []any{
		nil, "x", []any{}, []any{"x"}, []any{int64(0), int64(1)},
		[]any{int64(0), int64(0), int64(1), "x", ""}, []any{int64(0), int64(3), int64(1), "x", ""},
		[]any{int64(0), "y", int64(1), "x", ""}, []any{int64(0), int64(1), "y", "x", ""}, []any{int64(0), int64(1), int64(1), nil, ""}, []any{int64(0), int64(1), int64(1), "x", nil},
	} {
		require.Error(t, readAdded("q", list, make([]storage.Added, 2), reply), "%v", reply)
	}
	added := make([]storage.Added, 2)
	require.NoError(t, readAdded("q", list, added, []any{int64(7), int64(2), int64(1), "x", "n"}))
	require.Equal(t, []storage.Added{{ID: "8"}, {ID: "x", Existing: true, Name: "n"}}, added)
}
