package redisq

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// replaySettle replays what a worker does to a queue.
var replaySettle = map[string]replayFunc{
	"moveToActive":            replayMoveToActive,
	"moveToFinished":          replayMoveToFinished,
	"moveToDelayed":           replayMoveToDelayed,
	"retryJob":                replayRetryJob,
	"moveJobFromActiveToWait": replayMoveToWait,
	"moveToWaitingChildren":   replayMoveToWaitingChildren,
	"extendLock":              replayExtendLock,
	"extendLocks":             replayExtendLocks,
	"moveStalledJobsToWait":   replayStalled,
}

// takeOpts are what the peer is told about taking jobs.
type takeOpts struct {
	Token        string `json:"token"`
	LockDuration int64  `json:"lockDuration"`
	Limiter      *struct {
		Max      int     `json:"max"`
		Duration float64 `json:"duration"`
	} `json:"limiter"`
	Name *string `json:"name"`
}

func (o *takeOpts) request(now int64) *storage.SettleRequest {
	req := &storage.SettleRequest{
		Now: time.UnixMilli(now), Token: o.Token, Lock: time.Duration(o.LockDuration) * time.Millisecond,
	}
	if o.Name != nil {
		req.Worker = *o.Name
	}
	if o.Limiter != nil {
		req.Limit = &storage.RateLimit{Max: o.Limiter.Max, Per: time.Duration(o.Limiter.Duration * float64(time.Millisecond))}
	}
	return req
}

// settleOne settles one job. Peers take none when the job is refused.
func settleOne(ctx context.Context, s *Store, r *vectors.Record, req *storage.SettleRequest) (*storage.SettleReply, error) {
	if string(r.Reply)[0] == '-' {
		req.Take = 0
	}
	_, queue := r.Queue()
	reply, err := s.Settle(ctx, queue, req)
	if err != nil {
		return nil, err
	}
	return reply, reply.Errs[0]
}

// taken is the peer's answer to taking a job: the job, its id, the time of a limit and that of the next delayed job.
func taken(reply *storage.SettleReply) []any {
	if len(reply.Jobs) == 0 {
		return []any{0, 0, vectors.Near(reply.Limited.Milliseconds()), dueMillis(reply.Due)}
	}
	return []any{vectors.JobOf(reply.Jobs[0]), reply.Jobs[0].ID, 0, 0}
}

func dueMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func replayMoveToActive(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var args struct {
		Timestamp int64    `json:"timestamp"`
		Opts      takeOpts `json:"opts"`
	}
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	req := args.Opts.request(args.Timestamp)
	req.Take = 1
	_, queue := r.Queue()
	reply, err := s.Settle(ctx, queue, req)
	if err != nil {
		return nil, err
	}
	return taken(reply), nil
}

type keepJobs struct {
	Count *int  `json:"count"`
	Age   int64 `json:"age"`
	Limit int   `json:"limit"`
}

func (k keepJobs) keep() storage.Keep {
	out := storage.Keep{Age: time.Duration(k.Age) * time.Second, Limit: k.Limit}
	if k.Count != nil {
		out.Remove = *k.Count == 0
		out.Count = max(0, *k.Count)
	}
	return out
}

func replayMoveToFinished(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var args struct {
		JobID     string `json:"jobId"`
		Timestamp int64  `json:"timestamp"`
		Value     string `json:"value"`
		Target    string `json:"target"`
		FetchNext bool   `json:"fetchNext"`
		Opts      struct {
			takeOpts
			KeepJobs       keepJobs `json:"keepJobs"`
			Attempts       int      `json:"attempts"`
			MaxMetricsSize any      `json:"maxMetricsSize"`
		} `json:"opts"`
		Fields map[string]string `json:"fields"`
	}
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	req := args.Opts.request(args.Timestamp)
	st := storage.Settlement{
		ID: args.JobID, Token: req.Token, Kind: storage.Completed, Value: []byte(args.Value),
		Attempts: args.Opts.Attempts, Keep: args.Opts.KeepJobs.keep(),
	}
	if args.Target == "failed" {
		st.Kind, st.Value, st.Reason = storage.Failed, nil, args.Value
		if err := failure(&st, args.Fields); err != nil {
			return nil, err
		}
	}
	req.Settle = []storage.Settlement{st}
	req.MetricPoints, _ = strconv.Atoi(fmt.Sprint(args.Opts.MaxMetricsSize))
	if args.FetchNext {
		req.Take = 1
	}
	reply, err := settleOne(ctx, s, r, req)
	switch {
	case err != nil:
		return nil, err
	case len(reply.Jobs) == 0 && string(r.Reply) == "0": // the peer says in one word that there is nothing
		if reply.Limited != 0 || !reply.Due.IsZero() {
			return taken(reply), nil
		}
		return 0, nil
	}
	return taken(reply), nil
}

