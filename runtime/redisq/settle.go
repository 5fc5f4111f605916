package redisq

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Settle implements [storage.Consumer]. Everything happens in one script; see
// the head of scripts/settle.lua for the order in which jobs are settled.
//
// req.Worker must be the name of the worker that took the jobs to be settled:
// with it the script knows by the number of its fields a job to which nothing
// unusual happened.
//
// A reply has Limited also when a job went back to wait while a limit set by
// hand is in force; no job is taken then, or it would be that very job.
func (s *Store) Settle(ctx context.Context, queue string, req *storage.SettleRequest) (*storage.SettleReply, error) {
	args, err := settleArgs(req)
	if err != nil {
		return nil, err
	}
	cmd, err := runWith(ctx, s, redis.NewStringSliceCmd, "settle", queue, args)
	if err != nil {
		return nil, err
	}
	reply, err := parseSettled(cmd.Val(), queue, req)
	if err != nil {
		return nil, fmt.Errorf("bullmq: reply of the settle script on queue %q: %w", queue, err)
	}
	return reply, nil
}

// policy is what is kept of finished jobs, as the script takes it.
type policy struct {
	count int   // -1: all, 0: none
	age   int64 // ms; 0: ever
	limit int   // how many old ones go at a time
}

// keepAll is the policy that the script assumes where none is given.
var keepAll = policy{count: -1, limit: 1000}

// text is the policy as one argument.
func (p policy) text() string {
	if p == keepAll {
		return ""
	}
	return strconv.Itoa(p.count) + " " + strconv.FormatInt(p.age, 10) + " " + strconv.Itoa(p.limit)
}

func policyOf(k *storage.Keep) policy {
	p := keepAll
	if k.Remove {
		p.count = 0
		return p
	}
	if k.Count > 0 {
		p.count = k.Count
	}
	if k.Age > 0 {
		p.age = max(1, k.Age.Milliseconds())
		if k.Limit > 0 {
			p.limit = k.Limit
		}
	}
	return p
}

// commonPolicy is a policy that most completed jobs of a request have, if there is one.
func commonPolicy(jobs []storage.Settlement) policy {
	best, lead := keepAll, 0
	for i := range jobs {
		if jobs[i].Kind != storage.Completed {
			continue
		}
		switch p := policyOf(&jobs[i].Keep); {
		case lead == 0:
			best, lead = p, 1
		case p == best:
			lead++
		default:
			lead--
		}
	}
	return best
}

// keptOtherwise is the script's letter for a completed job that is not kept as most are.
const keptOtherwise = 'k'

// extrasPerJob is how many arguments each job that is no plain completed one has beside the three that all have.
const extrasPerJob = 6

// settleArgs are the arguments of the script, with room for what stands before them.
func settleArgs(req *storage.SettleRequest) ([]any, error) {
	if err := checkSettle(req); err != nil {
		return nil, err
	}
	kinds := make([]byte, len(req.Settle))
	common := commonPolicy(req.Settle)
	others := 0
	for i := range req.Settle {
		st := &req.Settle[i]
		kinds[i] = byte(st.Kind)
		if st.Kind == storage.Completed && policyOf(&st.Keep) != common {
			kinds[i] = keptOtherwise
		}
		if kinds[i] != byte(storage.Completed) {
			others++
		}
	}
	args := make([]any, headArgs, headArgs+8+3*len(kinds)+extrasPerJob*others)
	args = append(args, req.Now.UnixMilli(), max(0, req.Take), &req.Token, req.Lock.Milliseconds(), &req.Worker,
		kinds, common.text(), rareTerms(req))
	for i := range req.Settle {
		st := &req.Settle[i]
		args = append(args, &st.ID, &st.Token, settledValue(st))
	}
	for i := range req.Settle {
		if kinds[i] != byte(storage.Completed) {
			args = appendExtras(args, &req.Settle[i])
		}
	}
	return args, nil
}

func checkSettle(req *storage.SettleRequest) error {
	if req.Take > 0 && req.Token == "" {
		return errors.New("bullmq: jobs cannot be taken without a token")
	}
	if req.Take > 0 && req.Token != "0" && req.Lock < time.Millisecond {
		return fmt.Errorf("bullmq: jobs cannot be locked for %v: give at least a millisecond", req.Lock)
	}
	for i := range req.Settle {
		switch req.Settle[i].Kind {
		case storage.Completed, storage.Failed, storage.RetryNow, storage.RetryLater, storage.DelayedUntil,
			storage.BackToWait, storage.WaitForChildren:
		default:
			return fmt.Errorf("bullmq: job %q cannot be settled: its kind %q is not known", req.Settle[i].ID, req.Settle[i].Kind)
		}
	}
	return nil
}

