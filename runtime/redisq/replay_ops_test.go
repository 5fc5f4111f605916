package redisq

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// replayOps replays what is recorded of operators and inspectors.
var replayOps = map[string]replayFunc{
	"addLog":                    replayAddLog,
	"changeDelay":               replayChangeDelay,
	"changePriority":            replayChangePriority,
	"cleanJobsInSet":            replayClean,
	"drain":                     replayDrain,
	"getCounts":                 replayCounts,
	"getCountsPerPriority":      replayCountsByPriority,
	"getDependencyCounts":       replayDependencyCounts,
	"getJobs":                   replayListJobs,
	"getMetrics":                replayMetrics,
	"getRanges":                 replayList,
	"getRateLimitTtl":           replayRateLimitTTL,
	"getState":                  replayState,
	"getStateV2":                replayState,
	"isFinished":                replayFinish,
	"moveJobsToWait":            replayRetryAll,
	"obliterate":                replayObliterate,
	"paginate":                  replayDependencies,
	"pause":                     replayPause,
	"promote":                   replayPromote,
	"removeChildDependency":     replayUnlink,
	"removeDeduplicationKey":    replayReleaseDedup,
	"removeJob":                 replayRemove,
	"removeOrphanedJobs":        replayOrphans,
	"removeUnprocessedChildren": replayRemovePending,
	"reprocessJob":              replayRetry,
	"updateData":                replayUpdateData,
	"updateProgress":            replayUpdateProgress,

	"plain:setGlobalConcurrency":       replaySetConcurrency,
	"plain:removeGlobalConcurrency":    replaySetConcurrency,
	"plain:getGlobalConcurrency":       replayConcurrency,
	"plain:setGlobalRateLimit":         replaySetLimit,
	"plain:removeGlobalRateLimit":      replaySetLimit,
	"plain:getGlobalRateLimit":         replayLimit,
	"plain:rateLimit":                  replayHold,
	"plain:removeRateLimitKey":         replayHold,
	"plain:getVersion":                 replayVersion,
	"plain:getMeta":                    replayMeta,
	"plain:isPaused":                   replayIsPaused,
	"plain:getJob":                     replayJob,
	"plain:getJobLogs":                 replayLogs,
	"plain:clearLogs":                  replayClearLogs,
	"plain:isJobInState":               replayInState,
	"plain:getState":                   replayState,
	"plain:getDeduplicationJobId":      replayDedupJob,
	"plain:removeDeduplicationKey":     replayFreeDedup,
	"plain:getChildrenValues":          replayChildren(storage.DependencyProcessed),
	"plain:getIgnoredChildrenFailures": replayChildren(storage.DependencyIgnored),
	"plain:getDependencies":            replayAllChildren,
	"plain:trimEvents":                 replayTrimEvents,
}

// replayArgs are the arguments of a record, by their names.
type replayArgs struct {
	JobID, JobKey, ParentKey, State, Row, Action, Data, Progress, DeduplicationKey, Push, ID string

	Timestamp float64 // for delayed jobs it is the largest number there is
	Delay     float64

	Start, End, Max, Duration, MS, Keep, Grace              int64
	Priority, Limit, Count, MaxJobs, Concurrency, MaxLength int

	Lifo, Delayed, Asc, Force, EmitEvent, RemoveChildren, WantValue bool

	ResetAttemptsMade, ResetAttemptsStarted, FetchJobs bool

	KeepLogs   any
	States     []string
	Priorities []int
	Kinds      []string
	Candidates []string
}

func argsOf(r *vectors.Record) (queue string, a replayArgs, err error) {
	_, queue = r.Queue()
	var raw map[string]json.RawMessage
	if err = r.Decode(&raw); err != nil {
		return queue, a, err
	}
	b, err := json.Marshal(raw)
	if err != nil {
		return queue, a, err
	}
	return queue, a, json.Unmarshal(b, &a)
}

// done is the reply of an operation that says with 0 that it was done.
func done(err error) (any, error) { return 0, err }

