package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// queueOps change a queue and its jobs.
var queueOps = ops{
	"queue.open": act(func(_ *peer, a struct{ Opts json.RawMessage }) error {
		if len(a.Opts) > 0 {
			return errNotOffered{"a queue with options"}
		}
		return nil
	}),
	"queue.close":   act(func(*peer, none) error { return nil }), // nothing is held
	"queue.add":     ask((*peer).add),
	"queue.addBulk": ask((*peer).addBulk),
	"queue.pause":   act(func(p *peer, a queueArgs) error { return p.queue(a).Pause(background) }),
	"queue.resume":  act(func(p *peer, a queueArgs) error { return p.queue(a).Resume(background) }),
	"queue.drain": act(func(p *peer, a struct {
		queueArgs
		Delayed bool
	}) error {
		return p.queue(a.queueArgs).Drain(background, when(a.Delayed, bullmq.WithDelayed)...)
	}),
	"queue.clean": ask(func(p *peer, a struct {
		queueArgs
		Grace float64
		Limit int
		Type  string
	}) ([]string, error) {
		if a.Type == "" {
			a.Type = "completed"
		}
		ids, err := p.queue(a.queueArgs).Clean(background, state(a.Type), millis(a.Grace), a.Limit)
		return orEmpty(ids), err
	}),
	"queue.obliterate":  act((*peer).obliterate),
	"queue.retryJobs":   act((*peer).retryJobs),
	"queue.promoteJobs": act((*peer).promoteJobs),
	"queue.remove": ask(func(p *peer, a removeArgs) (int, error) {
		err := p.remove(a)
		if errors.Is(err, bullmq.ErrLocked) {
			return 0, nil
		}
		return 1, err
	}),
	"queue.trimEvents": ask(func(p *peer, a struct {
		queueArgs
		MaxLength int
	}) (int, error) {
		return p.queue(a.queueArgs).TrimEvents(background, a.MaxLength)
	}),
	"queue.removeOrphanedJobs": ask(func(p *peer, a struct {
		queueArgs
		Count, Limit int
	}) (int, error) {
		return p.store.RemoveOrphans(background, a.Queue, a.Count, a.Limit)
	}),
	"queue.publishEvent": act((*peer).publish),
}

// raw is the task of a job whose name and payload the request says.
func raw(queue, name string) *bullmq.Task[payload, json.RawMessage] {
	return bullmq.NewTask[payload, json.RawMessage](
		bullmq.Spec{Queue: &bullmq.QueueSpec{Name: queue}, Name: name}, nil)
}

// payload is a payload with the options that payloads decide.
type payload struct {
	data json.RawMessage
	keys bullmq.PayloadOptions
}

// MarshalJSON writes null for a payload that is not set: so null is read, too.
func (p payload) MarshalJSON() ([]byte, error) { return orText(p.data, "null"), nil }

func (p *payload) UnmarshalJSON(text []byte) error {
	p.data = append(json.RawMessage(nil), text...)
	return nil
}

type addArgs struct {
	queueArgs
	Name string
	Data json.RawMessage
	Opts json.RawMessage
}

// added is what an add answers: at least the id.
type added struct {
	ID       string `json:"id"`
	Existing bool   `json:"existing"`
}

func (p *peer) add(a addArgs) (*added, error) {
	o, err := parseOptions(a.Opts)
	if err != nil {
		return nil, err
	}
	opts, err := p.single(o)
	if err != nil {
		return nil, err
	}
	h, err := p.queue(a.queueArgs).Add(background, a.Name, orText(a.Data, "{}"), opts...)
	if err != nil {
		return nil, err
	}
	return &added{h.ID, h.Existing}, nil
}

// addBulk adds jobs in order, and in one call those that follow each other with
// one name and the same options but for those that payloads decide.
func (p *peer) addBulk(a struct {
	queueArgs
	Jobs []addArgs
}) ([]*added, error) {
	var out []*added
	for start := 0; start < len(a.Jobs); {
		end := start + 1
		for end < len(a.Jobs) && a.Jobs[end].Name == a.Jobs[start].Name && sameCommon(a.Jobs[start].Opts, a.Jobs[end].Opts) {
			end++
		}
		some, err := p.addMany(a.Queue, a.Jobs[start:end])
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
		start = end
	}
	return out, nil
}

