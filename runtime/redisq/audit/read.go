package audit

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	invariants "github.com/bullmq-gen/bullmq-gen/internal/audit"
	"github.com/bullmq-gen/bullmq-gen/scripts"
)

// script runs one of the module's scripts on the queue.
func (a *auditor) script(ctx context.Context, name, queue string, args ...any) (any, error) {
	s, base := scripts.Load(name), a.prefix+":"+queue+":"
	all := append([]any{base, a.mode}, args...)
	reply, err := a.client.EvalSha(ctx, s.SHA, []string{base + "meta"}, all...).Result()
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		reply, err = a.client.Eval(ctx, s.Source, []string{base + "meta"}, all...).Result()
	}
	return reply, err
}

// fix runs a repair, and reports whether there was something left to repair.
func (a *auditor) fix(ctx context.Context, queue string, f invariants.Fix) (bool, error) {
	args := []any{a.now().UnixMilli(), f.Op}
	for _, arg := range f.Args {
		args = append(args, arg)
	}
	reply, err := a.script(ctx, "repair", queue, args...)
	return integer(reply) > 0, err
}

// read runs the script that reads, for some names at one moment, and returns
// its list for each of them.
func (q *queue) read(ctx context.Context, what string, first string, names []string) ([][]any, error) {
	args := []any{what}
	if what != "dedup" {
		args = append(args, first)
	}
	for _, n := range names {
		args = append(args, n)
	}
	reply, err := q.script(ctx, "audit", q.name, args...)
	if err != nil {
		return nil, err
	}
	list, _ := reply.([]any)
	if len(list) != len(names) {
		return nil, fmt.Errorf("the audit script answered %d times to %d names", len(list), len(names))
	}
	out := make([][]any, len(list))
	for i := range list {
		if out[i], _ = list[i].([]any); out[i] == nil {
			return nil, fmt.Errorf("the audit script answered %v for %q", list[i], names[i])
		}
	}
	return out, nil
}

// readJobs reads jobs as they are at one moment. The type of a job's key that
// is not "hash" is that of another key, or "none". Exact reads the places in
// lists too; else they are those that were seen when the lists were read.
func (q *queue) readJobs(ctx context.Context, ids []string, exact bool) ([]*invariants.Job, []string, error) {
	what, payloads := "job", "0"
	if exact {
		what = "exact"
	}
	if q.payloads {
		payloads = "1"
	}
	replies, err := q.read(ctx, what, payloads, ids)
	if err != nil {
		return nil, nil, err
	}
	jobs, types := make([]*invariants.Job, len(ids)), make([]string, len(ids))
	for i, r := range replies {
		jobs[i] = q.job(ids[i], r, exact)
		types[i] = text(at(r, 0))
	}
	return jobs, types, nil
}

var (
	listNames = []string{"wait", "paused", "active"}
	setNames  = []string{"prioritized", "delayed", "waiting-children", "completed", "failed"} // as in audit.lua
)

func (q *queue) job(id string, r []any, exact bool) *invariants.Job {
	j := &invariants.Job{ID: id, Key: q.base + id, Fields: map[string]string{}, Scores: map[string]float64{}}
	fields, _ := at(r, 1).([]any)
	for i := 0; i+1 < len(fields); i += 2 {
		j.Fields[text(fields[i])] = text(fields[i+1])
	}
	counts := q.listed[id]
	if lists, _ := at(r, 3).([]any); exact {
		for i := range counts {
			counts[i] = uint8(min(255, integer(at(lists, i))))
		}
	}
	for i, name := range listNames {
		for range counts[i] {
			j.States = append(j.States, name)
		}
	}
	scores, _ := at(r, 2).([]any)
	for i, name := range setNames {
		if s := at(scores, i); s != nil {
			j.States = append(j.States, name)
			j.Scores[name] = number(s)
		}
	}
	if ttl := at(r, 4); ttl != nil && integer(ttl) != -2 {
		j.Lock = &invariants.Lock{Expires: integer(ttl) >= 0}
	}
	j.Stalled = integer(at(r, 5)) == 1
	j.Pending, j.Failing = int(integer(at(r, 6))), int(integer(at(r, 7)))
	if p, ok := at(r, 8).([]any); ok {
		j.Parent = &invariants.ParentOf{Timestamp: number(at(p, 0)), Waits: integer(at(p, 1)) == 1}
	}
	return j
}

