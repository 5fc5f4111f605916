package main

import "fmt"

// work is something that contenders do side by side.
type work struct {
	name  string
	title string
	unit  string // of what is compared: jobs/s, us or MiB
	order order
	jobs  map[string]int // how many a contender is given; those that are not named take no part
	once  bool           // in one process of its own and one round
}

// fullTimes is how many times as many jobs the full mode does.
const fullTimes = 3

// works are what is compared. The full mode does more jobs, and looks in
// addition at what a backlog costs.
func works(full bool) []work {
	ws := []work{
		{
			name: "work-1", title: "work, concurrency 1", unit: rate, order: order{Op: "work", Concurrency: 1},
			jobs: map[string]int{"ours": 8000, "node": 4000, "asynq": 6000, "limit": 8000},
		},
		{
			name: "work-50", title: "work, concurrency 50", unit: rate, order: order{Op: "work", Concurrency: 50},
			jobs: map[string]int{"ours": 30000, "node": 8000, "asynq": 12000, "river": 8000, "limit": 30000},
		},
		{
			name: "work-200", title: "work, concurrency 200", unit: rate, order: order{Op: "work", Concurrency: 200},
			jobs: map[string]int{"ours": 30000, "node": 8000, "asynq": 12000, "river": 8000, "limit": 30000},
		},
		{
			name: "sleep-100", title: "5 ms handlers, concurrency 100", unit: rate, order: order{Op: "work", Concurrency: 100, HandlerMS: 5},
			jobs: map[string]int{"ours": 12000, "node": 8000, "asynq": 8000, "bare": 12000},
		},
		{
			name: "sleep-500", title: "5 ms handlers, concurrency 500", unit: rate, order: order{Op: "work", Concurrency: 500, HandlerMS: 5},
			jobs: map[string]int{"ours": 25000, "node": 8000, "asynq": 10000, "bare": 50000},
		},
		{
			name: "ahead-1", title: "work, concurrency 1, `Prefetch(50)`", unit: rate, order: order{Op: "work", Concurrency: 1, Ahead: 50},
			jobs: map[string]int{"ours": 30000, "node": 4000, "asynq": 6000},
		},
		{
			name: "ahead-sleep-100", title: "5 ms handlers, concurrency 100, `Prefetch(50)`", unit: rate,
			order: order{Op: "work", Concurrency: 100, HandlerMS: 5, Ahead: 50},
			jobs:  map[string]int{"ours": 12000, "node": 8000, "asynq": 8000, "bare": 12000},
		},
		{
			name: "bulk", title: "add 1000 a call", unit: rate, order: order{Op: "bulk", Size: 1000},
			jobs: map[string]int{"ours": 40000, "node": 10000, "river": 40000, "limit": 40000},
		},
		{
			name: "single", title: "add one a call, 100 under way", unit: rate, order: order{Op: "single", Concurrency: 100},
			jobs: map[string]int{"ours": 40000, "node": 16000, "asynq": 20000, "river": 8000, "limit": 40000},
		},
		{
			name: "flow-add", title: "add flows of 1 + 10, 10 a call", unit: flowRate, order: order{Op: "addFlows", Size: 10, Children: 10},
			jobs: map[string]int{"ours": 3000, "node": 600},
		},
		{
			name: "flow-work", title: "flows of 1 + 10 added and processed, concurrency 50", unit: flowRate,
			order: order{Op: "workFlows", Concurrency: 50, Size: 10, Children: 10}, jobs: map[string]int{"ours": 1500, "node": 400},
		},
		{
			name: "latency", title: "idle pick-up", unit: micros, order: order{Op: "latency", Concurrency: 10, GapMS: 5},
			jobs: map[string]int{"ours": 200, "node": 200, "asynq": 2, "limit": 200},
		},
		{
			name: "memory", title: "resident memory, concurrency 200, 100,000 jobs", unit: mebi, order: order{Op: "work", Concurrency: 200},
			jobs: map[string]int{"ours": 100000, "node": 100000, "asynq": 100000}, once: true,
		},
	}
	if full {
		for i := range ws {
			for c := range ws[i].jobs {
				if !ws[i].once {
					ws[i].jobs[c] *= fullTimes
				}
			}
		}
		ws = append(ws, backlogs()...)
	}
	return ws
}

// backlogs are works on queues that hold many other jobs.
func backlogs() []work {
	var ws []work
	for _, state := range []string{"waiting", "delayed", "prioritized", "completed"} {
		for _, n := range []int{100_000, 1_000_000} {
			ws = append(ws, work{
				name: fmt.Sprintf("backlog-%s-%d", state, n), title: fmt.Sprintf("work, concurrency 50, beside %s %s", number(float64(n)), state),
				unit: rate, order: order{Op: "work", Concurrency: 50, Backlog: n, State: state}, jobs: map[string]int{"ours": 100_000}, once: true,
			})
		}
	}
	return ws
}

// The units.
const (
	rate     = "jobs/s"
	flowRate = "flows/s"
	micros   = "µs"
	mebi     = "MiB"
)

// peers are the contenders in the order of the table.
var peers = []string{"ours", "node", "asynq", "river", "limit", "bare"}
