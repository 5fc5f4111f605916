package redisq

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// So many steps of one add, and about so many bytes, are sent before the first
// of them is answered: the server need not wait for the client between them.
// Each is a call of its own, so that it goes on serving others.
const (
	aheadSteps = 8
	aheadBytes = 4 * addBytes
)

// steps are the ends of the steps that are sent next. It is more than one only
// where the server takes them in this order: a cluster client sends what was
// moved again by itself, and a server that does not know the script yet could
// learn it from somebody else between two of them.
func (s *Store) steps(jobs []intake) []int {
	var ends []int
	end, bytes := 0, 0
	for end < len(jobs) && len(ends) < aheadSteps {
		n := step(jobs[end:])
		bytes += size(jobs[end : end+n])
		if len(ends) > 0 && (s.cluster || !s.addKnown.Load() || bytes > aheadBytes) {
			break
		}
		end += n
		ends = append(ends, end)
	}
	return ends
}

// addAhead sends several steps at once. It returns how many of the jobs are
// dealt with, from the first on, and the first error that one of their steps
// ended with. The jobs after them were certainly not stored.
func (s *Store) addAhead(ctx context.Context, queue string, jobs []intake, ends []int, added []storage.Added) (int, error) {
	b, err := s.base(queue)
	if err != nil || ctx.Err() != nil || !s.calls.begin() {
		return 0, err // without one: the call of a single step says why
	}
	defer s.calls.end()
	cmds, marks := s.sendAhead(ctx, b, jobs, ends)
	done := len(ends)
	for done > 0 && s.untouched(cmds[done-1].Err(), marks[done-1].sent) {
		done--
	}
	from := 0
	for i, end := range ends[:done] {
		if failed := readStep(ctx, queue, jobs[from:end], added[from:end], cmds[i], marks[i].sent); failed != nil {
			failed = s.nameForeign(ctx, failed, b, nil)
			fail(added[from:end], failed)
			if err == nil {
				err = failed
			}
		}
		from = end
	}
	return from, err
}

// readStep reads what a step that may have been sent ended with.
func readStep(ctx context.Context, queue string, jobs []intake, added []storage.Added, cmd *redis.Cmd, sent bool) error {
	if err := cmd.Err(); err != nil {
		return verdict(ctx, sent, err)
	}
	if err := readAdded(queue, jobs, added, cmd.Val()); err != nil {
		return unreadable(fmt.Errorf("bullmq: add on queue %q: %w", queue, err))
	}
	return nil
}

// sendAhead sends steps on one connection and waits for all answers.
func (s *Store) sendAhead(ctx context.Context, b string, jobs []intake, ends []int) ([]*redis.Cmd, []mark) {
	sc, pipe := s.script("add"), s.client.Pipeline()
	cmds, marks := make([]*redis.Cmd, len(ends)), make([]mark, len(ends))
	from := 0
	for i, end := range ends {
		marks[i].text = s.mode
		cmds[i] = redis.NewCmd(ctx, s.scriptArgs("evalsha", sc.SHA, b, &marks[i], addArgs(jobs[from:end]))...)
		_ = pipe.Process(ctx, once{cmds[i]}) // queues it only
		from = end
	}
	if _, err := exec(ctx, pipe); err != nil {
		for _, c := range cmds {
			if c.Err() == nil && c.Val() == nil { // not answered
				c.SetErr(err)
			}
		}
	}
	return cmds, marks
}

// untouched tells whether a step that ended with an error certainly did
// nothing, and can be sent again.
func (s *Store) untouched(err error, sent bool) bool {
	if isNoScript(err) {
		s.addKnown.Store(false)
		return true
	}
	return isRefusal(err) || !sent && isConnection(err)
}