// failure sets what is written about a failed attempt.
func failure(st *storage.Settlement, fields map[string]string) error {
	for name, value := range fields {
		switch name {
		case "failedReason":
			st.Reason = value
		case "stacktrace":
			st.Stack = []byte(value)
		case "tm":
			st.Telemetry = value
		default:
			return fmt.Errorf("field %q is not one of a failed attempt", name)
		}
	}
	return nil
}

func replayMoveToDelayed(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var args struct {
		JobID       string            `json:"jobId"`
		Timestamp   int64             `json:"timestamp"`
		Token       string            `json:"token"`
		Delay       float64           `json:"delay"`
		SkipAttempt bool              `json:"skipAttempt"`
		FetchNext   bool              `json:"fetchNext"`
		Fields      map[string]string `json:"fields"`
		Opts        takeOpts          `json:"opts"`
	}
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	req := args.Opts.request(args.Timestamp)
	st := storage.Settlement{ID: args.JobID, Token: args.Token, Kind: storage.RetryLater, Delay: time.Duration(args.Delay * float64(time.Millisecond))}
	if args.SkipAttempt {
		st.Kind = storage.DelayedUntil
	}
	if err := failure(&st, args.Fields); err != nil {
		return nil, err
	}
	req.Settle = []storage.Settlement{st}
	if args.FetchNext {
		req.Take = 1
	}
	reply, err := settleOne(ctx, s, r, req)
	if err != nil || len(reply.Jobs) == 0 { // the peer does not tell of limits and delayed jobs here
		return 0, err
	}
	return taken(reply), nil
}

func replayRetryJob(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var args struct {
		JobID       string            `json:"jobId"`
		Timestamp   int64             `json:"timestamp"`
		Token       string            `json:"token"`
		PushCommand string            `json:"push"`
		Fields      map[string]string `json:"fields"`
	}
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	st := storage.Settlement{ID: args.JobID, Token: args.Token, Kind: storage.RetryNow, LIFO: args.PushCommand == "RPUSH"}
	if err := failure(&st, args.Fields); err != nil {
		return nil, err
	}
	_, err := settleOne(ctx, s, r, &storage.SettleRequest{Now: time.UnixMilli(args.Timestamp), Settle: []storage.Settlement{st}})
	return 0, err
}

func replayMoveToWait(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var args struct {
		JobID string `json:"jobId"`
		Token string `json:"token"`
	}
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	st := storage.Settlement{ID: args.JobID, Token: args.Token, Kind: storage.BackToWait}
	reply, err := settleOne(ctx, s, r, &storage.SettleRequest{Now: time.UnixMilli(1700000000000), Settle: []storage.Settlement{st}})
	if errors.Is(err, storage.ErrNotInState) { // the peer keeps silent about it
		return 0, nil
	}
	if err != nil {
		return nil, err
	}
	return vectors.Near(reply.Limited.Milliseconds()), nil
}

func replayMoveToWaitingChildren(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var args struct {
		JobID     string `json:"jobId"`
		Timestamp int64  `json:"timestamp"`
		Token     string `json:"token"`
		ChildKey  string `json:"childKey"`
	}
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	st := storage.Settlement{ID: args.JobID, Token: args.Token, Kind: storage.WaitForChildren, Child: args.ChildKey}
	_, err := settleOne(ctx, s, r, &storage.SettleRequest{Now: time.UnixMilli(args.Timestamp), Settle: []storage.Settlement{st}})
	if errors.Is(err, storage.ErrNoChildren) {
		return 1, nil
	}
	return 0, err
}

func replayExtendLock(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var args struct {
		JobID    string `json:"jobId"`
		Token    string `json:"token"`
		Duration int64  `json:"duration"`
	}
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	_, queue := r.Queue()
	lost, err := s.Renew(ctx, queue, []storage.Lock{{ID: args.JobID, Token: args.Token}}, time.Duration(args.Duration)*time.Millisecond)
	return 1 - len(lost), err
}

func replayExtendLocks(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var args struct {
		JobIDs   []string `json:"jobIds"`
		Tokens   []string `json:"tokens"`
		Duration int64    `json:"duration"`
	}
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	locks := make([]storage.Lock, len(args.JobIDs))
	for i, id := range args.JobIDs {
		locks[i] = storage.Lock{ID: id, Token: args.Tokens[i]}
	}
	_, queue := r.Queue()
	return s.Renew(ctx, queue, locks, time.Duration(args.Duration)*time.Millisecond)
}

func replayStalled(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var args struct {
		MaxStalledCount int   `json:"maxStalledCount"`
		Timestamp       int64 `json:"timestamp"`
		CheckTTL        int64 `json:"checkTtl"`
	}
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	_, queue := r.Queue()
	return s.RecoverStalled(ctx, queue, storage.StalledRequest{
		Now: time.UnixMilli(args.Timestamp), Interval: time.Duration(args.CheckTTL) * time.Millisecond, MaxStalled: args.MaxStalledCount,
	})
}
