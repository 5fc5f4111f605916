package redisq

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

var replayFlow = map[string]replayFunc{
	"releaseParentIfNoPendingDependencies": replayReleaseParent,
	"plain:FlowProducer.add":               replayFlowProducer,
}

// replayReleaseParent does what the end of a flow does for a parent: a flow
// without jobs, of which one parent is there already.
func replayReleaseParent(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var a struct {
		ParentKey, ParentQueueKey, ParentID string
		Timestamp                           int64
	}
	if err := r.Decode(&a); err != nil {
		return nil, err
	}
	args := []any{a.Timestamp, a.Timestamp, 0, 1, 0, a.ParentKey, 0, "{"}
	_, err := runAt(ctx, s, redis.NewStringSliceCmd, "addflow", a.ParentQueueKey+":", args)
	return nil, err
}

// replayFlowProducer adds the jobs that the record has after the operation and
// not before. Of a stream the record shows only the last few events.
func replayFlowProducer(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	nodes, err := newNodes(r)
	if err != nil {
		return nil, err
	}
	if _, err := s.AddFlow(ctx, nodes[0].Timestamp, nodes); err != nil {
		return nil, err
	}
	for key, e := range r.After {
		if e.Type == "stream" {
			if err := s.client.XTrimMaxLen(ctx, key, int64(len(e.Stream))).Err(); err != nil {
				return nil, err
			}
		}
	}
	return vectors.NoReply, nil
}

func newNodes(r *vectors.Record) ([]storage.FlowNode, error) {
	var parents, children []storage.FlowNode
	for _, key := range slices.Sorted(maps.Keys(r.After)) {
		e := r.After[key]
		if _, old := r.Before[key]; old || e.Type != "hash" || e.Hash["name"] == "" {
			continue
		}
		queue, id := key[:strings.LastIndexByte(key, ':')], key[strings.LastIndexByte(key, ':')+1:]
		n := storage.FlowNode{Queue: queue, NewJob: storage.NewJob{
			ID: id, Name: e.Hash["name"], Data: []byte(e.Hash["data"]), Opts: []byte(e.Hash["opts"]), Timestamp: parseTime(e.Hash["timestamp"]),
		}}
		if e.Hash["parent"] == "" {
			parents = append(parents, n)
			continue
		}
		var p recordedParent
		if err := json.Unmarshal([]byte(e.Hash["parent"]), &p); err != nil {
			return nil, fmt.Errorf("parent of %s: %w", key, err)
		}
		n.Parent = p.parent()
		children = append(children, n)
	}
	if len(parents) == 0 || len(children) == 0 {
		return nil, fmt.Errorf("%s adds no flow", r.ID)
	}
	return append(parents, children...), nil
}

// What peers add one by one inside a flow is added in the same way by the
// script for whole flows, here as a flow of one job. Left out are those that
// the whole flow decides: a job that a peer refuses, and one that is finished
// already, of which its parent is told at the end.
func TestFlowVectors(t *testing.T) {
	t.Parallel()
	records, err := vectors.Load(vectorFolders()...)
	require.NoError(t, err)
	rdb := testredis.Any(t).Client(t)
	n := map[string]int{}
	for _, r := range records {
		if !strings.HasPrefix(r.Op(), "add") || r.Peers5() {
			continue
		}
		var a addRecord
		if r.Decode(&a) != nil || a.JobID == "" || !a.DeferParentRelease && r.Op() != "addParentJob" || !wholeFlowAgrees(r, &a) {
			continue
		}
		o := replayOne(t.Context(), rdb, replayNode, r, nil)
		require.Empty(t, o.diff, "%s (%s)\n%s", r.ID, r.Note, r.Args)
		n[r.Op()]++
	}
	for _, op := range []string{"addStandardJob", "addPrioritizedJob", "addDelayedJob", "addParentJob"} {
		require.GreaterOrEqual(t, n[op], 3, "records of %s: %v", op, n)
	}
}

func wholeFlowAgrees(r *vectors.Record, a *addRecord) bool {
	if a.RepeatJobKey != "" || strings.HasPrefix(string(r.Reply), "-") || strings.Contains(a.JobID, ":") {
		return false
	}
	var o recordedOpts
	if json.Unmarshal(a.Opts, &o) != nil || o.Dedup != nil || o.Delay != float64(int64(o.Delay)) {
		return false
	}
	prefix, queue := r.Queue()
	for _, set := range []string{"completed", "failed"} {
		for _, m := range r.Before[prefix+":"+queue+":"+set].Sorted {
			if m.Name == a.JobID {
				return false
			}
		}
	}
	return a.Parent == nil || r.Before[a.Parent.QueueKey+":"+a.Parent.ID].Hash["flowAttachmentFailed"] == ""
}

// replayNode adds one job as a flow. What makes a job wait for its children is
// that others name it as their parent, so that part is set by hand.
func replayNode(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var a addRecord
	if err := r.Decode(&a); err != nil {
		return nil, err
	}
	var o recordedOpts
	if err := json.Unmarshal(a.Opts, &o); err != nil {
		return nil, err
	}
	prefix, queue := r.Queue()
	n := storage.FlowNode{Queue: prefix + ":" + queue, NewJob: storage.NewJob{
		ID: a.JobID, Name: a.Name, Data: []byte(a.Data), Opts: a.Opts, Timestamp: time.UnixMilli(a.Timestamp),
		Delay: recordedMillis(o.Delay), Priority: o.Priority, LIFO: o.LIFO, Parent: a.Parent.parent(),
	}}
	nodes := []storage.FlowNode{n}
	f := newFlow(len(nodes))
	if err := s.checkFlow(f, n.Timestamp, nodes); err != nil {
		return nil, err
	}
	f.waits[0] = r.Op() == "addParentJob"
	reply, err := runAt(ctx, s, redis.NewStringSliceCmd, "addflow", n.Queue+":", f.args(n.Timestamp, nodes))
	if err != nil {
		return nil, err
	}
	added, err := flowReply(nodes, reply.Val())
	if err != nil {
		return nil, err
	}
	return addReply(added[0])
}
