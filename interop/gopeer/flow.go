package main

import (
	"encoding/json"
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
		tree, err := p.client.Queue(h.Queue).Flow(background, h.ID, 0, -1)
		if err != nil {
			return nil, err
		}
		if out[i], err = p.viewFlow(tree); err != nil {
			return nil, err
		}
		out[i].order(&flows[i])
	}
	return out, nil
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

// order puts children, which are kept without order, in that of the request.
func (v *flowView) order(f *flowNode) {
	for i := range f.Children {
		for j := i; j < len(v.Children); j++ {
			if v.Children[j].is(&f.Children[i]) {
				v.Children[i], v.Children[j] = v.Children[j], v.Children[i]
				v.Children[i].order(&f.Children[i])
				break
			}
		}
	}
}

func (v *flowView) is(f *flowNode) bool {
	return v.Queue == f.QueueName && v.Job.Name == f.Name && string(v.Job.Data) == string(orText(f.Data, "{}"))
}
