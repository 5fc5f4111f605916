package redisq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

var replayAdd = map[string]replayFunc{
	"addStandardJob":    replayAddJob,
	"addPrioritizedJob": replayAddJob,
	"addDelayedJob":     replayAddJob,
	"addParentJob":      replayAddJob,
	"plain:new Queue":   replayAnnounce,
}

// replayAnnounce does what the making of a queue object does: it keeps the cap
// of events that it was given, or the default one.
func replayAnnounce(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var args struct {
		Streams struct {
			Events struct {
				MaxLen int `json:"maxLen"`
			} `json:"events"`
		} `json:"streams"`
	}
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	_, queue := r.Queue()
	keep := args.Streams.Events.MaxLen
	if keep == 0 {
		keep = 10000
	}
	return vectors.NoReply, s.Announce(ctx, queue, "bullmq:"+r.Lib, keep)
}

// addRecord are the arguments of a recorded add.
type addRecord struct {
	JobID              string          `json:"jobId"`
	Name               string          `json:"name"`
	Timestamp          int64           `json:"timestamp"`
	Parent             *recordedParent `json:"parent"`
	RepeatJobKey       string          `json:"repeatJobKey"`
	DeferParentRelease bool            `json:"deferParentRelease"`
	Data               string          `json:"data"`
	Opts               json.RawMessage `json:"opts"`
}

type recordedParent struct {
	ID       string `json:"id"`
	QueueKey string `json:"queueKey"`
	Fail     bool   `json:"fpof"`
	Continue bool   `json:"cpof"`
	Ignore   bool   `json:"idof"`
	Remove   bool   `json:"rdof"`
}

func (p *recordedParent) parent() *storage.Parent {
	if p == nil {
		return nil
	}
	out := &storage.Parent{ID: p.ID, Queue: p.QueueKey}
	switch {
	case p.Fail:
		out.OnFail = storage.OnFailFail
	case p.Continue:
		out.OnFail = storage.OnFailContinue
	case p.Ignore:
		out.OnFail = storage.OnFailIgnore
	case p.Remove:
		out.OnFail = storage.OnFailRemove
	}
	return out
}

// recordedOpts are the stored options that a storage needs to know.
type recordedOpts struct {
	Delay    float64 `json:"delay"`
	Priority int     `json:"priority"`
	LIFO     bool    `json:"lifo"`
	Dedup    *struct {
		ID         string  `json:"id"`
		TTL        float64 `json:"ttl"`
		Extend     bool    `json:"extend"`
		Replace    bool    `json:"replace"`
		KeepLast   bool    `json:"keepLastIfActive"`
		Reschedule bool    `json:"reschedule"`
	} `json:"de"`
}

func replayAddJob(ctx context.Context, s *Store, r *vectors.Record) (any, error) {
	var a addRecord
	if err := r.Decode(&a); err != nil {
		return nil, err
	}
	var o recordedOpts
	if err := json.Unmarshal(a.Opts, &o); err != nil {
		return nil, fmt.Errorf("options of %s: %w", r.ID, err)
	}
	job := storage.NewJob{
		ID: a.JobID, Name: a.Name, Data: []byte(a.Data), Opts: a.Opts, Timestamp: time.UnixMilli(a.Timestamp),
		Delay: recordedMillis(o.Delay), Priority: o.Priority, LIFO: o.LIFO, Parent: a.Parent.parent(),
	}
	if d := o.Dedup; d != nil {
		job.Dedup = &storage.Dedup{
			ID: d.ID, TTL: recordedMillis(d.TTL), Extend: d.Extend, Replace: d.Replace, KeepLastIfActive: d.KeepLast, Reschedule: d.Reschedule,
		}
	}
	_, queue := r.Queue()
	added, err := s.add(ctx, queue, []intake{{
		NewJob: &job, waits: r.Op() == "addParentJob", flow: a.DeferParentRelease, scheduler: a.RepeatJobKey,
	}})
	if err != nil {
		return nil, err
	}
	return addReply(added[0])
}

// addReply is an answer as the peer gives it: the id, or a code.
func addReply(a storage.Added) (any, error) {
	switch {
	case errors.Is(a.Err, storage.ErrNoParent):
		return -5, nil
	case errors.Is(a.Err, storage.ErrOtherParent):
		return -7, nil
	}
	return a.ID, a.Err
}

func recordedMillis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
