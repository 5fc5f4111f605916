package audit

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	invariants "github.com/bullmq-gen/bullmq-gen/internal/audit"
)

// checkJobs checks jobs as they were seen, and those that looked wrong as they
// are at one moment.
func (q *queue) checkJobs(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	jobs, types, err := q.readJobs(ctx, ids, false)
	if err != nil {
		return err
	}
	for i, j := range jobs {
		if types[i] == "hash" {
			q.jobs++
			if n, err := strconv.ParseInt(j.ID, 10, 64); err == nil && strconv.FormatInt(n, 10) == j.ID {
				q.lastID = max(q.lastID, n)
			}
		}
		if types[i] != "hash" || len(collect(j.Check)) > 0 {
			if err := q.confirm(ctx, j.ID); err != nil {
				return err
			}
		}
		if j.Pending > 0 || j.Failing > 0 {
			if err := q.children(ctx, j); err != nil {
				return err
			}
		}
	}
	return nil
}

func (q *queue) confirm(ctx context.Context, id string) error {
	jobs, types, err := q.readJobs(ctx, []string{id}, true)
	if err != nil || types[0] == "none" {
		return err
	}
	if types[0] != "hash" {
		return q.addAll(ctx, collect(func(r invariants.Report) { invariants.CheckUnknown(r, q.base+id, types[0]) }))
	}
	return q.addAll(ctx, collect(jobs[0].Check))
}

// children checks the children that a parent refers to.
func (q *queue) children(ctx context.Context, j *invariants.Job) error {
	if j.Pending > 0 {
		if err := q.eachChild(ctx, j, q.client.SScan(ctx, j.Key+":dependencies", 0, "", page).Iterator(), 1, func(c *invariants.Child) func(invariants.Report) {
			return func(r invariants.Report) { c.CheckPending(r, j.Key, j.ID) }
		}); err != nil {
			return err
		}
	}
	if j.Failing == 0 {
		return nil
	}
	return q.eachChild(ctx, j, q.client.ZScan(ctx, j.Key+":unsuccessful", 0, "", page).Iterator(), 2, func(c *invariants.Child) func(invariants.Report) {
		return func(r invariants.Report) { c.CheckFailing(r, j.Key, j.ID) }
	})
}

// eachChild checks children that an iterator names, at every step-th place.
func (q *queue) eachChild(ctx context.Context, j *invariants.Job, it *redis.ScanIterator, step int, check func(*invariants.Child) func(invariants.Report)) error {
	var keys []string
	flush := func() error {
		if len(keys) == 0 {
			return nil
		}
		replies, err := q.read(ctx, "child", j.ID, keys)
		if err != nil {
			return err
		}
		for i, r := range replies {
			if c := readChild(keys[i], r); c != nil {
				if err := q.addAll(ctx, collect(check(c))); err != nil {
					return err
				}
			}
		}
		keys = keys[:0]
		return nil
	}
	for n := 0; it.Next(ctx); n++ {
		if n%step != 0 {
			continue // the score of the member before
		}
		if keys = append(keys, it.Val()); len(keys) == page {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	return flush()
}

// readChild returns nil if the parent refers to the child no more.
func readChild(key string, r []any) *invariants.Child {
	if integer(at(r, 0)) == 0 && at(r, 1) == nil {
		return nil
	}
	return &invariants.Child{
		Key: key, FailedAt: number(at(r, 1)), Exists: integer(at(r, 2)) == 1, ParentKey: text(at(r, 3)),
		Timestamp: number(at(r, 4)), Completed: integer(at(r, 5)) == 1, Failed: integer(at(r, 6)) == 1,
	}
}

// checkParts reports keys of jobs that do not exist. A lock that expires is
// left out: a job may be removed while its lock has not ended.
func (q *queue) checkParts(ctx context.Context, suffixes []string) error {
	type read struct {
		job, part *redis.IntCmd
		typ       *redis.StatusCmd
		ttl       *redis.DurationCmd
	}
	if len(suffixes) == 0 {
		return nil
	}
	reads := make([]read, len(suffixes))
	if _, err := q.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for i, s := range suffixes {
			id := s[:strings.LastIndexByte(s, ':')]
			reads[i] = read{p.Exists(ctx, q.base+id), p.Exists(ctx, q.base+s), p.Type(ctx, q.base+s), p.PTTL(ctx, q.base+s)}
		}
		return nil
	}); err != nil {
		return err
	}
	for i, s := range suffixes {
		cut := strings.LastIndexByte(s, ':')
		id, part := s[:cut], s[cut+1:]
		problems := collect(func(r invariants.Report) {
			if reads[i].part.Val() > 0 {
				invariants.CheckType(r, q.base+s, reads[i].typ.Val(), invariants.PartTypes[part])
			}
		})
		if reads[i].job.Val() == 0 && reads[i].part.Val() > 0 && (part != "lock" || reads[i].ttl.Val() < 0) {
			problems = append(problems, collect(func(r invariants.Report) { invariants.CheckPart(r, q.base+s, id) })...)
		}
		if err := q.addAll(ctx, problems); err != nil {
			return err
		}
	}
	return nil
}
