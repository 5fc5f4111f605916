package redisq

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// replayPlain replays what clients of a peer do with single commands, or learn
// from a script that has no counterpart by itself.
var replayPlain = map[string]replayFunc{
	"isJobInList":                 replayIsJobInList,
	"isMaxed":                     replayIsMaxed,
	"plain:addBulk":               replayAddBulk,
	"plain:publishEvent":          replayPublish,
	"plain:Queue.clean":           replayQueueClean,
	"plain:QueueEvents read loop": replayReadEvents,
}

// one is the reply of a script that says no with nil.
func one(yes bool) any {
	if yes {
		return 1
	}
	return nil
}

// replayIsJobInList asks for the job's state: lists are no matter of a storage.
func replayIsJobInList(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	list := r.Keys[0][strings.LastIndexByte(r.Keys[0], ':')+1:]
	state, err := s.State(ctx, queue, a.JobID)
	if list == "paused" {
		list = "wait"
	}
	return one(state == stateOf(list)), err
}

// replayIsMaxed tells it as a program would, from the settings and a count.
func replayIsMaxed(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	_, queue := r.Queue()
	m, err := s.Meta(ctx, queue)
	if err != nil {
		return nil, err
	}
	n, err := s.Counts(ctx, queue, storage.StateActive)
	if err != nil {
		return nil, err
	}
	return one(m.Concurrency > 0 && n[0] >= m.Concurrency), nil
}

// replayAddBulk adds the jobs that the record has after the operation and not
// before: the arguments do not say which.
func replayAddBulk(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	_, queue := r.Queue()
	var jobs []storage.NewJob
	var ids []string
	for _, key := range slices.Sorted(maps.Keys(r.After)) {
		h := r.After[key].Hash
		if _, old := r.Before[key]; old || h["name"] == "" {
			continue
		}
		ids = append(ids, strings.TrimPrefix(key, r.Base()))
		jobs = append(jobs, storage.NewJob{
			Name: h["name"], Data: []byte(h["data"]), Opts: []byte(h["opts"]), Timestamp: parseTime(h["timestamp"]),
		})
	}
	added, err := s.Add(ctx, queue, jobs)
	if err != nil {
		return nil, err
	}
	for i, a := range added {
		if a.ID != ids[i] {
			return nil, fmt.Errorf("job %d has the id %q, recorded is %q", i, a.ID, ids[i])
		}
	}
	return vectors.NoReply, cutStreams(ctx, s, r)
}

// cutStreams leaves as many events as the record has: of the events before an
// operation it shows only the last ones.
func cutStreams(ctx context.Context, s *Store, r *vectors.Record) error {
	for key, e := range r.After {
		if e.Type != "stream" {
			continue
		}
		if err := s.client.XTrimMaxLen(ctx, key, int64(len(e.Stream))).Err(); err != nil {
			return err
		}
	}
	return nil
}

// replayPublish publishes the event of the arguments, with its fields in the
// order in which they were sent.
func replayPublish(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	_, queue := r.Queue()
	sent := r.Commands[0] // xadd key MAXLEN ~ n * event name field value ...
	keep, err := strconv.Atoi(sent[4])
	if err != nil {
		return nil, err
	}
	var args map[string]any
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	if args["eventName"] != sent[7] || len(sent)-8 != 2*(len(args)-1) {
		return nil, fmt.Errorf("the command %q is not that of the arguments", sent)
	}
	if keep == publishedKept {
		keep = 0
	}
	if err := s.Publish(ctx, queue, sent[7], keep, sent[8:]...); err != nil {
		return nil, err
	}
	return vectors.NoReply, cutStreams(ctx, s, r)
}

// replayQueueClean cleans at the time of the event that the peer emitted.
func replayQueueClean(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	queue, a, err := argsOf(r)
	if err != nil {
		return nil, err
	}
	events := r.After[r.Base()+"events"].Stream
	ms, _, _ := strings.Cut(events[len(events)-1].ID, "-")
	before := parseTime(ms).Add(-time.Duration(a.Grace) * time.Millisecond)
	ids, err := s.Clean(ctx, queue, stateOf(a.State), before, a.Limit)
	if err != nil {
		return nil, err
	}
	return ids, cutStreams(ctx, s, r)
}

// replayReadEvents reads from where the peer did, and compares what is read
// with what there is.
func replayReadEvents(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	_, queue := r.Queue()
	var args struct{ LastEventID string }
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	var want []vectors.StreamEntry
	cursor := ""
	if args.LastEventID == "$" {
		var err error
		if cursor, err = s.LastEvent(ctx, queue); err != nil {
			return nil, err
		}
	} else {
		want = r.Before[r.Base()+"events"].Stream
	}
	events, err := s.ReadEvents(ctx, queue, cursor, 0)
	if err != nil {
		return nil, err
	}
	if len(events) != len(want) {
		return nil, fmt.Errorf("%d events are read, there are %d", len(events), len(want))
	}
	for i, e := range events {
		got := maps.Clone(e.Fields)
		got["event"] = e.Name
		if e.Cursor != want[i].ID || !maps.Equal(got, want[i].Fields) {
			return nil, fmt.Errorf("event %d is %v, there is %v", i, e, want[i])
		}
	}
	return vectors.NoReply, nil
}
