package redisq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// stateOf turns the name of a key into a state.
func stateOf(key string) storage.State {
	if key == "wait" {
		return storage.StateWaiting
	}
	return storage.State(key)
}

func replayCounts(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	var states []storage.State
	for _, key := range a.States {
		states = append(states, stateOf(key))
	}
	return s.Counts(ctx, queue, states...)
}

func replayCountsByPriority(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return s.CountsByPriority(ctx, queue, a.Priorities...)
}

func replayDependencyCounts(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	id, _, _ := strings.Cut(r.Job(), ":")
	c, err := s.DependencyCounts(ctx, queue, id)
	byKind := map[string]int{"processed": c.Processed, "unprocessed": c.Pending, "ignored": c.Ignored, "failed": c.Failed}
	var counts []int
	for _, k := range a.Kinds {
		counts = append(counts, byKind[k])
	}
	return counts, err
}

// replayListJobs reads each state by itself: peers join the states in the client.
func replayListJobs(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	var reply []any
	for _, key := range a.States {
		jobs, err := s.ListJobs(ctx, queue, []storage.State{stateOf(key)}, int(a.Start), int(a.End), a.Asc)
		if err != nil {
			return nil, err
		}
		page := []any{}
		for i := range jobs {
			page = append(page, []any{jobs[i].ID, vectors.JobOf(&jobs[i])})
		}
		reply = append(reply, page)
	}
	return reply, nil
}

// replayList turns lists round again: the script of peers answers with them as
// they are stored, whatever the order asked for.
func replayList(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	reply := [][]string{}
	for _, key := range a.States {
		ids, err := s.List(ctx, queue, stateOf(key), int(a.Start), int(a.End), a.Asc)
		if err != nil {
			return nil, err
		}
		if a.Asc && stateKeys[stateOf(key)].kind == "list" {
			slices.Reverse(ids)
		}
		reply = append(reply, ids)
	}
	return reply, nil
}

func replayMetrics(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	state := storage.StateCompleted
	if strings.HasSuffix(r.Keys[0], "failed") {
		state = storage.StateFailed
	}
	m, err := s.Metrics(ctx, queue, state, int(a.Start), int(a.End))
	if err != nil {
		return nil, err
	}
	points := []string{}
	for _, p := range m.Points {
		points = append(points, strconv.Itoa(p))
	}
	head := []any{strconv.Itoa(m.Count), strconv.FormatInt(m.PrevTime.UnixMilli(), 10), strconv.Itoa(m.Prev)}
	if m.PrevTime.IsZero() {
		head = []any{nil, nil, nil}
	}
	return []any{head, points, m.Total}, nil
}

// replayRateLimitTTL: we say of no limit and of one without an end the same, zero.
func replayRateLimitTTL(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	ttl, err := s.RateLimitTTL(ctx, queue, a.MaxJobs)
	if ttl == 0 && (string(r.Reply) == "-1" || string(r.Reply) == "-2") {
		return vectors.NoReply, err
	}
	return vectors.Near(ttl.Milliseconds()), err
}

func replayState(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	return stateText(s.State(ctx, queue, a.JobID))
}

func stateText(state storage.State, err error) (any, error) { return string(state), err }

func replayFinish(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	f, err := s.Finish(ctx, queue, a.JobID)
	reply := []any{0}
	switch f.State {
	case storage.StateUnknown:
		reply = []any{-1, fmt.Sprintf("Missing key for job %s%s. isFinished", r.Base(), a.JobID)}
	case storage.StateCompleted:
		reply = []any{1, nil}
		if f.Value != nil {
			reply[1] = string(f.Value)
		}
	case storage.StateFailed:
		reply = []any{2, f.Reason}
	}
	if !a.WantValue {
		return reply[0], err
	}
	return reply, err
}

// replayDependencies pages through all children of a kind, and cuts the window
// asked for out of them. Peers count only up to the end of the window.
func replayDependencies(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	id, part, _ := strings.Cut(r.Job(), ":")
	kinds := map[string]storage.DependencyKind{
		"dependencies": storage.DependencyPending, "processed": storage.DependencyProcessed, "failed": storage.DependencyIgnored,
	}
	kind, ok := kinds[part]
	if !ok {
		return nil, errNotMapped
	}
	all, err := allChildren(ctx, s, queue, id, kind, 2)
	if err != nil {
		return nil, err
	}
	var reply []json.RawMessage
	if err := json.Unmarshal(r.Reply, &reply); err != nil {
		return nil, err
	}
	var recorded []json.RawMessage
	if err := json.Unmarshal(reply[2], &recorded); err != nil && string(reply[2]) != "{}" {
		return nil, err
	}
	// Which children a window has depends on the server's order of a set: only how many is compared, unless it has all.
	end := int(a.End)
	if end < 0 {
		end = len(all) - 1
	}
	from := min(int(a.Start), len(all))
	window := all[from:max(from, min(end+1, len(all)))]
	if len(window) != len(recorded) {
		return nil, fmt.Errorf("a window of %d children, %d are recorded", len(window), len(recorded))
	}
	if len(window) == len(all) {
		if err := sameChildren(recorded, window, kind); err != nil {
			return nil, err
		}
	}
	total, err := s.DependencyCounts(ctx, queue, id)
	counts := map[storage.DependencyKind]int{
		storage.DependencyPending: total.Pending, storage.DependencyProcessed: total.Processed, storage.DependencyIgnored: total.Ignored,
	}
	return []any{vectors.NoReply, vectors.NoReply, vectors.NoReply, counts[kind], vectors.NoReply}[:len(reply)], err
}

