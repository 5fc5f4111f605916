package redisq

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// DependencyCounts implements [storage.Inspector].
func (s *Store) DependencyCounts(ctx context.Context, queue, id string) (storage.DependencyCounts, error) {
	if err := s.check("count children", queue).id(id).err(); err != nil {
		return storage.DependencyCounts{}, err
	}
	b, err := s.base(queue)
	if err != nil {
		return storage.DependencyCounts{}, err
	}
	var (
		pending   = redis.NewIntCmd(ctx, "scard", b+id+":dependencies")
		processed = redis.NewIntCmd(ctx, "hlen", b+id+":processed")
		ignored   = redis.NewIntCmd(ctx, "hlen", b+id+":failed")
		failed    = redis.NewIntCmd(ctx, "zcard", b+id+":unsuccessful")
	)
	if err := s.readAtOnce(ctx, pending, processed, ignored, failed); err != nil {
		return storage.DependencyCounts{}, err
	}
	return storage.DependencyCounts{
		Pending: int(pending.Val()), Processed: int(processed.Val()),
		Ignored: int(ignored.Val()), Failed: int(failed.Val()),
	}, nil
}

// dependencyKeys says where children of a kind stand: what follows the
// parent's key in the key's name, and the command that pages through it.
var dependencyKeys = map[storage.DependencyKind]struct{ part, scan string }{
	storage.DependencyPending:   {":dependencies", "sscan"},
	storage.DependencyProcessed: {":processed", "hscan"},
	storage.DependencyIgnored:   {":failed", "hscan"},
	storage.DependencyFailed:    {":unsuccessful", ""},
}

// Dependencies implements [storage.Inspector].
func (s *Store) Dependencies(ctx context.Context, queue, id string, kind storage.DependencyKind, cursor uint64, count int) (page []storage.Dependency, next uint64, err error) {
	_, ok := dependencyKeys[kind]
	in := s.check("list children", queue).id(id).
		that(ok, "there are no children of kind %q", kind).
		that(count > 0, "the count is %d: give 1 or more", count)
	if err := in.err(); err != nil {
		return nil, 0, err
	}
	b, err := s.base(queue)
	if err != nil {
		return nil, 0, err
	}
	return s.dependencies(ctx, b+id, kind, cursor, count)
}

// dependencies pages through the children of one kind of the job at a key.
func (s *Store) dependencies(ctx context.Context, key string, kind storage.DependencyKind, cursor uint64, count int) (page []storage.Dependency, next uint64, err error) {
	at := dependencyKeys[kind]
	if kind == storage.DependencyFailed {
		return s.failedChildren(ctx, key+at.part, cursor, count)
	}
	cmd := redis.NewScanCmd(ctx, nil, at.scan, key+at.part, cursor, "count", count)
	if err := s.read(ctx, cmd); err != nil {
		return nil, 0, err
	}
	items, next := cmd.Val()
	if at.scan == "sscan" {
		for _, key := range items {
			page = append(page, storage.Dependency{Key: key})
		}
		return page, next, nil
	}
	for i := 0; i+1 < len(items); i += 2 {
		d := storage.Dependency{Key: items[i]}
		if kind == storage.DependencyProcessed {
			d.Value = []byte(items[i+1])
		} else {
			d.Reason = items[i+1]
		}
		page = append(page, d)
	}
	return page, next, nil
}

// failedChildren pages through a sorted set by place.
func (s *Store) failedChildren(ctx context.Context, key string, cursor uint64, count int) ([]storage.Dependency, uint64, error) {
	last := cursor + uint64(count) - 1
	cmd := redis.NewStringSliceCmd(ctx, "zrange", key, cursor, last)
	if err := s.read(ctx, cmd); err != nil {
		return nil, 0, err
	}
	var page []storage.Dependency
	for _, child := range cmd.Val() {
		page = append(page, storage.Dependency{Key: child})
	}
	if len(page) < count {
		return page, 0, nil
	}
	return page, last + 1, nil
}
