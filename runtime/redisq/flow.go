package redisq

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// flowJobs is how many jobs a flow has at most. All of it is one step of the
// server, which does nothing else meanwhile: 5 to 14 microseconds a job, by the machine.
const flowJobs = 100_000

// AddFlow implements [storage.FlowProducer]. All is one call of a script, which
// looks at everything that could refuse a job before it writes anything.
func (s *Store) AddFlow(ctx context.Context, now time.Time, nodes []storage.FlowNode) ([]storage.Added, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	f := newFlow(len(nodes))
	if err := s.checkFlow(f, now, nodes); err != nil {
		return nil, err
	}
	first := nodes[0].Queue + ":"
	cmd, err := runAt(ctx, s, redis.NewStringSliceCmd, "addflow", first, f.args(now, nodes))
	if err != nil {
		return nil, err
	}
	added, err := flowReply(nodes, cmd.Val())
	var whole *storage.FlowError
	if err != nil && !errors.As(err, &whole) {
		err = unreadable(fmt.Errorf("bullmq: reply of the script of a flow: %w", err))
	}
	return added, err
}

// flow numbers, from 1, the parts of a flow.
type flow struct {
	queues, parents, nodes map[string]int // by base, and by key
	order                  []string       // of the queues
	links                  []*storage.Parent
	keys                   []string // of each node
	waits                  []bool   // for children, of each node
}

func newFlow(nodes int) *flow {
	return &flow{
		queues: map[string]int{}, parents: map[string]int{}, nodes: make(map[string]int, nodes),
		keys: make([]string, 0, nodes), waits: make([]bool, nodes),
	}
}

// numberOf returns the number of a name, and whether it is a new one.
func numberOf(m map[string]int, name string) (int, bool) {
	n, ok := m[name]
	if !ok {
		n = len(m) + 1
		m[name] = n
	}
	return n, !ok
}

// checkFlow refuses, before anything is sent, what cannot be added, and numbers
// queues, parents and jobs.
func (s *Store) checkFlow(f *flow, now time.Time, nodes []storage.FlowNode) error {
	if now.IsZero() {
		return storage.Invalid("bullmq: a flow was given no time")
	}
	if len(nodes) > flowJobs {
		return storage.Invalid("bullmq: a flow of %d jobs is more than the %d that are added in one step: add its parts from the handler of their parent", len(nodes), flowJobs)
	}
	var tag, b string
	for i := range nodes {
		n := &nodes[i]
		var err error
		if i == 0 || n.Queue != nodes[i-1].Queue {
			b, err = s.qualifiedBase(n.Queue)
		}
		if err == nil && i == 0 {
			tag = hashTag(b)
		}
		if err == nil && s.cluster && hashTag(b) != tag {
			err = fmt.Errorf("its queue %q is not in the same slot of the cluster as %q: a prefix with a hash tag, such as {jobs}, puts all queues in one slot: %w", n.Queue, nodes[0].Queue, ErrNoHashTag)
		}
		if err == nil {
			err = s.checkNode(f, b, n)
		}
		if err != nil {
			return wrongNode(i, n, err)
		}
	}
	for i := range nodes {
		n := &nodes[i]
		_, f.waits[i] = f.parents[f.keys[i]]
		if f.waits[i] && n.Dedup != nil {
			return wrongNode(i, n, errors.New("a job with children cannot be deduplicated"))
		}
	}
	return nil
}

// wrongNode is the error of a flow of which one job cannot be added.
func wrongNode(i int, n *storage.FlowNode, err error) error {
	err = storage.OfKind(storage.ErrInvalid, err)
	return &storage.FlowError{Node: i, Err: &storage.Error{Op: "add flow", Queue: n.Queue, Job: n.ID, Err: err}}
}

// checkNode checks one job and gives it, its queue and its parent their numbers.
func (s *Store) checkNode(f *flow, b string, n *storage.FlowNode) error {
	switch {
	case n.ID == "":
		return errors.New("a job of a flow needs an id")
	case strings.Contains(n.ID, ":"):
		return errors.New("the id of a job of a flow must not contain a colon: its parent would not find it")
	case n.Dedup != nil && n.Parent != nil:
		return errors.New("a job cannot be deduplicated and be the child of another")
	}
	if err := errors.Join(s.checkJob(b, intake{NewJob: &n.NewJob}), checkOpts(n.Opts)); err != nil {
		return err
	}
	if _, fresh := numberOf(f.queues, b); fresh {
		f.order = append(f.order, b)
	}
	if n.Parent != nil && !f.isLast(n.Parent) {
		if _, fresh := numberOf(f.parents, n.Parent.Queue+":"+n.Parent.ID); fresh {
			f.links = append(f.links, n.Parent)
		}
	}
	key := b + n.ID
	f.keys = append(f.keys, key)
	if _, parent := f.parents[key]; parent {
		return errors.New("it stands behind its own child, or is its own parent")
	}
	if _, fresh := numberOf(f.nodes, key); !fresh {
		return errors.New("another job of the flow has the same id")
	}
	return nil
}

