package redisq

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// readJobs is how many jobs one round trip reads.
const readJobs = 500

// ReadFlow implements [storage.FlowReader].
func (s *Store) ReadFlow(ctx context.Context, width int, keys ...string) ([]*storage.FlowRecord, error) {
	out := make([]*storage.FlowRecord, 0, len(keys))
	for from := 0; from < len(keys); from += readJobs {
		part, err := s.readFlow(ctx, width, keys[from:min(from+readJobs, len(keys))])
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return out, nil
}

// flowJob is a job of a flow while it is read.
type flowJob struct {
	base, id  string
	hash      *redis.MapStringStringCmd
	processed *redis.IntCmd
	pending   *redis.IntCmd
	ignored   *redis.IntCmd
	failed    *redis.IntCmd
	places    []redis.Cmder // by stateOrder; nil: not asked yet
}

func (s *Store) readFlow(ctx context.Context, width int, keys []string) ([]*storage.FlowRecord, error) {
	jobs := make([]*flowJob, len(keys))
	var cmds []redis.Cmder
	for i, key := range keys {
		b, id, err := s.splitKey(key)
		if err != nil {
			return nil, err
		}
		j := &flowJob{
			base: b, id: id, places: make([]redis.Cmder, len(stateOrder)),
			hash:      redis.NewMapStringStringCmd(ctx, "hgetall", key),
			processed: redis.NewIntCmd(ctx, "hlen", key+":processed"),
			pending:   redis.NewIntCmd(ctx, "scard", key+":dependencies"),
			ignored:   redis.NewIntCmd(ctx, "hlen", key+":failed"),
			failed:    redis.NewIntCmd(ctx, "zcard", key+":unsuccessful"),
		}
		jobs[i] = j
		cmds = append(cmds, j.hash, j.processed, j.pending, j.ignored, j.failed)
		cmds = j.look(ctx, cmds, "zset")
	}
	if err := exceptForeign(s.read(ctx, cmds...), cmds); err != nil {
		return nil, err
	}
	if err := s.lookInLists(ctx, jobs); err != nil {
		return nil, err
	}
	out := make([]*storage.FlowRecord, len(jobs))
	for i, j := range jobs {
		if out[i] = j.made(); out[i] == nil {
			continue
		}
		var err error
		if out[i].Children, err = s.firstChildren(ctx, keys[i], out[i].Counts, width); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// look asks for the job in all states that are kept in one way.
func (j *flowJob) look(ctx context.Context, cmds []redis.Cmder, kind string) []redis.Cmder {
	for i, state := range stateOrder {
		at := stateKeys[state]
		if (at.kind == "list") != (kind == "list") {
			continue
		}
		verb := "zscore"
		if kind == "list" {
			verb = "lpos"
		}
		j.places[i] = redis.NewCmd(ctx, verb, j.base+at.name, j.id)
		cmds = append(cmds, j.places[i])
	}
	return cmds
}

// lookInLists looks for those jobs in lists that are in none of the sets: a
// list has to be searched from its beginning.
func (s *Store) lookInLists(ctx context.Context, jobs []*flowJob) error {
	var cmds []redis.Cmder
	for _, j := range jobs {
		if len(j.hash.Val()) > 0 && j.state() == storage.StateUnknown {
			cmds = j.look(ctx, cmds, "list")
		}
	}
	if len(cmds) == 0 {
		return nil
	}
	return exceptForeign(s.read(ctx, cmds...), cmds)
}

func (j *flowJob) state() storage.State {
	for i, cmd := range j.places {
		if cmd == nil || !found(cmd) {
			continue
		}
		if stateOrder[i] == storage.StatePaused {
			return storage.StateWaiting
		}
		return stateOrder[i]
	}
	return storage.StateUnknown
}

// made is what was read, or nil when there is no such job.
func (j *flowJob) made() *storage.FlowRecord {
	r := recordOfMap(j.id, j.hash.Val())
	if r.Missing {
		return nil
	}
	return &storage.FlowRecord{Record: r, State: j.state(), Counts: storage.DependencyCounts{
		Pending: int(j.pending.Val()), Processed: int(j.processed.Val()),
		Ignored: int(j.ignored.Val()), Failed: int(j.failed.Val()),
	}}
}

// firstChildren reads up to width children of a job, in the order in which
// peers show them.
func (s *Store) firstChildren(ctx context.Context, key string, counts storage.DependencyCounts, width int) ([]storage.Child, error) {
	if counts == (storage.DependencyCounts{}) || width == 0 {
		return nil, nil
	}
	if width < 0 || counts.Pending+counts.Processed+counts.Ignored+counts.Failed <= width {
		return s.children(ctx, key, true)
	}
	var out []storage.Child
	for _, kind := range childKinds {
		for cursor, first := uint64(0), true; len(out) < width && (first || cursor != 0); first = false {
			page, next, err := s.dependencies(ctx, key, kind, cursor, width-len(out))
			if err != nil && !isForeign(err) {
				return nil, err
			}
			for _, d := range page[:min(len(page), width-len(out))] {
				out = append(out, storage.Child{Dependency: d, Kind: kind})
			}
			cursor = next
		}
	}
	return out, nil
}

// childKinds are the kinds of children in the order in which peers show them.
var childKinds = []storage.DependencyKind{
	storage.DependencyProcessed, storage.DependencyPending, storage.DependencyFailed, storage.DependencyIgnored,
}

// Children implements [storage.FlowReader].
func (s *Store) Children(ctx context.Context, key string) ([]storage.Child, error) {
	if _, _, err := s.splitKey(key); err != nil {
		return nil, err
	}
	return s.children(ctx, key, false)
}

// children reads the children of a job. Readable says that those of which a key
// has another type are left out; otherwise that is an error.
func (s *Store) children(ctx context.Context, key string, readable bool) ([]storage.Child, error) {
	var (
		processed = redis.NewMapStringStringCmd(ctx, "hgetall", key+":processed")
		pending   = redis.NewStringSliceCmd(ctx, "smembers", key+":dependencies")
		failed    = redis.NewStringSliceCmd(ctx, "zrange", key+":unsuccessful", 0, -1)
		ignored   = redis.NewMapStringStringCmd(ctx, "hgetall", key+":failed")
	)
	err := s.readAtOnce(ctx, processed, pending, failed, ignored)
	if readable {
		err = exceptForeign(err, []redis.Cmder{processed, pending, failed, ignored})
	}
	if err != nil {
		return nil, err
	}
	var out []storage.Child
	for child, value := range processed.Val() {
		out = append(out, storage.Child{Kind: storage.DependencyProcessed, Dependency: storage.Dependency{Key: child, Value: []byte(value)}})
	}
	for _, child := range pending.Val() {
		out = append(out, storage.Child{Kind: storage.DependencyPending, Dependency: storage.Dependency{Key: child}})
	}
	for _, child := range failed.Val() {
		out = append(out, storage.Child{Kind: storage.DependencyFailed, Dependency: storage.Dependency{Key: child}})
	}
	for child, reason := range ignored.Val() {
		out = append(out, storage.Child{Kind: storage.DependencyIgnored, Dependency: storage.Dependency{Key: child, Reason: reason}})
	}
	return out, nil
}

// Names implements [storage.FlowReader].
func (s *Store) Names(ctx context.Context, keys ...string) ([]string, error) {
	names := make([]string, len(keys))
	for from := 0; from < len(keys); from += readJobs {
		part := keys[from:min(from+readJobs, len(keys))]
		cmds := make([]redis.Cmder, len(part))
		for i, key := range part {
			if _, _, err := s.splitKey(key); err != nil {
				return nil, err
			}
			cmds[i] = redis.NewStringCmd(ctx, "hget", key, "name")
		}
		if err := exceptForeign(s.read(ctx, cmds...), cmds); err != nil {
			return nil, err
		}
		for i, cmd := range cmds {
			names[from+i] = cmd.(*redis.StringCmd).Val()
		}
	}
	return names, nil
}

// splitKey cuts the full key of a job into the base of its queue and its id.
func (s *Store) splitKey(key string) (b, id string, err error) {
	i := strings.LastIndexByte(key, ':')
	if i < 0 || i == len(key)-1 {
		return "", "", storage.Invalid("bullmq: %q is not the key of a job", key)
	}
	if _, err := s.qualifiedBase(key[:i]); err != nil {
		return "", "", storage.Invalid("bullmq: job %q: %w", key, err)
	}
	return key[:i+1], key[i+1:], nil
}
