package main

import (
	"encoding/json"
	"errors"
	"strings"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

var flowOps = ops{
	"flow.add": ask(func(p *peer, a struct{ Flow flowNode }) (*flowView, error) {
		views, err := p.addFlows([]flowNode{a.Flow})
		if err != nil {
			return nil, err
		}
		return views[0], nil
	}),
	"flow.addBulk": ask(func(p *peer, a struct{ Flows []flowNode }) ([]*flowView, error) { return p.addFlows(a.Flows) }),
	"flow.getFlow": ask(func(p *peer, a struct {
		jobArgs
		Depth, MaxChildren int
	}) (*flowView, error) {
		tree, err := p.client.Queue(a.Queue).Flow(background, a.ID, a.Depth, a.MaxChildren)
		if err != nil {
			return nil, err
		}
		return p.viewFlow(tree)
	}),
}

// flowNode is a job of a flow as Node programs write it.
type flowNode struct {
	Name      string
	QueueName string
	Data      json.RawMessage
	Opts      json.RawMessage
	Children  []flowNode
}

// node turns a job and all below it into the runtime's.
func (p *peer) node(f *flowNode) (*bullmq.Node, error) {
	o, err := parseOptions(f.Opts)
	if err != nil {
		return nil, err
	}
	opts, err := o.common()
	if err != nil {
		return nil, err
	}
	all := []bullmq.NodeOption{bullmq.WhenFails(o.onFail())}
	for _, one := range opts {
		all = append(all, one)
	}
	if o.Delay != nil {
		all = append(all, bullmq.Delay(millis(*o.Delay)))
	}
	if o.Priority != nil {
		all = append(all, bullmq.Priority(*o.Priority))
	}
	n := bullmq.NewNode(f.QueueName, f.Name, orText(f.Data, "{}"), all...)
	if o.JobID != nil {
		n.Opts.JobID = *o.JobID
	}
	if o.Deduplication != nil {
		d := o.Deduplication.dedup()
		n.Opts.Dedup = &d
	}
	if o.Parent != nil {
		n.Opts.Parent = &bullmq.Parent{Queue: strings.TrimPrefix(o.Parent.Queue, p.prefix+":"), ID: o.Parent.ID, OnFail: o.onFail()}
	}
	for i := range f.Children {
		child, err := p.node(&f.Children[i])
		if err != nil {
			return nil, err
		}
		n.Children = append(n.Children, child)
	}
	return n, nil
}

// flowView is a tree as the protocol shows it.
type flowView struct {
	Queue    string      `json:"queue"`
	Job      *job        `json:"job"`
	Children []*flowView `json:"children,omitempty"`
}

// addFlows adds trees, and shows them with their jobs in the order of the request.
func (p *peer) addFlows(flows []flowNode) ([]*flowView, error) {
	roots := make([]*bullmq.Node, len(flows))
	for i := range flows {
		var err error
		if roots[i], err = p.node(&flows[i]); err != nil {
			return nil, err
		}
	}
	handles, err := p.client.AddFlows(background, roots...)
	if err != nil {
		return nil, err
	}
	out := make([]*flowView, len(handles))
	for i, h := range handles {
		if out[i], err = p.viewAdded(h); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// viewAdded shows a job that was added, or no more than its id if it is gone by now.
func (p *peer) viewAdded(h *bullmq.FlowHandle) (*flowView, error) {
	v := &flowView{Queue: h.Queue, Job: &job{ID: h.ID}}
	record, err := p.client.Queue(h.Queue).Job(background, h.ID)
	if err == nil {
		v.Job, err = viewJob(record)
	}
	if err != nil && !errors.Is(err, bullmq.ErrJobNotFound) {
		return nil, err
	}
	for _, c := range h.Children {
		child, err := p.viewAdded(c)
		if err != nil {
			return nil, err
		}
		v.Children = append(v.Children, child)
	}
	return v, nil
}

func (p *peer) viewFlow(t *bullmq.FlowTree) (*flowView, error) {
	v := &flowView{Queue: strings.TrimPrefix(t.Queue, p.prefix+":"), Job: &job{ID: t.ID}}
	if t.Record != nil {
		var err error
		if v.Job, err = viewJob(t.Record); err != nil {
			return nil, err
		}
	}
	for _, c := range t.Children {
		child, err := p.viewFlow(c)
		if err != nil {
			return nil, err
		}
		v.Children = append(v.Children, child)
	}
	return v, nil
}
