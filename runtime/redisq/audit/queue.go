package audit

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	invariants "github.com/bullmq-gen/bullmq-gen/internal/audit"
)

// queue is the audit of one queue.
type queue struct {
	*auditor
	name, base string
	jobs       int
	// listed counts how often an id is in each of listNames.
	listed map[string][3]uint8
	// legacy counts the markers of BullMQ 4 in the lists of waiting jobs.
	legacy    int
	scheduled map[string]bool
	foreign   map[string]bool // names of nested queues
	// lastID and lastPlace are the largest id that is a number, and the
	// prioritized job with the largest place.
	lastID    int64
	lastPlace invariants.Member
	next      []string // deduplication ids under which a job is kept to follow another
}

func newQueue(a *auditor, name string) *queue {
	return &queue{
		auditor: a, name: name, base: a.prefix + ":" + name + ":",
		listed: map[string][3]uint8{}, scheduled: map[string]bool{},
	}
}

// collect runs checks and returns what they report.
func collect(checks ...func(invariants.Report)) []invariants.Problem {
	var problems []invariants.Problem
	for _, check := range checks {
		check(func(p invariants.Problem) { problems = append(problems, p) })
	}
	return problems
}

func (q *queue) addAll(ctx context.Context, problems []invariants.Problem) error {
	for _, p := range problems {
		if err := q.add(ctx, q.name, p); err != nil {
			return err
		}
	}
	return nil
}

// run audits the queue. Keys of a wrong type make everything else unreadable,
// so they end the audit of the queue.
func (q *queue) run(ctx context.Context) error {
	wrong, err := q.types(ctx)
	if err != nil || len(wrong) > 0 {
		return orAdd(err, func() error { return q.addAll(ctx, wrong) })
	}
	for _, step := range []func(context.Context) error{
		q.lists, q.sets, q.schedulers, q.keys, q.checkNext, q.counters, q.itself, q.events,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func orAdd(err error, add func() error) error {
	if err != nil {
		return err
	}
	return add()
}

// types checks the types of the queue's own keys.
func (q *queue) types(ctx context.Context) ([]invariants.Problem, error) {
	cmds := map[string]*redis.StatusCmd{}
	if _, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for name := range invariants.OwnTypes {
			cmds[name] = p.Type(ctx, q.base+name)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return collect(func(r invariants.Report) {
		for name, cmd := range cmds {
			if cmd.Val() != "none" {
				invariants.CheckType(r, q.base+name, cmd.Val(), invariants.OwnTypes[name])
			}
		}
	}), nil
}

// lists remembers which ids are in lists, and reports those of no job.
func (q *queue) lists(ctx context.Context) error {
	for i, name := range listNames {
		for from := int64(0); ; from += page {
			ids, err := q.client.LRange(ctx, q.base+name, from, from+page-1).Result()
			if err != nil {
				return err
			}
			var known []string
			for _, id := range ids {
				if invariants.IsLegacy(id) {
					if name != "active" {
						q.legacy++
					}
					continue
				}
				counts := q.listed[id]
				counts[i]++
				q.listed[id] = counts
				known = append(known, id)
			}
			if err := q.ghosts(ctx, name, known); err != nil {
				return err
			}
			if len(ids) < page {
				break
			}
		}
	}
	return nil
}

// sets reports ids in sorted sets that are of no job.
func (q *queue) sets(ctx context.Context) error {
	for _, name := range setNames {
		for from := int64(0); ; from += page {
			members, err := q.client.ZRangeWithScores(ctx, q.base+name, from, from+page-1).Result()
			if err != nil {
				return err
			}
			ids := make([]string, len(members))
			for i, m := range members {
				ids[i] = member(m).Name
				if name == "prioritized" && invariants.Place(m.Score) > invariants.Place(q.lastPlace.Score) {
					q.lastPlace = member(m)
				}
			}
			if err := q.ghosts(ctx, name, ids); err != nil {
				return err
			}
			if len(members) < page {
				break
			}
		}
	}
	return nil
}

// ghosts reports those of the ids in a state that are of no job.
func (q *queue) ghosts(ctx context.Context, state string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	exist := make([]*redis.IntCmd, len(ids))
	if _, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range ids {
			exist[i] = p.Exists(ctx, q.base+id)
		}
		return nil
	}); err != nil {
		return err
	}
	for i, id := range ids {
		if exist[i].Val() > 0 {
			continue
		}
		jobs, types, err := q.readJobs(ctx, []string{id}, true)
		if err != nil {
			return err
		}
		if types[0] == "none" && jobs[0].In(state) {
			if err := q.addAll(ctx, collect(func(r invariants.Report) { invariants.CheckGhost(r, q.base, state, id) })); err != nil {
				return err
			}
		}
	}
	return nil
}

// keys checks all keys of the queue that are not its own.
func (q *queue) keys(ctx context.Context) (err error) {
	if q.foreign, err = q.nested(ctx); err != nil {
		return err
	}
	return q.scan(ctx, q.base, globEscape.Replace(q.base)+"*", "", func(keys []string) error {
		var jobs, parts, held []string
		for _, key := range keys {
			suffix := strings.TrimPrefix(key, q.base)
			if head, _, ok := strings.Cut(suffix, ":"); ok && q.foreign[head] {
				continue
			}
			kind, name, part := invariants.Classify(suffix, func(id string) bool { return q.scheduled[id] })
			switch kind {
			case invariants.KindJob:
				jobs = append(jobs, name)
			case invariants.KindPart:
				parts = append(parts, name+":"+part)
			case invariants.KindDedup:
				held = append(held, name)
			case invariants.KindNext:
				q.next = append(q.next, name)
			}
		}
		for _, check := range []func() error{
			func() error { return q.checkJobs(ctx, jobs) },
			func() error { return q.checkParts(ctx, parts) },
			func() error { return q.checkDedup(ctx, held) },
		} {
			if err := check(); err != nil {
				return err
			}
		}
		return nil
	})
}