// settledValue is the argument that says most about a settlement.
func settledValue(st *storage.Settlement) any {
	switch st.Kind {
	case storage.Completed:
		return st.Value
	case storage.WaitForChildren:
		return &st.Child
	}
	return &st.Reason
}

func appendExtras(args []any, st *storage.Settlement) []any {
	number := int64(0)
	switch st.Kind {
	case storage.Failed:
		number = int64(st.Attempts)
	case storage.BackToWait:
		if st.Unstarted {
			number = 1
		}
	case storage.RetryNow:
		if st.LIFO {
			number = 1
		}
	case storage.RetryLater, storage.DelayedUntil:
		number = max(0, st.Delay.Milliseconds())
	}
	p := policyOf(&st.Keep)
	return append(args, st.Stack, &st.Telemetry, number, p.count, p.age, p.limit)
}

// rareTerms is one argument for what few calls have: each one costs the server
// about a thousand instructions (bench/instructions).
func rareTerms(req *storage.SettleRequest) string {
	if req.Limit == nil && req.MetricPoints <= 0 && !req.Again {
		return ""
	}
	most, per, again := "", "", "0"
	if req.Limit != nil {
		most, per = strconv.Itoa(req.Limit.Max), strconv.FormatInt(max(1, req.Limit.Per.Milliseconds()), 10)
	}
	if req.Again {
		again = "1"
	}
	return most + " " + per + " " + strconv.Itoa(max(0, req.MetricPoints)) + " " + again
}

var errShort = errors.New("it is too short")

// parseSettled reads the script's reply, a flat list.
func parseSettled(out []string, queue string, req *storage.SettleRequest) (*storage.SettleReply, error) {
	if len(out) < 3 {
		return nil, errShort
	}
	reply := &storage.SettleReply{Errs: make([]error, len(req.Settle)), Limited: parseDelay(out[0]), Due: parseTime(out[1])}
	refusals := parseInt(out[2])
	out = out[3:]
	if refusals < 0 || len(out) < 2*refusals {
		return nil, errShort
	}
	for ; refusals > 0; refusals-- {
		i := parseInt(out[0]) - 1
		if i < 0 || i >= len(reply.Errs) {
			return nil, fmt.Errorf("it refuses job %s of %d", out[0], len(reply.Errs))
		}
		reply.Errs[i] = refused("settle", queue, req.Settle[i].ID, settleError(out[1]))
		out = out[2:]
	}
	var err error
	reply.Jobs, err = parseTaken(out, req)
	return reply, err
}

// parseTaken reads what the script tells of the jobs that it took.
func parseTaken(out []string, req *storage.SettleRequest) ([]*storage.Record, error) {
	if len(out) == 0 {
		return nil, nil
	}
	jobs := make([]*storage.Record, 0, req.Take)
	now := time.UnixMilli(req.Now.UnixMilli())
	for len(out) > 0 {
		if out[0] != "" {
			if len(out) < 5 {
				return nil, errShort
			}
			jobs = append(jobs, freshRecord(out[0], out[1:], req.Worker, now))
			out = out[5:]
			continue
		}
		if len(out) < 3 {
			return nil, errShort
		}
		id, size := out[1], parseInt(out[2])
		out = out[3:]
		switch {
		case size == 1 && len(out) >= 6: // a new child
			r := freshRecord(id, out, req.Worker, now)
			r.ParentKey, r.Parent = out[4], []byte(out[5])
			jobs = append(jobs, r)
			out = out[6:]
		case size != 1 && size >= 0 && len(out) >= size: // none: its hash is gone
			r := newRecord(id, out[:size])
			jobs = append(jobs, &r)
			out = out[size:]
		default:
			return nil, errShort
		}
	}
	return jobs, nil
}

// freshRecord makes a record of a job that was never taken before and has
// neither delay nor priority, of which the script tells only what else its
// producer wrote.
func freshRecord(id string, f []string, worker string, now time.Time) *storage.Record {
	return &storage.Record{
		ID: id, Name: f[0], Data: []byte(f[1]), Opts: []byte(f[2]),
		Timestamp: parseTime(f[3]), AttemptsStarted: 1, ProcessedOn: now, ProcessedBy: worker,
	}
}

func settleError(code string) error {
	n := parseInt64(code)
	if n == 1 {
		return storage.ErrNoChildren
	}
	return codeError(n)
}
