package redisq

import (
	"context"
	"fmt"

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
	const op = "remove pending children"
	for at := "0"; ; {
		reply, err := s.run(ctx, "removechildren", queue, id, s.nowMillis(), at)
		switch {
		case err != nil:
			return err
		case len(reply) != 2:
			return unreadable(fmt.Errorf("bullmq: %s of job %q on queue %q: the script answered %d values", op, id, queue, len(reply)))
		case reply[0] != "0":
			return refused(op, queue, id, codeError(parseInt64(reply[0])))
		case reply[1] == "0":
			return nil
		}
		at = reply[1]
	}
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