func replayAddLog(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	keep, _ := a.KeepLogs.(float64) // "" stands for all
	return s.AddLog(ctx, queue, a.JobID, a.Row, int(keep))
}

func replayChangeDelay(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return done(s.ChangeDelay(ctx, queue, a.JobID, time.UnixMilli(int64(a.Timestamp)), recordedMillis(a.Delay)))
}

func replayChangePriority(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return done(s.ChangePriority(ctx, queue, a.JobID, a.Priority, a.Lifo))
}

// replayClean replays one step: peers look at as many entries as they remove at most.
func replayClean(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	room := a.Limit
	if room == 0 {
		room = math.MaxInt32
	}
	ids, _, _, err := s.cleanStep(ctx, queue, a.State, time.UnixMilli(int64(a.Timestamp)), room, a.Limit, 0)
	return ids, err
}

func replayTrimEvents(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return s.TrimEvents(ctx, queue, a.MaxLength)
}

func replayDrain(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return nil, s.Drain(ctx, queue, a.Delayed)
}

func replayRetryAll(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	upTo := "+inf"
	if a.State != "delayed" {
		upTo = strconv.FormatInt(int64(a.Timestamp), 10)
	}
	n, err := s.moveStep(ctx, queue, storage.State(a.State), upTo, a.Count)
	return flag(n == int64(a.Count)), err
}

func replayObliterate(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return s.obliterateStep(ctx, queue, a.Force, a.Count, true)
}

func replayPause(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	if a.Action == "paused" {
		return vectors.NoReply, s.Pause(ctx, queue)
	}
	_, err = s.resumePart(ctx, queue, a.EmitEvent, resumeStep)
	return vectors.NoReply, err
}

func replayPromote(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return done(s.Promote(ctx, queue, a.JobID))
}

func replayUnlink(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	_, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	i := strings.LastIndexByte(a.JobKey, ':')
	queue := strings.TrimPrefix(a.JobKey[:i], s.prefix+":")
	was, err := s.RemoveChildDependency(ctx, queue, a.JobKey[i+1:])
	return flag(!was), err
}

func replayReleaseDedup(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	was, err := s.RemoveDedupKey(ctx, queue, strings.TrimPrefix(a.DeduplicationKey, r.Base()+"de:"), a.JobID)
	return flag(was), err
}

func replayRemove(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	err = s.Remove(ctx, queue, a.JobID, a.RemoveChildren)
	if errors.Is(err, storage.ErrLocked) {
		return 0, nil
	}
	return 1, err
}

func replayOrphans(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return s.removeOrphans(ctx, queue, a.Candidates, 0)
}

func replayRemovePending(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return nil, s.RemovePendingChildren(ctx, queue, a.JobID)
}

func replayRetry(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return 1, s.Retry(ctx, queue, a.JobID, storage.RetryRequest{
		State: storage.State(a.State), ResetMade: a.ResetAttemptsMade, ResetStarted: a.ResetAttemptsStarted,
	})
}

func replayUpdateData(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return done(s.UpdateData(ctx, queue, r.Job(), []byte(a.Data)))
}

func replayUpdateProgress(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return done(s.UpdateProgress(ctx, queue, a.JobID, []byte(a.Progress)))
}

func replaySetConcurrency(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return vectors.NoReply, s.SetGlobalConcurrency(ctx, queue, a.Concurrency)
}

func replaySetLimit(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	var limit *storage.RateLimit
	if a.Max > 0 {
		limit = &storage.RateLimit{Max: int(a.Max), Per: time.Duration(a.Duration) * time.Millisecond}
	}
	return vectors.NoReply, s.SetGlobalRateLimit(ctx, queue, limit)
}

func replayHold(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return vectors.NoReply, s.RateLimit(ctx, queue, time.Duration(a.MS)*time.Millisecond)
}

func replayClearLogs(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return nil, s.ClearLogs(ctx, queue, a.JobID, int(a.Keep))
}

func replayFreeDedup(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	was, err := s.RemoveDedupKey(ctx, queue, a.ID, "")
	return flag(was), err
}
