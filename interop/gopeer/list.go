package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// page is a range of a list; the library's defaults differ by call.
type page struct {
	Start *int
	End   *int
	Asc   *bool
}

func (g page) or(start, end int, asc bool) (int, int, bool) {
	if g.Start != nil {
		start = *g.Start
	}
	if g.End != nil {
		end = *g.End
	}
	if g.Asc != nil {
		asc = *g.Asc
	}
	return start, end, asc
}

type typesArgs struct {
	queueArgs
	page
	Types []string
}

// listOps read the jobs of a queue.
var listOps = withStates(ops{
	"queue.getJob": ask(func(p *peer, a jobArgs) (*job, error) {
		r, err := p.store.Jobs(background, a.Queue, a.ID)
		if err != nil || r[0] == nil {
			return nil, err
		}
		return viewJob(r[0])
	}),
	"queue.getJobState": ask(func(p *peer, a jobArgs) (bullmq.State, error) {
		return p.client.Queue(a.Queue).State(background, a.ID)
	}),
	"queue.getJobs":      ask((*peer).jobs),
	"queue.getRanges":    ask((*peer).ranges),
	"queue.getJobCounts": ask((*peer).counts),
	"queue.getJobCountByTypes": ask(func(p *peer, a typesArgs) (int, error) {
		counts, err := p.counts(a)
		sum := 0
		for _, n := range counts {
			sum += n
		}
		return sum, err
	}),
	"queue.count": ask(func(p *peer, a queueArgs) (int, error) {
		n, err := p.store.Counts(background, a.Queue, bullmq.StateWaiting, bullmq.StateDelayed, bullmq.StatePrioritized, bullmq.StateWaitingChildren)
		sum := 0
		for _, c := range n {
			sum += c
		}
		return sum, err
	}),
	"queue.getDelayedCount": ask(func(p *peer, a struct {
		queueArgs
		Timestamp *int64
	}) (int, error) {
		if a.Timestamp != nil {
			return p.store.DelayedBefore(background, a.Queue, time.UnixMilli(*a.Timestamp))
		}
		return p.countOne(a.queueArgs, bullmq.StateDelayed)
	}),
	"queue.getCountsPerPriority": ask(func(p *peer, a struct {
		queueArgs
		Priorities []int
	}) (map[int]int, error) {
		return p.queue(a.queueArgs).CountsByPriority(background, a.Priorities...)
	}),
	"queue.getJobLogs": ask(func(p *peer, a struct {
		jobArgs
		page
	}) (any, error) {
		start, end, asc := a.or(0, -1, true)
		lines, total, err := p.client.Queue(a.Queue).Logs(background, a.ID, start, end, when(!asc, bullmq.NewestFirst)...)
		if errors.Is(err, bullmq.ErrJobNotFound) {
			err = nil // as in Node, which does not look for the job
		}
		return map[string]any{"logs": orEmpty(lines), "count": total}, err
	}),
	"queue.getMetrics": ask((*peer).metrics),
	"queue.getWorkers": ask((*peer).workerList),
	"queue.getWorkersCount": ask(func(p *peer, a queueArgs) (int, error) {
		w, err := p.queue(a).Workers(background)
		return len(w), err
	}),
	"queue.exportPrometheusMetrics": ask(func(p *peer, a struct {
		queueArgs
		Labels json.RawMessage
	}) (string, error) {
		labels, err := orderedPairs(a.Labels)
		if err != nil {
			return "", err
		}
		return p.queue(a.queueArgs).Prometheus(background, labels...)
	}),
})

// withStates adds the calls that each state has: its count and its jobs.
func withStates(all ops) ops {
	for name, s := range map[string]bullmq.State{
		"Waiting": bullmq.StateWaiting, "WaitingChildren": bullmq.StateWaitingChildren, "Active": bullmq.StateActive,
		"Delayed": bullmq.StateDelayed, "Prioritized": bullmq.StatePrioritized,
		"Completed": bullmq.StateCompleted, "Failed": bullmq.StateFailed,
	} {
		oldestFirst := s != bullmq.StateCompleted && s != bullmq.StateFailed
		all["queue.get"+name] = ask(func(p *peer, a struct {
			queueArgs
			page
		}) ([]*job, error) {
			start, end, asc := a.or(0, -1, oldestFirst)
			return viewJobs(p.queue(a.queueArgs).Jobs(background, s, start, end, when(asc, bullmq.OldestFirst)...))
		})
		if s != bullmq.StateDelayed {
			all["queue.get"+name+"Count"] = ask(func(p *peer, a queueArgs) (int, error) { return p.countOne(a, s) })
		}
	}
	return all
}

func (p *peer) countOne(a queueArgs, s bullmq.State) (int, error) {
	n, err := p.queue(a).Counts(background, s)
	return n[s], err
}

func (p *peer) jobs(a typesArgs) ([]*job, error) {
	start, end, asc := a.or(0, -1, false)
	list := states(a.Types)
	if len(list) == 0 {
		list = storage.States
	}
	return viewJobs(p.store.ListJobs(background, a.Queue, list, start, end, asc))
}

func (p *peer) ranges(a typesArgs) ([]string, error) {
	start, end, asc := a.or(0, 1, false)
	out := []string{}
	for _, s := range states(a.Types) {
		ids, err := p.store.List(background, a.Queue, s, start, end, asc)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out, nil
}

// counts are by the names that were asked for.
func (p *peer) counts(a typesArgs) (map[string]int, error) {
	if len(a.Types) == 0 {
		for _, s := range storage.States {
			a.Types = append(a.Types, string(s))
		}
	}
	n, err := p.store.Counts(background, a.Queue, states(a.Types)...)
	if err != nil {
		return nil, err
	}
	out := make(map[string]int, len(n))
	for i, name := range a.Types {
		out[name] = n[i]
	}
	return out, nil
}

func (p *peer) metrics(a struct {
	queueArgs
	page
	Type string
}) (any, error) {
	start, end, _ := a.or(0, -1, true)
	m, err := p.store.Metrics(background, a.Queue, state(a.Type), start, end)
	if err != nil {
		return nil, err
	}
	points := m.Points
	if points == nil {
		points = []int{}
	}
	return map[string]any{
		"meta": map[string]any{"count": m.Count, "prevTS": unix(m.PrevTime), "prevCount": m.Prev},
		"data": points, "count": m.Total,
	}, nil
}

// workerList shows workers as the library does: what the server says of their
// connections, with the queue's name as name.
func (p *peer) workerList(a queueArgs) (any, error) {
	list, err := p.queue(a).Workers(background)
	if err != nil {
		return nil, err
	}
	out := make([]map[string]string, len(list))
	for i, w := range list {
		out[i] = map[string]string{}
		for k, v := range w.Fields {
			out[i][k] = v
		}
		out[i]["name"], out[i]["rawname"] = a.Queue, w.Client
	}
	return out, nil
}

// orderedPairs are the members of a JSON object in their order: name, value,
// name, value.
func orderedPairs(object json.RawMessage) ([]string, error) {
	if len(object) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("%s is no object (%v)", object, err)
	}
	var out []string
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		switch v := t.(type) {
		case string:
			out = append(out, v)
		case json.Number:
			out = append(out, v.String())
		case bool:
			out = append(out, strconv.FormatBool(v))
		default:
			return nil, fmt.Errorf("%s has members that are no text, number or truth value", object)
		}
	}
	return out, nil
}
