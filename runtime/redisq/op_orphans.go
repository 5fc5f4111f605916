package redisq

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/internal/wire"
)

// RemoveOrphans implements [storage.Operator].
func (s *Store) RemoveOrphans(ctx context.Context, queue string, count, limit int) (int, error) {
	in := s.check("remove orphans", queue).
		notNegative("count", count, strconv.Itoa(defaultCount)).
		notNegative("limit", limit, "all")
	if err := in.err(); err != nil {
		return 0, err
	}
	listed, err := s.listed(ctx, queue)
	if err != nil {
		return 0, err
	}
	total := 0
	err = s.scan(ctx, queue, count, func(suffixes []string) (bool, error) {
		ids := collect(suffixes, func(suffix string) (string, bool) {
			id, ok := wire.JobOfKey(suffix)
			return id, ok && !listed[id]
		})
		n, err := s.removeOrphans(ctx, queue, ids, max(0, limit-total))
		total += n
		return limit > 0 && total >= limit, err
	})
	for _, state := range []string{"completed", "failed"} {
		if err != nil || limit > 0 && total >= limit {
			break
		}
		var n int
		n, err = s.removeGhosts(ctx, queue, state, max(0, limit-total))
		total += n
	}
	return total, err
}

// removeGhosts takes the ids out of a finished state whose jobs are gone, with
// what is left of each.
func (s *Store) removeGhosts(ctx context.Context, queue, state string, limit int) (int, error) {
	total := 0
	for from := 0; ; {
		reply, err := s.run(ctx, "ghosts", queue, state, from, defaultCount, max(0, limit-total))
		if err != nil {
			return total, err
		}
		if len(reply) != 3 {
			return total, unreadable(fmt.Errorf("bullmq: remove orphans of queue %q: the script answered %d values", queue, len(reply)))
		}
		total += parseInt(reply[0])
		if reply[2] == "0" || limit > 0 && total >= limit {
			return total, nil
		}
		from += parseInt(reply[1])
	}
}

// listed reads the ids in the queue's lists. Jobs come and go meanwhile: those
// that it misses are looked for once more by the script that deletes.
func (s *Store) listed(ctx context.Context, queue string) (map[string]bool, error) {
	b, err := s.base(queue)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, list := range []string{"active", "wait", "paused"} {
		for from := 0; ; from += bulkStep {
			cmd := redis.NewStringSliceCmd(ctx, "lrange", b+list, from, from+bulkStep-1)
			if err := s.read(ctx, cmd); err != nil {
				return nil, err
			}
			for _, id := range cmd.Val() {
				ids[id] = true
			}
			if len(cmd.Val()) < bulkStep {
				break
			}
		}
	}
	return ids, nil
}

// removeOrphans deletes those of the jobs that are in no state.
func (s *Store) removeOrphans(ctx context.Context, queue string, ids []string, limit int) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	args := []any{limit}
	for _, id := range ids {
		args = append(args, id)
	}
	n, err := s.runInt(ctx, "orphans", queue, args...)
	return int(n), err
}

// collect applies find to all names, and returns what was found, each once.
func collect(names []string, find func(string) (string, bool)) []string {
	var out []string
	seen := map[string]bool{}
	for _, name := range names {
		if found, ok := find(name); ok && !seen[found] {
			seen[found] = true
			out = append(out, found)
		}
	}
	return out
}

// scan goes through the keys that begin with the queue's base, some count of
// the database's keys at a time, and hands over what follows the base in them,
// until use says that it is done.
func (s *Store) scan(ctx context.Context, queue string, count int, use func(suffixes []string) (done bool, err error)) error {
	b, err := s.base(queue)
	if err != nil {
		return err
	}
	count = stepCount(count)
	process := s.client.Process
	if c, ok := s.client.(*redis.ClusterClient); ok {
		node, err := c.MasterForKey(ctx, b+"meta")
		if err != nil {
			return explain(err)
		}
		process = node.Process
	}
	cursor := uint64(0)
	for {
		cmd := redis.NewScanCmd(ctx, nil, "scan", cursor, "match", globEscape.Replace(b)+"*", "count", count)
		err := s.retry(ctx, func() (bool, error) { return false, guarded(func() error { return process(ctx, cmd) }) })
		if err != nil {
			return err
		}
		keys, next := cmd.Val()
		for i := range keys {
			keys[i] = strings.TrimPrefix(keys[i], b)
		}
		if done, err := use(keys); err != nil || done || next == 0 {
			return err
		}
		cursor = next
	}
}

var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)
