package redisq

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// states checks that jobs can be counted and listed by the states.
func (in *input) states(states []storage.State) *input {
	for _, state := range states {
		_, ok := stateKeys[state]
		in.that(ok, "there is no state %q", state)
	}
	return in
}

// Counts implements [storage.Inspector].
func (s *Store) Counts(ctx context.Context, queue string, states ...storage.State) ([]int, error) {
	if err := s.check("count jobs", queue).states(states).err(); err != nil || len(states) == 0 {
		return nil, err
	}
	b, err := s.base(queue)
	if err != nil {
		return nil, err
	}
	var cmds []redis.Cmder
	results := make([][]*lenCmd, len(states))
	for i, state := range states {
		lens := []*lenCmd{newLen(ctx, b, state)}
		if state == storage.StateWaiting {
			lens = append(lens, newLen(ctx, b, storage.StatePaused))
		}
		for _, l := range lens {
			cmds = append(cmds, l.n)
			if l.last != nil {
				cmds = append(cmds, l.last)
			}
		}
		results[i] = lens
	}
	if err := s.readAtOnce(ctx, cmds...); err != nil {
		return nil, err
	}
	counts := make([]int, len(states))
	for i, lens := range results {
		for _, l := range lens {
			counts[i] += l.jobs()
		}
	}
	return counts, nil
}

// lenCmd counts the jobs of a list or set.
type lenCmd struct {
	n    *redis.IntCmd
	last *redis.StringCmd // the entry at a list's right end
}

func newLen(ctx context.Context, b string, state storage.State) *lenCmd {
	at := stateKeys[state]
	if at.kind == "set" {
		return &lenCmd{n: redis.NewIntCmd(ctx, "zcard", b+at.name)}
	}
	return &lenCmd{
		n:    redis.NewIntCmd(ctx, "llen", b+at.name),
		last: redis.NewStringCmd(ctx, "lindex", b+at.name, -1),
	}
}

// jobs is how many there are: an entry "0:..." at the right end of a list is
// no job but a marker, left there by BullMQ 4.
func (l *lenCmd) jobs() int {
	n := int(l.n.Val())
	if l.last != nil && len(l.last.Val()) > 1 && l.last.Val()[:2] == "0:" {
		n--
	}
	return n
}

// CountsByPriority implements [storage.Inspector].
func (s *Store) CountsByPriority(ctx context.Context, queue string, priorities ...int) ([]int, error) {
	in := s.check("count jobs by priority", queue)
	for _, p := range priorities {
		in.priority(p)
	}
	if err := in.err(); err != nil || len(priorities) == 0 {
		return nil, err
	}
	b, err := s.base(queue)
	if err != nil {
		return nil, err
	}
	wait, aside := newLen(ctx, b, storage.StateWaiting), newLen(ctx, b, storage.StatePaused)
	cmds := []redis.Cmder{wait.n, wait.last, aside.n, aside.last}
	ranges := make([]*redis.IntCmd, len(priorities))
	for i, p := range priorities {
		low := int64(p) << 32
		ranges[i] = redis.NewIntCmd(ctx, "zcount", b+"prioritized", low, low+1<<32-1)
		cmds = append(cmds, ranges[i])
	}
	if err := s.readAtOnce(ctx, cmds...); err != nil {
		return nil, err
	}
	counts := make([]int, len(priorities))
	for i, p := range priorities {
		counts[i] = int(ranges[i].Val())
		if p == 0 {
			counts[i] = wait.jobs() + aside.jobs()
		}
	}
	return counts, nil
}

// DelayedBefore implements [storage.Inspector].
func (s *Store) DelayedBefore(ctx context.Context, queue string, t time.Time) (int, error) {
	b, err := s.base(queue)
	if err != nil {
		return 0, err
	}
	ms := t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++ // jobs are due at whole milliseconds: the last one has begun before t
	}
	below := "(" + strconv.FormatFloat(float64(ms)*4096, 'f', 0, 64)
	cmd := redis.NewIntCmd(ctx, "zcount", b+"delayed", "-inf", below)
	err = s.read(ctx, cmd)
	return int(cmd.Val()), err
}

// List implements [storage.Inspector]. Negative places count from the end, -1
// being the last.
func (s *Store) List(ctx context.Context, queue string, state storage.State, start, end int, asc bool) ([]string, error) {
	states := []storage.State{state}
	if err := s.check("list jobs", queue).states(states).err(); err != nil {
		return nil, err
	}
	pages, err := s.pages(ctx, queue, states, start, end, asc, false)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(pages[0]))
	for i, id := range pages[0] {
		ids[i], _ = replyText(id)
	}
	return ids, nil
}

// ListJobs implements [storage.Inspector]. Negative places count from the end,
// -1 being the last; such a page is not filled.
func (s *Store) ListJobs(ctx context.Context, queue string, states []storage.State, start, end int, asc bool) ([]storage.Record, error) {
	if err := s.check("list jobs", queue).states(states).err(); err != nil || len(states) == 0 {
		return nil, err
	}
	pages, err := s.pages(ctx, queue, states, start, end, asc, true)
	if err != nil {
		return nil, err
	}
	var jobs []storage.Record
	seen := map[string]bool{}
	for _, page := range pages {
		for i := 0; i+1 < len(page); i += 2 {
			id, _ := replyText(page[i])
			if r := newRecord(id, texts(page[i+1])); !r.Missing && !seen[id] {
				seen[id] = true
				jobs = append(jobs, r)
			}
		}
	}
	return jobs, nil
}

// pages reads a page of each state: ids, or with jobs ids and fields in turn.
func (s *Store) pages(ctx context.Context, queue string, states []storage.State, start, end int, asc, jobs bool) ([][]any, error) {
	args := []any{place(start), place(end), flag(asc), flag(jobs)}
	for _, state := range states {
		args = append(args, stateKeys[state].kind, stateKeys[state].name)
	}
	cmd, err := runAs(ctx, s, redis.NewSliceCmd, "listjobs", queue, args)
	if err != nil {
		return nil, err
	}
	if len(cmd.Val()) != len(states) {
		return nil, storage.OfKind(storage.ErrMalformed, fmt.Errorf("bullmq: list of queue %q: the script answered %d lists, not %d", queue, len(cmd.Val()), len(states)))
	}
	pages := make([][]any, len(states))
	for i := range pages {
		page, ok := cmd.Val()[i].([]any)
		if !ok {
			return nil, storage.OfKind(storage.ErrMalformed, fmt.Errorf("bullmq: list of queue %q: the script answered %T", queue, cmd.Val()[i]))
		}
		pages[i] = page
	}
	return pages, nil
}

// place keeps a place in a list within what a Lua number prints as a whole
// one; none is as long.
func place(n int) int { return max(-1<<30, min(1<<30, n)) }

// texts is a list of a reply as strings.
func texts(v any) []string {
	list, _ := v.([]any)
	out := make([]string, len(list))
	for i := range list {
		out[i], _ = replyText(list[i])
	}
	return out
}
