package redisq

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// readAtOnce sends commands that change nothing as one transaction: all see
// the same state. It sends them again when the connection broke.
func (s *Store) readAtOnce(ctx context.Context, cmds ...redis.Cmder) error {
	return namedIn(s.retry(ctx, func() (bool, error) {
		pipe := s.client.TxPipeline()
		for _, c := range cmds {
			c.SetErr(nil)            // that of the try before
			_ = pipe.Process(ctx, c) // queues it only
		}
		_, err := exec(ctx, pipe)
		return false, ofTransaction(err, cmds)
	}), cmds...)
}

// ofTransaction is why a transaction failed, or nil. When the server takes none of
// its commands, such as while it starts, EXEC only says so: the reason is with
// the commands.
func ofTransaction(err error, cmds []redis.Cmder) error {
	for _, c := range cmds {
		if own := noNil(c.Err()); own != nil && !redis.HasErrorPrefix(own, "EXECABORT") {
			return own
		}
	}
	return noNil(err)
}

// found reports whether a command found what it was to read.
func found(cmd redis.Cmder) bool { return !errors.Is(cmd.Err(), redis.Nil) }

// Jobs implements [storage.Inspector].
func (s *Store) Jobs(ctx context.Context, queue string, ids ...string) ([]*storage.Record, error) {
	in := s.check("read jobs", queue)
	for i, id := range ids {
		in.that(id != "", "id %d of %d is empty", i+1, len(ids))
	}
	if err := in.err(); err != nil || len(ids) == 0 {
		return nil, err
	}
	b, err := s.base(queue)
	if err != nil {
		return nil, err
	}
	hashes := make([]*redis.MapStringStringCmd, len(ids))
	cmds := make([]redis.Cmder, len(ids))
	for i, id := range ids {
		hashes[i] = redis.NewMapStringStringCmd(ctx, "hgetall", b+id)
		cmds[i] = hashes[i]
	}
	if err := exceptForeign(s.readAtOnce(ctx, cmds...), cmds); err != nil {
		return nil, err
	}
	jobs := make([]*storage.Record, len(ids))
	for i, id := range ids {
		if r := recordOfMap(id, hashes[i].Val()); !r.Missing {
			jobs[i] = &r
		}
	}
	return jobs, nil
}

// stateOrder is the order in which a job is looked for. It is in one state
// only, unless something went wrong; then all clients give the same answer.
var stateOrder = []storage.State{
	storage.StateCompleted, storage.StateFailed, storage.StateDelayed, storage.StatePrioritized,
	storage.StateActive, storage.StateWaiting, storage.StatePaused, storage.StateWaitingChildren,
}

// State implements [storage.Inspector].
func (s *Store) State(ctx context.Context, queue, id string) (storage.State, error) {
	if err := s.check("read state", queue).id(id).err(); err != nil {
		return "", err
	}
	b, err := s.base(queue)
	if err != nil {
		return "", err
	}
	cmds := make([]redis.Cmder, len(stateOrder))
	for i, state := range stateOrder {
		at := stateKeys[state]
		verb := "zscore"
		if at.kind == "list" {
			verb = "lpos"
		}
		cmds[i] = redis.NewCmd(ctx, verb, b+at.name, id)
	}
	if err := s.readAtOnce(ctx, cmds...); err != nil {
		return "", err
	}
	for i, state := range stateOrder {
		switch {
		case !found(cmds[i]):
		case state == storage.StatePaused:
			return storage.StateWaiting, nil
		default:
			return state, nil
		}
	}
	return storage.StateUnknown, nil
}

// Finish implements [storage.Inspector].
func (s *Store) Finish(ctx context.Context, queue, id string) (storage.Finish, error) {
	if err := s.check("read finish", queue).id(id).err(); err != nil {
		return storage.Finish{}, err
	}
	b, err := s.base(queue)
	if err != nil {
		return storage.Finish{}, err
	}
	var (
		exists    = redis.NewIntCmd(ctx, "exists", b+id)
		completed = redis.NewCmd(ctx, "zscore", b+"completed", id)
		failed    = redis.NewCmd(ctx, "zscore", b+"failed", id)
		value     = redis.NewStringCmd(ctx, "hget", b+id, "returnvalue")
		reason    = redis.NewStringCmd(ctx, "hget", b+id, "failedReason")
	)
	if err := s.readAtOnce(ctx, exists, completed, failed, value, reason); err != nil {
		return storage.Finish{}, err
	}
	switch {
	case exists.Val() == 0:
		return storage.Finish{State: storage.StateUnknown}, nil
	case found(completed):
		f := storage.Finish{State: storage.StateCompleted}
		if found(value) {
			f.Value = []byte(value.Val())
		}
		return f, nil
	case found(failed):
		return storage.Finish{State: storage.StateFailed, Reason: reason.Val()}, nil
	}
	return storage.Finish{}, nil
}

// Logs implements [storage.Inspector].
func (s *Store) Logs(ctx context.Context, queue, id string, start, end int, asc bool) (lines []string, total int, err error) {
	if err := s.check("read logs", queue).id(id).err(); err != nil {
		return nil, 0, err
	}
	b, err := s.base(queue)
	if err != nil {
		return nil, 0, err
	}
	from, to := start, end
	if !asc { // the same places, counted from the other end
		from, to = -(end + 1), -(start + 1)
	}
	rows := redis.NewStringSliceCmd(ctx, "lrange", b+id+":logs", from, to)
	n := redis.NewIntCmd(ctx, "llen", b+id+":logs")
	if err := s.readAtOnce(ctx, rows, n); err != nil {
		return nil, 0, err
	}
	lines = rows.Val()
	if !asc {
		slices.Reverse(lines)
	}
	return lines, int(n.Val()), nil
}

// DedupJobID implements [storage.Inspector].
func (s *Store) DedupJobID(ctx context.Context, queue, dedupID string) (string, error) {
	if err := s.check("read deduplication", queue).that(dedupID != "", "the deduplication id is empty").err(); err != nil {
		return "", err
	}
	b, err := s.base(queue)
	if err != nil {
		return "", err
	}
	cmd := redis.NewStringCmd(ctx, "get", b+"de:"+dedupID)
	err = s.read(ctx, cmd)
	return cmd.Val(), err
}
