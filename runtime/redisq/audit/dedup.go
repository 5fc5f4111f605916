package audit

import (
	"context"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	invariants "github.com/bullmq-gen/bullmq-gen/internal/audit"
)

func (q *queue) readDedup(ctx context.Context, ids []string) ([]*invariants.Dedup, error) {
	replies, err := q.read(ctx, "dedup", "", ids)
	if err != nil {
		return nil, err
	}
	out := make([]*invariants.Dedup, len(ids))
	for i, r := range replies {
		ttl := integer(at(r, 1))
		out[i] = &invariants.Dedup{
			Key: q.base + "de:" + ids[i], ID: ids[i], Holder: text(at(r, 0)), Expires: ttl != -1,
			Exists: integer(at(r, 2)) == 1, HolderID: text(at(r, 3)), Finished: integer(at(r, 4)) == 1,
		}
	}
	return out, nil
}

func (q *queue) checkDedup(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	held, err := q.readDedup(ctx, ids)
	if err != nil {
		return err
	}
	for _, d := range held {
		if err := q.addAll(ctx, collect(d.Check)); err != nil {
			return err
		}
	}
	return nil
}

// checkNext checks the jobs that are kept to follow another one. Usually that
// one holds the deduplication id. If it does not, its hold may have expired:
// then all jobs are looked through, while the kept job stays the same.
func (q *queue) checkNext(ctx context.Context) error {
	var suspects []string
	for ids := range slices.Chunk(q.next, page) {
		held, err := q.readDedup(ctx, ids)
		if err != nil {
			return err
		}
		for _, d := range held {
			if !d.Exists || d.Finished || d.HolderID != d.ID {
				suspects = append(suspects, d.ID)
			}
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	before, err := q.kept(ctx, suspects)
	if err != nil {
		return err
	}
	followed, err := q.unfinished(ctx)
	if err != nil {
		return err
	}
	after, err := q.kept(ctx, suspects)
	if err != nil {
		return err
	}
	for i, id := range suspects {
		if len(after[i]) > 0 && maps.Equal(before[i], after[i]) {
			if err := q.addAll(ctx, collect(func(r invariants.Report) { invariants.CheckNext(r, q.base+"dn:"+id, followed[id]) })); err != nil {
				return err
			}
		}
	}
	return nil
}

// kept reads the jobs that are kept under deduplication ids.
func (q *queue) kept(ctx context.Context, ids []string) ([]map[string]string, error) {
	out := make([]map[string]string, len(ids))
	for i, id := range ids {
		var err error
		if out[i], err = q.client.HGetAll(ctx, q.base+"dn:"+id).Result(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unfinished returns the deduplication ids of all jobs that are not finished.
func (q *queue) unfinished(ctx context.Context) (map[string]bool, error) {
	ids := map[string]bool{}
	err := q.scan(ctx, q.base, globEscape.Replace(q.base)+"*", "hash", func(keys []string) error {
		reads := make([]*redis.SliceCmd, len(keys))
		if _, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, key := range keys {
				reads[i] = p.HMGet(ctx, key, "deid", "finishedOn")
			}
			return nil
		}); err != nil {
			return err
		}
		for _, r := range reads {
			if v := r.Val(); len(v) == 2 && v[0] != nil && v[1] == nil {
				ids[text(v[0])] = true
			}
		}
		return nil
	})
	return ids, err
}
