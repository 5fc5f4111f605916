package main

import (
	"context"
	"sync"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

var (
	flowQueue  = &bullmq.QueueSpec{Name: oursQueue.Name, Tasks: []string{"job", "parent"}}
	flowParent = bullmq.NewTask[payload, bullmq.None](bullmq.Spec{
		Queue: flowQueue, Name: "parent",
		Slots: []bullmq.SlotSpec{{Name: "parts", Kind: bullmq.SlotMany, Queue: flowQueue.Name, Job: "job"}},
	}, nil)
)

// someFlows adds flows from..to in calls of a size.
func someFlows(ctx context.Context, c *bullmq.Client, o *order, from, to int) error {
	var roots []*bullmq.Node
	for i := from; i < to; i++ {
		children := make([]*bullmq.Node, o.Children)
		for k := range children {
			children[k] = oursTask.Node(newPayload(k))
		}
		roots = append(roots, flowParent.NodeWith(newPayload(i), []bullmq.Slot{bullmq.ManyChildren("parts", children)}))
		if len(roots) == o.Size || i == to-1 {
			if _, err := c.AddFlows(ctx, roots...); err != nil {
				return err
			}
			roots = roots[:0]
		}
	}
	return nil
}

func (p *ours) addFlows(ctx context.Context, o *order, m *meter) error {
	return p.with(func(c *bullmq.Client) error {
		if err := someFlows(ctx, c, o, 0, o.Warm); err != nil {
			return err
		}
		m.begin()
		err := someFlows(ctx, c, o, o.Warm, o.Warm+o.Jobs)
		m.stop()
		return err
	})
}

func (p *ours) workFlows(ctx context.Context, o *order, m *meter) error {
	return p.with(func(c *bullmq.Client) error {
		w, err := bullmq.NewWorker(c, flowQueue, bullmq.Concurrency(o.Concurrency))
		if err != nil {
			return err
		}
		var parents sync.WaitGroup
		oursTask.Handle(w, bullmq.NoResult(func(context.Context, *bullmq.Job[payload]) error { return nil }))
		flowParent.Handle(w, bullmq.NoResult(func(context.Context, *bullmq.Job[payload]) error {
			parents.Done()
			return nil
		}))
		if err := w.Start(ctx); err != nil {
			return err
		}
		run := func(from, to int) error {
			parents.Add(to - from)
			if err := someFlows(ctx, c, o, from, to); err != nil {
				return err
			}
			parents.Wait()
			return nil
		}
		if err := run(0, o.Warm); err != nil {
			return err
		}
		m.begin()
		if err := run(o.Warm, o.Warm+o.Jobs); err != nil {
			return err
		}
		m.stop()
		return w.Stop(ctx)
	})
}
