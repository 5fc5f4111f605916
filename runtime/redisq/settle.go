package redisq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
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
	if err != nil && len(req.Settle) > 0 && ofOneJob(err) {
		return s.settleApart(ctx, queue, req)
	}
	if err != nil {
		return nil, err
	}
	reply, err := parseSettled(cmd.Val(), queue, req)
	if err != nil {
		return nil, unreadable(fmt.Errorf("bullmq: reply of the settle script on queue %q: %w", queue, err))
	}
	return reply, nil
}

// settleApart carries out a request that stopped at a job with a key that cannot
// be used: each settlement in a call of its own, and then the taking, so that no
// job keeps others from being settled or taken.
func (s *Store) settleApart(ctx context.Context, queue string, req *storage.SettleRequest) (*storage.SettleReply, error) {
	errs := make([]error, len(req.Settle))
	part := *req
	part.Again, part.Take = true, 0
	for i := range req.Settle {
		part.Settle = req.Settle[i : i+1]
		args, err := settleArgs(&part)
		if err != nil {
			return nil, err
		}
		cmd, err := runWith(ctx, s, redis.NewStringSliceCmd, "settle", queue, args)
		switch {
		case err == nil:
			reply, err := parseSettled(cmd.Val(), queue, &part)
			if err != nil {
				return nil, unreadable(fmt.Errorf("bullmq: reply of the settle script on queue %q: %w", queue, err))
			}
			errs[i] = reply.Errs[0]
		case ofOneJob(err):
			errs[i] = fmt.Errorf("bullmq: settle of job %q on queue %q: %w", req.Settle[i].ID, queue, err)
		default:
			return nil, err
		}
	}
	part.Settle, part.Take = nil, req.Take
	reply, err := s.Settle(ctx, queue, &part)
	if err != nil {
		return nil, err
	}
	reply.Errs = errs
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

// Letters of the script beside those of storage: completed jobs that are not
// kept as most are, and others of which the script knows something already.
const (
	keptOtherwise = 'k'
	sameToken     = 't' // as the job before it has
	sameOutcome   = 'e' // token and value
)

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
		switch {
		case st.Kind != storage.Completed:
			others++
		case policyOf(&st.Keep) != common:
			kinds[i] = keptOtherwise
			others++
		case i > 0:
			kinds[i] = letterAfter(st, &req.Settle[i-1])
		}
	}
	args := make([]any, headArgs, headArgs+7+3*len(kinds)+extrasPerJob*others)
	args = append(args, req.Now.UnixMilli(), max(0, req.Take), &req.Token, req.Lock.Milliseconds(), &req.Worker,
		kinds, rareTerms(req, common))
	for i := range req.Settle {
		st := &req.Settle[i]
		switch kinds[i] {
		case sameOutcome:
			args = append(args, &st.ID)
		case sameToken:
			args = append(args, &st.ID, st.Value)
		default:
			args = append(args, &st.ID, &st.Token, settledValue(st))
		}
	}
	for i := range req.Settle {
		switch kinds[i] {
		case byte(storage.Completed), sameToken, sameOutcome:
		default:
			args = appendExtras(args, &req.Settle[i])
		}
	}
	return args, nil
}

// letterAfter is the letter of a completed job that stands behind another one:
// jobs that one call took have the same token, and often have no result.
func letterAfter(st, before *storage.Settlement) byte {
	switch {
	case st.Token != before.Token:
		return byte(storage.Completed)
	case before.Kind != storage.Completed || !bytes.Equal(st.Value, before.Value):
		return sameToken
	}
	return sameOutcome
}

