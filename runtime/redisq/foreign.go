package redisq

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/internal/wire"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Other programs may write keys under the names of a queue's. A server then says
// only that some key has the wrong type; what is here finds out which one.

// isForeign reports whether a key has another type than a queue's key of that name.
func isForeign(err error) bool {
	return err != nil && isReply(err) && strings.Contains(err.Error(), "WRONGTYPE")
}

// exceptForeign is an error of reads, unless all that any of them met is a key of
// another type. Such a key belongs to no job: what was read of it is nothing.
func exceptForeign(err error, cmds []redis.Cmder) error {
	for _, c := range cmds {
		if own := noNil(c.Err()); own != nil && !isForeign(own) {
			return err
		}
	}
	if isForeign(err) {
		return nil
	}
	return err
}

// namedIn adds the key to the error of a plain command that met one of another type.
func namedIn(err error, cmds ...redis.Cmder) error {
	var f *fault
	if !isForeign(err) || !errors.As(err, &f) || f.hint != "" {
		return err
	}
	for _, c := range cmds {
		if args := c.Args(); isForeign(c.Err()) && len(args) > 1 {
			at := 1
			if i := slices.Index(args, any("streams")); i > 0 && i < len(args)-1 {
				at = i + 1
			}
			named := *f
			named.hint = fmt.Sprintf("the key %v: another program wrote it; rename or delete it", args[at])
			return &named
		}
	}
	return err
}

// nameForeign adds to the error of a script the key or field that it could not
// use, where that can be found out.
func (s *Store) nameForeign(ctx context.Context, err error, b string, args []any) error {
	var f *fault
	if !errors.As(err, &f) || f.kind != storage.ErrMalformed || !isReply(f.err) {
		return err
	}
	named := *f
	switch own := s.foreignOwn(ctx, b); {
	case own != "":
		named.hint, named.shared = own+": another program wrote it; rename or delete it", true
	default:
		of := s.foreignOf(ctx, b, textsOf(args))
		if of == "" {
			return err
		}
		named.hint = of + ": another program wrote it; rename or delete it"
	}
	return &named
}

// ofOneJob reports whether what a script could not use is not a key of the queue
// itself, so that the same call without some job may succeed.
func ofOneJob(err error) bool {
	var f *fault
	return errors.As(err, &f) && f.kind == storage.ErrMalformed && isReply(f.err) && !f.shared
}

// foreignOwn describes what cannot be used among the queue's own keys.
func (s *Store) foreignOwn(ctx context.Context, b string) string {
	names := slices.Sorted(maps.Keys(wire.Own))
	keys := make([]typedKey, len(names))
	for i, name := range names {
		keys[i] = typedKey{b + name, wire.Own[name]}
	}
	if found := s.firstForeign(ctx, keys); found != "" {
		return found
	}
	texts := []*redis.StringCmd{
		redis.NewStringCmd(ctx, "get", b+"id"),
		redis.NewStringCmd(ctx, "hget", b+"meta", "opts.maxLenEvents"),
	}
	s.ask(ctx, texts[0], texts[1])
	for i, what := range []string{"the key " + b + "id", "the field opts.maxLenEvents of the key " + b + "meta"} {
		if text := texts[i]; text.Err() == nil && !isWhole(text.Val()) {
			return fmt.Sprintf("%s is %.40q, not a whole number", what, text.Val())
		}
	}
	return ""
}

func isWhole(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && n >= 0 || text == ""
}

// foreignOf describes what cannot be used among the keys of jobs, deduplication
// ids, schedules and groups with some ids, and of the parents of the jobs.
func (s *Store) foreignOf(ctx context.Context, b string, ids []string) string {
	var keys []typedKey
	parents := make([]*redis.StringCmd, len(ids))
	cmds := make([]redis.Cmder, len(ids))
	for i, id := range ids {
		keys = append(keys, typedKey{b + id, "hash"}, typedKey{b + "de:" + id, "string"}, typedKey{b + "dn:" + id, "hash"},
			typedKey{b + "repeat:" + id, "hash"}, typedKey{b + "gen:group:" + id, "hash"})
		keys = appendParts(keys, b+id)
		parents[i] = redis.NewStringCmd(ctx, "hget", b+id, "parentKey")
		cmds[i] = parents[i]
	}
	s.ask(ctx, cmds...)
	for _, p := range parents {
		if key := p.Val(); key != "" {
			keys = appendParts(append(keys, typedKey{key, "hash"}), key)
		}
	}
	return s.firstForeign(ctx, keys)
}

// typedKey is a key and the type that it has in a queue.
type typedKey struct{ key, typ string }

func appendParts(keys []typedKey, job string) []typedKey {
	for _, part := range slices.Sorted(maps.Keys(wire.Parts)) {
		keys = append(keys, typedKey{job + ":" + part, wire.Parts[part]})
	}
	return keys
}

// firstForeign describes the first of the keys that has another type.
func (s *Store) firstForeign(ctx context.Context, keys []typedKey) string {
	types, cmds := make([]*redis.StatusCmd, len(keys)), make([]redis.Cmder, len(keys))
	for i, k := range keys {
		types[i] = redis.NewStatusCmd(ctx, "type", k.key)
		cmds[i] = types[i]
	}
	s.ask(ctx, cmds...)
	for i, k := range keys {
		if typ := types[i].Val(); typ != "" && typ != "none" && typ != k.typ {
			return fmt.Sprintf("the key %s is a %s, not a %s", k.key, typ, k.typ)
		}
	}
	return ""
}

// ask sends commands of which any may fail.
func (s *Store) ask(ctx context.Context, cmds ...redis.Cmder) {
	if len(cmds) == 0 {
		return
	}
	pipe := s.client.Pipeline()
	for _, c := range cmds {
		_ = pipe.Process(ctx, c) // queues it only
	}
	_, _ = exec(ctx, pipe)
}

// askedAbout is how many of the arguments of a call may be ids that are looked into.
const askedAbout = 200

// textsOf are those of a call's arguments that may be ids.
func textsOf(args []any) []string {
	var out []string
	for _, a := range args[min(len(args), headArgs):] {
		text, ok := a.(string)
		if p, isText := a.(*string); isText && p != nil {
			text, ok = *p, true
		}
		if ok && text != "" && len(text) <= 512 && !slices.Contains(out, text) {
			if out = append(out, text); len(out) == askedAbout {
				break
			}
		}
	}
	return out
}