func (p *peer) addMany(queue string, jobs []addArgs) ([]*added, error) {
	first, err := parseOptions(jobs[0].Opts)
	if err != nil {
		return nil, err
	}
	if first.Parent != nil {
		return nil, errNotOffered{"a parent in a bulk add"}
	}
	common, err := first.common()
	if err != nil {
		return nil, err
	}
	spec := bullmq.Spec{Queue: &bullmq.QueueSpec{Name: queue}, Name: jobs[0].Name}
	if first.Deduplication != nil {
		spec.Dedup = first.Deduplication.dedup()
		spec.Dedup.ID = ""
	}
	task := bullmq.NewTask[payload, json.RawMessage](spec, func(p *payload) bullmq.PayloadOptions { return p.keys })
	payloads := make([]payload, len(jobs))
	for i, j := range jobs {
		o, err := parseOptions(j.Opts)
		if err != nil {
			return nil, err
		}
		payloads[i] = payload{orText(j.Data, "{}"), o.keys()}
	}
	handles, err := task.AddMany(background, p.client, payloads, common...)
	var bulk *bullmq.BulkError
	if err != nil && !errors.As(err, &bulk) {
		return nil, err
	}
	out := make([]*added, len(payloads))
	for i := range out {
		if i < len(handles) && handles[i] != nil {
			out[i] = &added{handles[i].ID, handles[i].Existing}
			continue
		}
		id, of := otherTask(bulk.Errs[i])
		if !of {
			return nil, err
		}
		out[i] = &added{id, true}
	}
	return out, nil
}

var refusedFor = regexp.MustCompile(`job ("(?:[^"\\]|\\.)*") of queue`)

// otherTask returns the id of a job of another task, for which a job was not
// added: to Node programs it is one that is there already.
func otherTask(err error) (id string, ok bool) {
	m := refusedFor.FindStringSubmatch(fmt.Sprint(err))
	if m == nil || !errors.Is(err, bullmq.ErrOtherTask) {
		return "", false
	}
	id, err = strconv.Unquote(m[1])
	return id, err == nil
}

// keys are the options that payloads decide.
func (o *options) keys() (k bullmq.PayloadOptions) {
	if o.JobID != nil {
		k.JobID = *o.JobID
	}
	if o.Priority != nil {
		k.Priority = *o.Priority
	}
	if o.Delay != nil {
		k.Delay = millis(*o.Delay)
	}
	if o.Deduplication != nil {
		k.Dedup = o.Deduplication.ID
	}
	return k
}

func (p *peer) obliterate(a struct {
	queueArgs
	Opts struct {
		Force bool
		Count int
	}
}) error {
	if a.Opts.Count == 0 {
		return p.queue(a.queueArgs).Obliterate(background, when(a.Opts.Force, bullmq.Force)...)
	}
	if err := p.store.Pause(background, a.Queue); err != nil {
		return err
	}
	return p.store.Obliterate(background, a.Queue, a.Opts.Force, a.Opts.Count)
}

func (p *peer) retryJobs(a struct {
	queueArgs
	Opts struct {
		State     string
		Count     int
		Timestamp int64
	}
}) error {
	if a.Opts.State == "" {
		a.Opts.State = "failed"
	}
	if a.Opts.Count == 0 && a.Opts.Timestamp == 0 {
		return p.queue(a.queueArgs).RetryAll(background, state(a.Opts.State))
	}
	by := p.clock.now()
	if a.Opts.Timestamp != 0 {
		by = time.UnixMilli(a.Opts.Timestamp)
	}
	return p.store.RetryAll(background, a.Queue, state(a.Opts.State), by, a.Opts.Count)
}

func (p *peer) promoteJobs(a struct {
	queueArgs
	Opts struct{ Count int }
}) error {
	if a.Opts.Count == 0 {
		return p.queue(a.queueArgs).PromoteAll(background)
	}
	return p.store.PromoteAll(background, a.Queue, a.Opts.Count)
}

// when is a list of one option if the peer's flag is set.
func when[O any](set bool, option func() O) []O {
	if !set {
		return nil
	}
	return []O{option()}
}

type removeArgs struct {
	jobArgs
	Opts struct{ RemoveChildren *bool }
}

func (p *peer) remove(a removeArgs) error {
	children := a.Opts.RemoveChildren == nil || *a.Opts.RemoveChildren
	return p.client.Queue(a.Queue).Remove(background, a.ID, when(children, bullmq.WithChildren)...)
}

func (p *peer) publish(a struct {
	queueArgs
	Name      string
	Fields    json.RawMessage
	MaxEvents int
}) error {
	pairs, err := orderedPairs(a.Fields)
	if err != nil {
		return err
	}
	return p.queue(a.queueArgs).Publish(background, a.Name, a.MaxEvents, pairs...)
}

// state is a state by the name that Node's library has for it.
func state(name string) bullmq.State {
	if name == "wait" {
		return bullmq.StateWaiting
	}
	return bullmq.State(name)
}

func states(names []string) []bullmq.State {
	out := make([]bullmq.State, len(names))
	for i, n := range names {
		out[i] = state(n)
	}
	return out
}