func checkSettle(req *storage.SettleRequest) error {
	if req.Take > 0 && req.Token == "" {
		return storage.Invalid("bullmq: jobs cannot be taken without a token")
	}
	if req.Take > 0 && req.Token != "0" && req.Lock < time.Millisecond {
		return storage.Invalid("bullmq: jobs cannot be locked for %v: give at least a millisecond", req.Lock)
	}
	for i := range req.Settle {
		switch req.Settle[i].Kind {
		case storage.Completed, storage.Failed, storage.RetryNow, storage.RetryLater, storage.DelayedUntil,
			storage.BackToWait, storage.WaitForChildren:
		default:
			return storage.Invalid("bullmq: job %q cannot be settled: its kind %q is not known", req.Settle[i].ID, req.Settle[i].Kind)
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
func rareTerms(req *storage.SettleRequest, keep policy) string {
	if keep == keepAll && req.Limit == nil && req.MetricPoints <= 0 && !req.Again {
		return ""
	}
	most, per, again := "", "", "0"
	if req.Limit != nil {
		most, per = strconv.Itoa(req.Limit.Max), strconv.FormatInt(max(1, req.Limit.Per.Milliseconds()), 10)
	}
	if req.Again {
		again = "1"
	}
	return strconv.Itoa(keep.count) + " " + strconv.FormatInt(keep.age, 10) + " " + strconv.Itoa(keep.limit) + " " +
		most + " " + per + " " + strconv.Itoa(max(0, req.MetricPoints)) + " " + again
}

// settled reads the script's reply: parts that begin with what they are.
type settled struct {
	queue string
	req   *storage.SettleRequest
	now   time.Time // as stored
	left  []string  // values that were not read yet
	reply storage.SettleReply
}

func parseSettled(out []string, queue string, req *storage.SettleRequest) (*storage.SettleReply, error) {
	s := &settled{queue: queue, req: req, now: time.UnixMilli(req.Now.UnixMilli()), left: out}
	s.reply.Errs = make([]error, len(req.Settle))
	for len(s.left) > 0 {
		if err := s.part(); err != nil {
			return nil, err
		}
	}
	return &s.reply, nil
}

// next returns the next n values.
func (s *settled) next(n int) ([]string, error) {
	if n < 0 || len(s.left) < n {
		return nil, errors.New("it is too short")
	}
	v := s.left[:n]
	s.left = s.left[n:]
	return v, nil
}

func (s *settled) part() error {
	what := s.left[0]
	s.left = s.left[1:]
	switch what {
	case "r":
		return s.refusal()
	case "o":
		return s.other()
	case "l", "d":
		v, err := s.next(1)
		if err != nil {
			return err
		}
		if what == "l" {
			s.reply.Limited = parseDelay(v[0])
		} else {
			s.reply.Due = parseTime(v[0])
		}
		return nil
	}
	n := parseInt(what)
	switch {
	case n > 0:
		return s.fresh(n, 3)
	case n < 0:
		return s.fresh(-n, 5)
	}
	return fmt.Errorf("it has a part %.20q, which is not known", what)
}

func (s *settled) refusal() error {
	v, err := s.next(2)
	if err != nil {
		return err
	}
	i := parseInt(v[0]) - 1
	if i < 0 || i >= len(s.reply.Errs) {
		return fmt.Errorf("it refuses job %s of %d", v[0], len(s.reply.Errs))
	}
	s.reply.Errs[i] = refused("settle", s.queue, s.req.Settle[i].ID, settleError(v[1]))
	return nil
}

// fresh reads n jobs that were never taken before and have neither delay nor
// priority: the script tells only what their producer wrote, and first what
// they have in common.
func (s *settled) fresh(n, common int) error {
	head, err := s.next(common)
	if err != nil {
		return err
	}
	values, err := s.next(2 * n)
	if err != nil {
		return err
	}
	s.reply.Jobs = slices.Grow(s.reply.Jobs, n)
	for v := range slices.Chunk(values, 2) {
		r := &storage.Record{
			ID: v[0], Name: head[0], Data: []byte(v[1]), Opts: []byte(head[1]),
			Timestamp: parseTime(head[2]), AttemptsStarted: 1, ProcessedOn: s.now, ProcessedBy: s.req.Worker,
		}
		if common == 5 {
			r.ParentKey, r.Parent = head[3], []byte(head[4])
		}
		s.reply.Jobs = append(s.reply.Jobs, r)
	}
	return nil
}

// other reads any other job. It has no fields if its hash is gone.
func (s *settled) other() error {
	head, err := s.next(2)
	if err != nil {
		return err
	}
	fields, err := s.next(parseInt(head[1]))
	if err != nil {
		return err
	}
	r := newRecord(head[0], fields)
	s.reply.Jobs = append(s.reply.Jobs, &r)
	return nil
}

func settleError(code string) error {
	n := parseInt64(code)
	if n == 1 {
		return storage.ErrNoChildren
	}
	return codeError(n)
}
