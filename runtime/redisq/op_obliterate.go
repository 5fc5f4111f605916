package redisq

import (
	"context"
	"strconv"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/wire"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Obliterate implements [storage.Operator].
func (s *Store) Obliterate(ctx context.Context, queue string, force bool, count int) error {
	in := s.check("obliterate", queue).notNegative("count", count, strconv.Itoa(defaultCount))
	if err := in.err(); err != nil {
		return err
	}
	count = stepCount(count)
	// Keys that no job leads to are looked for while the queue is still paused,
	// so that nothing new is among them when its last keys go.
	if err := s.obliterateJobs(ctx, queue, force, count, false); err != nil {
		return err
	}
	if err := s.scan(ctx, queue, 0, func(suffixes []string) (bool, error) {
		return false, s.sweep(ctx, queue, suffixes)
	}); err != nil {
		return err
	}
	// The settings go last: until then the same call can be made again.
	if err := s.forgetOwners(ctx, queue); err != nil {
		return err
	}
	return s.obliterateJobs(ctx, queue, force, count, true)
}

// obliterateJobs removes all jobs, and with whole what is left of the queue then.
func (s *Store) obliterateJobs(ctx context.Context, queue string, force bool, count int, whole bool) error {
	for {
		code, err := s.obliterateStep(ctx, queue, force, count, whole)
		switch {
		case err != nil || code == 0:
			return err
		case code == -1:
			return refused("obliterate", queue, "", storage.ErrNotPaused)
		case code == -2:
			return refused("obliterate", queue, "", storage.ErrActiveJobs)
		}
	}
}

func (s *Store) obliterateStep(ctx context.Context, queue string, force bool, count int, whole bool) (int64, error) {
	return s.runInt(ctx, "obliterate", queue, flag(force), count, flag(whole), s.nowMillis())
}

// sweep deletes jobs in no state, deduplication ids whose job is gone,
// definitions of schedules that are not listed, and keys that are ours alone,
// of which there are keys among those given.
func (s *Store) sweep(ctx context.Context, queue string, suffixes []string) error {
	if _, err := s.removeOrphans(ctx, queue, collect(suffixes, wire.JobOfKey), 0); err != nil {
		return err
	}
	var args []any
	for _, id := range collect(suffixes, dedupOfKey) {
		args = append(args, "de", id)
	}
	for _, id := range collect(suffixes, iterationOfKey) {
		args = append(args, "job", id)
	}
	for _, id := range collect(suffixes, schedulerOfKey) {
		args = append(args, "repeat", id)
	}
	for _, name := range collect(suffixes, ownOfKey) {
		args = append(args, wire.ExtraPrefix, name)
	}
	if args == nil {
		return nil
	}
	_, err := s.runInt(ctx, "sweep", queue, args...)
	return err
}

// iterationOfKey is the id of a schedule's job, "repeat:<schedule>:<ms>", that a key is of.
func iterationOfKey(suffix string) (id string, ok bool) {
	if !strings.HasPrefix(suffix, "repeat:") {
		return "", false
	}
	id = suffix
	if i := strings.LastIndexByte(id, ':'); wire.Parts[id[i+1:]] != "" {
		id = id[:i]
	}
	_, err := strconv.ParseUint(id[strings.LastIndexByte(id, ':')+1:], 10, 64)
	return id, err == nil && strings.Count(id, ":") >= 2
}

// schedulerOfKey is the id of the schedule that a key may be the definition of.
func schedulerOfKey(suffix string) (id string, ok bool) {
	if _, job := iterationOfKey(suffix); job {
		return "", false
	}
	return strings.CutPrefix(suffix, "repeat:")
}

// dedupOfKey is the deduplication id that a key is of.
func dedupOfKey(suffix string) (id string, ok bool) {
	if id, ok = strings.CutPrefix(suffix, "de:"); ok {
		return id, true
	}
	return strings.CutPrefix(suffix, "dn:")
}

// ownOfKey is the rest of a key that peers do not know, "gen:<rest>".
func ownOfKey(suffix string) (rest string, ok bool) { return strings.CutPrefix(suffix, "gen:") }
