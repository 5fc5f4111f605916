package redisq

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// A right that is revoked while jobs run, and granted again later, costs no job.
func TestARevokedCommandLosesNoJob(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	admin := srv.Client(t)
	ctx := context.Background()
	for _, command := range []string{
		"zpopmin", "zrange", "zrem", "lrem", "lpush", "rpush", "ltrim", "lrange", "rpop", "rpoplpush", "zadd", "hset", "hmget", "del",
		"xadd", "srem", "set", "rename", "exists", "incrby",
	} {
		for _, mode := range [][]Option{nil, {Peers5()}} {
			srv.FlushAll()
			require.NoError(t, admin.Do(ctx, "acl", "setuser", "u", "reset", "on", ">pw", "~*", "&*", "+@all").Err())
			o := srv.Options()
			o.Username, o.Password = "u", "pw"
			c := redis.NewClient(o)
			s, err := New(c, mode...)
			require.NoError(t, err)
			var added []string
			for i := range 60 {
				id := "j" + itoa(i)
				require.NoError(t, admin.HSet(ctx, "bull:q:"+id, "name", "n", "data", "{}", "opts", "{}", "timestamp", "1", "delay", "0", "priority", itoa(i%2*3)).Err())
				if i%2 == 0 {
					require.NoError(t, admin.LPush(ctx, "bull:q:wait", id).Err())
				} else {
					require.NoError(t, admin.ZAdd(ctx, "bull:q:prioritized", redis.Z{Score: 3*4294967296 + float64(i), Member: id}).Err())
				}
				added = append(added, id)
			}
			require.NoError(t, admin.Set(ctx, "bull:q:pc", 60, 0).Err())
			done := map[string]int{}
			held := []*storage.Record{}
			work := func(rounds int, take int) (failed error) {
				for range rounds {
					req := settleAt(take)
					for _, j := range held {
						req.Settle = append(req.Settle, completed(j.ID))
					}
					for try := range 3 {
						req.Again = try > 0
						reply, err := s.Settle(ctx, "q", req)
						if err != nil {
							failed = err
							continue
						}
						for i, j := range held {
							if reply.Errs[i] == nil {
								done[j.ID]++
							}
						}
						held = reply.Jobs
						break
					}
				}
				return failed
			}
			require.NoError(t, work(2, 7))
			require.NoError(t, admin.Do(ctx, "acl", "setuser", "u", "-"+command).Err())
			if err := work(2, 7); err != nil {
				require.Contains(t, err.Error(), "+"+command, "the hint names the command")
			}
			require.NoError(t, admin.Do(ctx, "acl", "setuser", "u", "+@all").Err())
			for range 12 {
				require.NoError(t, work(3, 7))
				for _, id := range admin.LRange(ctx, "bull:q:active", 0, -1).Val() { // the locks of those that nobody knows of run out
					if !slices.ContainsFunc(held, func(r *storage.Record) bool { return r.ID == id }) {
						admin.Del(ctx, "bull:q:"+id+":lock")
					}
				}
				admin.Del(ctx, "bull:q:stalled-check")
				_, err := s.RecoverStalled(ctx, "q", storage.StalledRequest{Now: time.Now(), Interval: time.Second, MaxStalled: 100})
				require.NoError(t, err)
			}
			require.NoError(t, work(2, 0))
			for _, id := range added {
				require.NoError(t, admin.ZScore(ctx, "bull:q:completed", id).Err(), "%s denied: %s is not completed", command, id)
			}
			for _, key := range []string{"wait", "prioritized", "active", "paused"} {
				require.Zero(t, admin.Exists(ctx, "bull:q:"+key).Val(), "%s denied: %s is left", command, key)
			}
			require.NoError(t, c.Close())
		}
	}
}

// A job whose attempt could not be counted is found stalled, and does not wait
// as if the attempt had not been made.
func TestARetryThatCannotBeCountedLeavesTheJobActive(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	admin := srv.Client(t)
	ctx := t.Context()
	s, err := New(admin)
	require.NoError(t, err)
	require.NoError(t, admin.HSet(ctx, "bull:q:1", "name", "n", "data", "{}", "opts", "{}", "timestamp", "1", "delay", "0", "priority", "0").Err())
	require.NoError(t, admin.LPush(ctx, "bull:q:wait", "1").Err())
	reply, err := s.Settle(ctx, "q", settleAt(1))
	require.NoError(t, err)
	require.Len(t, reply.Jobs, 1)
	require.NoError(t, admin.Do(ctx, "acl", "setuser", "default", "-hincrby").Err())
	_, err = s.Settle(ctx, "q", settleAt(0, settledAs(storage.RetryNow, "1")))
	require.Error(t, err)
	require.Equal(t, []string{"1"}, admin.LRange(ctx, "bull:q:active", 0, -1).Val())
	require.Empty(t, admin.LRange(ctx, "bull:q:wait", 0, -1).Val())
}

// A call that takes a child and is stopped before it wrote that the child was
// started, writes it when it is made again. The child's parent hears of its end.
func TestATakeThatWasStoppedIsCompletedByTheNextCall(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	admin := srv.Client(t)
	ctx := t.Context()
	s, err := New(admin)
	require.NoError(t, err)
	fields := []any{"name", "n", "data", "{}", "opts", "{}", "timestamp", "1", "delay", "0", "priority", "0"}
	require.NoError(t, admin.HSet(ctx, "bull:q:p", fields...).Err())
	require.NoError(t, admin.ZAdd(ctx, "bull:q:waiting-children", redis.Z{Score: 1, Member: "p"}).Err())
	require.NoError(t, admin.SAdd(ctx, "bull:q:p:dependencies", "bull:q:1").Err())
	require.NoError(t, admin.HSet(ctx, "bull:q:1", append(fields, "parentKey", "bull:q:p", "parent", `{"id":"p","queueKey":"bull:q"}`)...).Err())
	require.NoError(t, admin.LPush(ctx, "bull:q:wait", "1").Err())
	require.NoError(t, admin.HSet(ctx, "bull:q:meta", "opts.maxLenEvents", "10000").Err())
	take := settleAt(1)
	take.Worker, take.Limit = "", &storage.RateLimit{Max: 5, Per: time.Hour} // without a name such a child has as many fields as a job that was started
	require.NoError(t, admin.Do(ctx, "acl", "setuser", "default", "-xadd").Err())
	_, err = s.Settle(ctx, "q", take)
	require.Error(t, err)
	require.NoError(t, admin.Do(ctx, "acl", "setuser", "default", "+xadd").Err())
	take.Again = true
	reply, err := s.Settle(ctx, "q", take)
	require.NoError(t, err)
	require.Len(t, reply.Jobs, 1)
	require.Equal(t, 1, reply.Jobs[0].AttemptsStarted)
	require.Equal(t, "1", admin.Get(ctx, "bull:q:limiter").Val(), "it counts for the rate limit")
	done := settleAt(0, completed("1"))
	done.Worker = ""
	reply, err = s.Settle(ctx, "q", done)
	require.NoError(t, err)
	require.NoError(t, reply.Errs[0])
	require.Empty(t, admin.SMembers(ctx, "bull:q:p:dependencies").Val())
	require.Equal(t, []string{"p"}, admin.LRange(ctx, "bull:q:wait", 0, -1).Val())
}