var errNotMapped = errors.New("not a list of children")

func allChildren(ctx context.Context, s *Store, queue, id string, kind storage.DependencyKind, count int) ([]storage.Dependency, error) {
	var all []storage.Dependency
	for cursor := uint64(0); ; {
		page, next, err := s.Dependencies(ctx, queue, id, kind, cursor, count)
		all = append(all, page...)
		if err != nil || next == 0 {
			return all, err
		}
		cursor = next
	}
}

// sameChildren compares children with keys, or pairs of key and value, in any order.
func sameChildren(want []json.RawMessage, got []storage.Dependency, kind storage.DependencyKind) error {
	texts := make([]string, len(got))
	for i, d := range got {
		var v any = d.Key
		switch kind {
		case storage.DependencyProcessed:
			v = []string{d.Key, string(d.Value)}
		case storage.DependencyIgnored:
			v = []string{d.Key, d.Reason}
		}
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		texts[i] = string(b)
	}
	wanted := make([]string, len(want))
	for i, w := range want {
		var v any
		if err := json.Unmarshal(w, &v); err != nil {
			return err
		}
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		wanted[i] = string(b)
	}
	slices.Sort(texts)
	slices.Sort(wanted)
	if !slices.Equal(texts, wanted) {
		return fmt.Errorf("children %q, recorded are %q", texts, wanted)
	}
	return nil
}

func replayConcurrency(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	_, queue := r.Queue()
	m, err := s.Meta(ctx, queue)
	if m.Concurrency == 0 {
		return nil, err
	}
	return m.Concurrency, err
}

func replayLimit(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	_, queue := r.Queue()
	m, err := s.Meta(ctx, queue)
	if m.Limit == nil {
		return nil, err
	}
	return map[string]int64{"max": int64(m.Limit.Max), "duration": m.Limit.Per.Milliseconds()}, err
}

func replayVersion(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	_, queue := r.Queue()
	m, err := s.Meta(ctx, queue)
	return m.Version, err
}

func replayMeta(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	_, queue := r.Queue()
	m, err := s.Meta(ctx, queue)
	got := map[string]any{"paused": m.Paused, "version": m.Version, "maxLenEvents": m.MaxEvents}
	if m.Concurrency > 0 {
		got["concurrency"] = m.Concurrency
	}
	return got, err
}

func replayIsPaused(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	_, queue := r.Queue()
	m, err := s.Meta(ctx, queue)
	return m.Paused, err
}

// replayJob compares the fields that Node shows under the same names.
func replayJob(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	jobs, err := s.Jobs(ctx, queue, a.JobID)
	if err != nil || jobs[0] == nil {
		return nil, err
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal(r.Reply, &want); err != nil {
		return nil, err
	}
	j := jobs[0]
	got := map[string]any{
		"id": j.ID, "name": j.Name, "data": json.RawMessage(j.Data), "opts": json.RawMessage(j.Opts), "progress": 0,
		"attemptsMade": j.AttemptsMade, "attemptsStarted": j.AttemptsStarted, "stalledCounter": j.StalledCount,
		"timestamp": j.Timestamp.UnixMilli(), "delay": j.Delay.Milliseconds(), "priority": j.Priority,
		"stacktrace": "[]", "queueQualifiedName": strings.TrimSuffix(r.Base(), ":"), "returnvalue": "null",
	}
	for name := range want {
		if _, ok := got[name]; !ok {
			return nil, fmt.Errorf("the record has a field %q", name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			delete(got, name)
		}
	}
	return got, nil
}

func replayLogs(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	asc := a.Asc || !strings.Contains(string(r.Args), `"asc"`)
	lines, n, err := s.Logs(ctx, queue, a.JobID, int(a.Start), int(a.End), asc)
	return map[string]any{"logs": lines, "count": n}, err
}

func replayInState(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	state, err := s.State(ctx, queue, a.JobID)
	return state == stateOf(a.State), err
}

func replayDedupJob(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	id, err := s.DedupJobID(ctx, queue, a.ID)
	if id == "" {
		return nil, err
	}
	return id, err
}

// replayChildren reads all children of a kind, as Node's map of key and value.
func replayChildren(kind storage.DependencyKind) replayFunc {
	return func(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
		queue, a, err := argsOf(r)
		if err != nil {
			return nil, err
		}
		all, err := allChildren(ctx, s, queue, a.JobID, kind, 1)
		return childMap(all, kind), err
	}
}

func childMap(all []storage.Dependency, kind storage.DependencyKind) map[string]any {
	got := map[string]any{}
	for _, d := range all {
		got[d.Key] = d.Reason
		if kind == storage.DependencyProcessed {
			got[d.Key] = d.Value
		}
	}
	return got
}

func replayAllChildren(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal(r.Reply, &want); err != nil {
		return nil, err
	}
	got := map[string]any{}
	for name := range want {
		if strings.HasPrefix(name, "next") {
			got[name] = 0
			continue
		}
		kind := storage.DependencyKind(name)
		all, err := allChildren(ctx, s, queue, a.JobID, kind, 20)
		if err != nil {
			return nil, err
		}
		got[name] = childMap(all, kind)
		if kind == storage.DependencyPending || kind == storage.DependencyFailed {
			keys := vectors.Set{}
			for _, d := range all {
				keys = append(keys, d.Key)
			}
			got[name] = keys
		}
	}
	return got, nil
}
