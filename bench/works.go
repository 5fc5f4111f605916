package main

// work is something that contenders do side by side.
type work struct {
	name  string
	title string
	unit  string // of what is compared: jobs/s, us or MiB
	order order
	jobs  map[string]int // how many a contender is given; those that are not named take no part
	// floorNode and so on are the least ratios that are aimed at; 0: none.
	floorNode, floorAsynq float64
	once                  bool // in one process of its own and one round
}

// scale is how much more the full mode does.
func works(full bool) []work {
	ws := []work{
		{
			name: "work-1", title: "work, concurrency 1", unit: rate, order: order{Op: "work", Concurrency: 1},
			jobs: map[string]int{"ours": 8000, "node": 4000, "asynq": 6000, "limit": 8000}, floorNode: 2.3, floorAsynq: 1,
		},
		{
			name: "work-50", title: "work, concurrency 50", unit: rate, order: order{Op: "work", Concurrency: 50},
			jobs: map[string]int{"ours": 30000, "node": 8000, "asynq": 12000, "limit": 30000}, floorNode: 3, floorAsynq: 2,
		},
		{
			name: "work-200", title: "work, concurrency 200", unit: rate, order: order{Op: "work", Concurrency: 200},
			jobs: map[string]int{"ours": 30000, "node": 8000, "asynq": 12000, "limit": 30000}, floorNode: 3, floorAsynq: 2,
		},
		{
			name: "sleep-100", title: "5 ms handlers, concurrency 100", unit: rate, order: order{Op: "work", Concurrency: 100, HandlerMS: 5},
			jobs: map[string]int{"ours": 12000, "node": 8000, "asynq": 8000, "bare": 12000}, floorNode: 1, floorAsynq: 1,
		},
		{
			name: "sleep-500", title: "5 ms handlers, concurrency 500", unit: rate, order: order{Op: "work", Concurrency: 500, HandlerMS: 5},
			jobs: map[string]int{"ours": 25000, "node": 8000, "asynq": 10000, "bare": 50000}, floorNode: 1, floorAsynq: 1,
		},
		{
			name: "bulk", title: "add 1000 a call", unit: rate, order: order{Op: "bulk", Size: 1000},
			jobs: map[string]int{"ours": 40000, "node": 10000, "limit": 40000}, floorNode: 4,
		},
		{
			name: "single", title: "add one a call, 100 under way", unit: rate, order: order{Op: "single", Concurrency: 100},
			jobs: map[string]int{"ours": 40000, "node": 16000, "asynq": 20000, "limit": 40000}, floorNode: 2, floorAsynq: 1,
		},
		{
			name: "latency", title: "idle pick-up", unit: micros, order: order{Op: "latency", Concurrency: 10, GapMS: 5},
			jobs: map[string]int{"ours": 200, "node": 200, "asynq": 3, "limit": 200}, floorNode: 1,
		},
		{
			name: "memory", title: "resident memory, 200 slots, 100,000 jobs", unit: mebi, order: order{Op: "work", Concurrency: 200},
			jobs: map[string]int{"ours": 100000, "node": 100000, "asynq": 100000}, once: true,
		},
	}
	if full {
		for i := range ws {
			for c := range ws[i].jobs {
				if !ws[i].once {
					ws[i].jobs[c] *= 5
				}
			}
		}
	}
	return ws
}

// The units.
const (
	rate   = "jobs/s"
	micros = "µs"
	mebi   = "MiB"
)

// peers are the contenders in the order of the table.
var peers = []string{"ours", "node", "asynq", "limit", "bare"}