// isLast tells whether a parent is the one that got the last number.
func (f *flow) isLast(p *storage.Parent) bool {
	if len(f.links) == 0 {
		return false
	}
	last := f.links[len(f.links)-1]
	return last.ID == p.ID && last.Queue == p.Queue
}

// qualifiedBase is base for a queue by its qualified name, which may have
// another prefix than the store's.
func (s *Store) qualifiedBase(queue string) (string, error) {
	i := strings.LastIndexByte(queue, ':')
	switch {
	case i < 0:
		return "", fmt.Errorf("the queue's name %q has no prefix", queue)
	case i == 0:
		return "", fmt.Errorf("the prefix of queue %q is empty", queue)
	case i == len(queue)-1:
		return "", errors.New("the queue's name is empty")
	}
	b := queue + ":"
	if s.cluster && hashTag(b) == "" {
		return "", fmt.Errorf("queue %q: %w", queue, ErrNoHashTag)
	}
	return b, nil
}

// args are the arguments of the script addflow.
func (f *flow) args(now time.Time, nodes []storage.FlowNode) []any {
	common := nodes[0].Timestamp.UnixMilli()
	args := make([]any, 0, 5+len(f.order)+20*len(f.links)+2*len(nodes))
	args = append(args, now.UnixMilli(), common, len(f.order), len(f.links), 0)
	runs := len(args) - 1
	for _, b := range f.order {
		args = append(args, b)
	}
	for _, p := range f.links {
		key := p.Queue + ":" + p.ID
		head := parentJSON(&storage.Parent{ID: p.ID, Queue: p.Queue})
		args = append(args, key, f.nodes[key], head[:len(head)-1])
	}
	count := 0
	for at := 0; at < len(nodes); count++ {
		var n int
		args, n = f.appendRun(args, nodes, at, common)
		at += n
	}
	args[runs] = count
	return args
}

// appendRun appends the node at a place and those that follow it and differ from
// it in nothing but data and id, and returns how many they are.
func (f *flow) appendRun(args []any, nodes []storage.FlowNode, at int, common int64) ([]any, int) {
	first, n := &nodes[at], 1
	head := intake{NewJob: &first.NewJob, waits: f.waits[at], once: first.Once}
	for ; at+n < len(nodes) && nodes[at+n].Queue == first.Queue; n++ {
		next := &nodes[at+n]
		if !alike(&head, &intake{NewJob: &next.NewJob, waits: f.waits[at+n], once: next.Once}) {
			break
		}
	}
	job := first.NewJob
	head.NewJob, job.Parent = &job, nil // the script makes it of what all children of the parent have
	parent, policy := 0, storage.OnFailWait
	if p := first.Parent; p != nil {
		parent, policy = f.parents[p.Queue+":"+p.ID], p.OnFail
	}
	args = append(args, f.queues[first.Queue+":"], parent, string(policy))
	args = appendRun(args, &head, n, common)
	for i := range n {
		args = appendJob(args, &nodes[at+i].NewJob)
	}
	return args, n
}

// flowReply reads the reply of the script addflow.
func flowReply(nodes []storage.FlowNode, reply []string) ([]storage.Added, error) {
	if len(reply) > 1 && reply[0] != "0" {
		i, code := parseInt(reply[1])-1, parseInt64(reply[0])
		if i < 0 || i >= len(nodes) {
			return nil, fmt.Errorf("it refuses job %q of %d", reply[1], len(nodes))
		}
		n := &nodes[i]
		err := withName(strings.Join(reply[2:], ""), codeError(code))
		return nil, &storage.FlowError{Node: i, Err: refused("add flow", n.Queue, n.ID, err)}
	}
	if len(reply)%4 != 1 || reply[0] != "0" {
		return nil, fmt.Errorf("it has %d elements and begins with %.20q", len(reply), strings.Join(reply, " "))
	}
	added := make([]storage.Added, len(nodes))
	for i := range nodes {
		added[i].ID = nodes[i].ID
	}
	for notes := reply[1:]; len(notes) > 0; notes = notes[4:] {
		i, err := strconv.Atoi(notes[0])
		if err != nil || i < 1 || i > len(nodes) {
			return nil, fmt.Errorf("it speaks of job %q of %d", notes[0], len(nodes))
		}
		added[i-1] = storage.Added{ID: notes[2], Existing: notes[1] == "1", Name: notes[3]}
	}
	return added, nil
}
