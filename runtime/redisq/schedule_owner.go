package redisq

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Who declares a schedule is a field of its hash. Peers ignore it, and whoever
// stores the schedule anew or removes it deletes it: so what is there is true.
const (
	ownerField = "gen:owner"
	// firstField is the count of jobs at which the schedule's limit began to count.
	firstField = "gen:first"
)

// owners is the key of a set that tells in which queues there may be schedules
// of whom: its members are "<queue>:<owner>". It stands below the empty name,
// which no queue has.
func (s *Store) owners() string { return s.prefix + "::gen:schedules" }

// noteOwners notes the owners of schedules that are about to be stored. It is a
// call of its own, since a cluster may keep the set elsewhere, and it is made
// before: a note too many does no harm.
func (s *Store) noteOwners(ctx context.Context, queue string, list []storage.Schedule) error {
	args := []any{"sadd", s.owners()}
	for i := range list {
		if o := list[i].Owner; o != "" && !slices.Contains(args[2:], any(queue+":"+o)) {
			args = append(args, queue+":"+o)
		}
	}
	if len(args) == 2 {
		return nil
	}
	if _, err := s.base(queue); err != nil { // no note of what cannot be stored
		return err
	}
	return s.send(ctx, redis.NewIntCmd(ctx, args...))
}

// OwnedQueues implements [storage.Scheduler].
func (s *Store) OwnedQueues(ctx context.Context, owner string) ([]string, error) {
	notes, err := s.notes(ctx)
	if err != nil {
		return nil, err
	}
	var queues []string
	for _, n := range notes {
		if queue, who, _ := strings.Cut(n, ":"); who == owner {
			queues = append(queues, queue)
		}
	}
	slices.Sort(queues)
	return queues, nil
}

func (s *Store) notes(ctx context.Context) ([]string, error) {
	cmd := redis.NewStringSliceCmd(ctx, "smembers", s.owners())
	err := s.read(ctx, cmd)
	return cmd.Val(), err
}

// forgetOwners deletes the notes of a queue that is gone.
func (s *Store) forgetOwners(ctx context.Context, queue string) error {
	notes, err := s.notes(ctx)
	if err != nil {
		return err
	}
	args := []any{"srem", s.owners()}
	for _, n := range notes {
		if strings.HasPrefix(n, queue+":") {
			args = append(args, n)
		}
	}
	if len(args) == 2 {
		return nil
	}
	return s.send(ctx, redis.NewIntCmd(ctx, args...))
}

// pruneStep is how many schedules are looked at in one round trip.
const pruneStep = 1000

// PruneSchedules implements [storage.Scheduler]. Only schedulers of the owner
// are removed, a number of them in each step.
func (s *Store) PruneSchedules(ctx context.Context, queue, owner string, keep []string) ([]string, error) {
	b, err := s.base(queue)
	if err != nil {
		return nil, err
	}
	if err := s.check("prune schedules", queue).that(owner != "", "the owner is empty").err(); err != nil {
		return nil, err
	}
	all := redis.NewStringSliceCmd(ctx, "zrange", b+"repeat", 0, -1)
	if err := s.read(ctx, all); err != nil {
		return nil, err
	}
	kept := make(map[string]bool, len(keep))
	for _, id := range keep {
		kept[id] = true
	}
	var pruned []string
	for ids := range slices.Chunk(all.Val(), pruneStep) {
		owned, err := s.ownedOf(ctx, b, owner, ids)
		if err != nil {
			return pruned, err
		}
		owned = slices.DeleteFunc(owned, func(id string) bool { return kept[id] })
		removed, err := s.unschedule(ctx, queue, owner, owned)
		if err != nil {
			return pruned, err
		}
		for i, was := range removed {
			if was {
				pruned = append(pruned, owned[i])
			}
		}
	}
	slices.Sort(pruned)
	return pruned, nil
}

// ownedOf are those of some schedules that belong to an owner.
func (s *Store) ownedOf(ctx context.Context, b, owner string, ids []string) ([]string, error) {
	cmds := make([]redis.Cmder, len(ids))
	for i, id := range ids {
		cmds[i] = redis.NewStringCmd(ctx, "hget", b+"repeat:"+id, ownerField)
	}
	if err := exceptForeign(s.read(ctx, cmds...), cmds); err != nil {
		return nil, err
	}
	var owned []string
	for i, c := range cmds {
		if c.(*redis.StringCmd).Val() == owner {
			owned = append(owned, ids[i])
		}
	}
	return owned, nil
}