func at(list []any, i int) any {
	if i >= len(list) {
		return nil
	}
	return list[i]
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func integer(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case string:
		i, _ := strconv.ParseInt(n, 10, 64)
		return i
	}
	return 0
}

func number(v any) float64 {
	switch n := v.(type) {
	case float64:
		return n
	case int64:
		return float64(n)
	case string:
		f, _ := strconv.ParseFloat(n, 64)
		return f
	}
	return 0
}

// settings reads what the queue has beside its jobs, at one moment.
func (q *queue) settings(ctx context.Context) (*invariants.Queue, error) {
	out := &invariants.Queue{Name: q.name, Base: q.base, Text: map[string]string{}, Metrics: map[string]*invariants.Metrics{}}
	var texts [3]*redis.StringCmd
	names := [3]string{"id", "pc", "limiter"}
	var ttl *redis.DurationCmd
	var meta *redis.MapStringStringCmd
	var marker, delayed *redis.ZSliceCmd
	var waiting [3]*redis.IntCmd
	var active *redis.IntCmd
	_, err := q.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for i, name := range names {
			texts[i] = p.Get(ctx, q.base+name)
		}
		ttl = p.PTTL(ctx, q.base+"limiter")
		meta = p.HGetAll(ctx, q.base+"meta")
		marker = p.ZRangeWithScores(ctx, q.base+"marker", 0, 9)
		delayed = p.ZRangeWithScores(ctx, q.base+"delayed", 0, 0)
		waiting[0] = p.LLen(ctx, q.base+"wait")
		waiting[1] = p.LLen(ctx, q.base+"paused")
		waiting[2] = p.ZCard(ctx, q.base+"prioritized")
		active = p.LLen(ctx, q.base+"active")
		return nil
	})
	if err := noNil(err); err != nil {
		return nil, err
	}
	for i, name := range names {
		if texts[i].Err() == nil {
			out.Text[name] = texts[i].Val()
		}
	}
	out.LimiterExpires, out.Meta, out.Active = ttl.Val() > 0, meta.Val(), int(active.Val())
	for _, m := range marker.Val() {
		out.Marker = append(out.Marker, member(m))
	}
	if z := delayed.Val(); len(z) > 0 {
		first := member(z[0])
		out.Delayed = &first
	}
	for _, n := range waiting {
		out.Waiting += int(n.Val())
	}
	out.Waiting -= q.legacy
	return out, q.metrics(ctx, out)
}

func (q *queue) metrics(ctx context.Context, out *invariants.Queue) error {
	for _, state := range []string{"completed", "failed"} {
		var hash *redis.MapStringStringCmd
		var points *redis.StringSliceCmd
		if _, err := q.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			hash = p.HGetAll(ctx, q.base+"metrics:"+state)
			points = p.LRange(ctx, q.base+"metrics:"+state+":data", 0, -1)
			return nil
		}); err != nil {
			return err
		}
		out.Metrics[state] = &invariants.Metrics{Exists: len(hash.Val()) > 0, Hash: hash.Val(), Points: points.Val()}
	}
	return nil
}

func member(z redis.Z) invariants.Member {
	name, _ := z.Member.(string)
	return invariants.Member{Name: name, Score: z.Score}
}

func noNil(err error) error {
	if err == redis.Nil { //nolint:errorlint // the pipeline returns it as it is
		return nil
	}
	return err
}
