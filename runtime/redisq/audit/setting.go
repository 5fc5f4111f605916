package audit

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	invariants "github.com/bullmq-gen/bullmq-gen/internal/audit"
)

// counters checks the counters of ids and places, after the jobs were read: a
// job that came meanwhile has moved them on.
func (q *queue) counters(ctx context.Context) error {
	s, err := q.settings(ctx)
	if err != nil {
		return err
	}
	problems := collect(s.Counters)
	if q.lastID > 0 {
		id := strconv.FormatInt(q.lastID, 10)
		problems = append(problems, collect(func(r invariants.Report) { s.CheckNumber(r, id) })...)
	}
	if q.lastPlace.Name != "" {
		var score *redis.FloatCmd
		var pc *redis.StringCmd
		_, err := q.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			score = p.ZScore(ctx, q.base+"prioritized", q.lastPlace.Name)
			pc = p.Get(ctx, q.base+"pc")
			return nil
		})
		if err := noNil(err); err != nil {
			return err
		}
		if score.Err() == nil && score.Val() == q.lastPlace.Score {
			s.Text["pc"] = pc.Val()
			problems = append(problems, collect(func(r invariants.Report) { s.CheckPlace(r, q.lastPlace) })...)
		}
	}
	return q.addAll(ctx, problems)
}

const (
	looks       = 4                      // how often a queue must look wrong
	betweenLook = 250 * time.Millisecond // a worker that took the marker has looked for jobs by then
	overdue     = 10 * time.Second       // a delayed job is late by then, whoever knows of it
)

// itself checks what the queue has beside its jobs. A worker takes the marker
// before it takes jobs, and workers that are busy take the next job when they
// finish one: so only a queue without active jobs can be asleep, and it must
// look so several times.
func (q *queue) itself(ctx context.Context) error {
	var problems []invariants.Problem
	for n := range looks {
		s, err := q.settings(ctx)
		if err != nil {
			return err
		}
		s.Looking = s.Active > 0
		s.Knows = math.Max(1, float64(q.now().Add(-overdue).UnixMilli()))
		problems = collect(s.Check)
		asleep := slices.ContainsFunc(problems, func(p invariants.Problem) bool { return p.Rule == invariants.RuleWake })
		if !asleep || n == looks-1 {
			break
		}
		pause := time.NewTimer(betweenLook)
		select {
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		case <-pause.C:
		}
	}
	return q.addAll(ctx, problems)
}

// schedules checks the schedules, and remembers their ids.
func (q *queue) schedulers(ctx context.Context) error {
	for from := int64(0); ; from += page {
		members, err := q.client.ZRangeWithScores(ctx, q.base+"repeat", from, from+page-1).Result()
		if err != nil {
			return err
		}
		for _, m := range members {
			q.scheduled[member(m).Name] = true
			if err := q.scheduler(ctx, member(m)); err != nil {
				return err
			}
		}
		if len(members) < page {
			return nil
		}
	}
}

// schedule checks one schedule. It may go on meanwhile: then it is read again.
func (q *queue) scheduler(ctx context.Context, m invariants.Member) error {
	key := q.base + "repeat:" + m.Name
	for range looks {
		next := invariants.NextJob(m)
		var score *redis.FloatCmd
		var hash, job *redis.IntCmd
		_, err := q.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			score = p.ZScore(ctx, q.base+"repeat", m.Name)
			hash, job = p.Exists(ctx, key), p.Exists(ctx, q.base+next)
			return nil
		})
		if err := noNil(err); err != nil || score.Err() != nil { // it was removed
			return err
		}
		if score.Val() == m.Score {
			s := invariants.Scheduler{Key: key, Settings: hash.Val() > 0, Next: next, Waits: job.Val() > 0}
			return q.addAll(ctx, collect(s.Check))
		}
		m.Score = score.Val()
	}
	return nil // it goes on, so it is alive
}

// events checks the entries of the event stream, if payloads are to be read.
func (q *queue) events(ctx context.Context) error {
	for from := "-"; q.payloads; {
		entries, err := q.client.XRangeN(ctx, q.base+"events", from, "+", page).Result()
		if err != nil {
			return err
		}
		for _, e := range entries {
			fields := map[string]string{}
			for name, v := range e.Values {
				fields[name] = text(v)
			}
			if err := q.addAll(ctx, collect(func(r invariants.Report) { invariants.CheckEvent(r, q.base+"events", e.ID, fields) })); err != nil {
				return err
			}
		}
		if len(entries) < page {
			return nil
		}
		from = "(" + entries[len(entries)-1].ID
	}
	return nil
}
