package redisq

import (
	"context"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Remove implements [storage.Operator].
func (s *Store) Remove(ctx context.Context, queue, id string, children bool) error {
	if err := s.check("remove", queue).id(id).err(); err != nil {
		return err
	}
	n, err := s.runJobInt(ctx, "remove", "remove", queue, id, flag(children), s.nowMillis())
	if err == nil && n == 0 {
		err = refused("remove", queue, id, storage.ErrLocked)
	}
	return err
}

// RemovePendingChildren implements [storage.Operator].
func (s *Store) RemovePendingChildren(ctx context.Context, queue, id string) error {
	if err := s.check("remove pending children", queue).id(id).err(); err != nil {
		return err
	}
	return s.runJob(ctx, "remove pending children", "removechildren", queue, id, s.nowMillis())
}

// RemoveChildDependency implements [storage.Operator].
func (s *Store) RemoveChildDependency(ctx context.Context, queue, id string) (bool, error) {
	if err := s.check("remove child dependency", queue).id(id).err(); err != nil {
		return false, err
	}
	n, err := s.runJobInt(ctx, "remove child dependency", "removechilddependency", queue, id, s.nowMillis())
	return err == nil && n == 0, err
}

// nowMillis is the time for scripts that may release a parent: one with a delay
// becomes due that long after its last child is gone.
func (s *Store) nowMillis() int64 { return s.now().UnixMilli() }
