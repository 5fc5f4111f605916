// Command bench compares this project's runtime with Node BullMQ and asynq on
// one private Redis server, with River on a private PostgreSQL, and with the
// least that the same data costs.
//
//	go run .            quick: about 4 minutes
//	go run . -full      three times as many jobs, and backlogs
//	go run . -works work-50 -rounds 3 -contenders ours,limit
//	go run . -soak 1h   one worker under steady load, its memory watched
//
// Contenders are processes of their own. Their runs take turns, so that all of
// them meet the machine in the same moods. A run of everything writes
// results.json, the table of docs/performance.md and docs/performance.svg.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
)

var (
	full    = flag.Bool("full", false, "three times as many jobs, and backlogs: about 10 minutes")
	quick   = flag.Bool("quick", true, "the default: about 4 minutes")
	rounds  = flag.Int("rounds", 5, "how often each contender does each work")
	only    = flag.String("works", "", "names of works, separated by commas; all if empty")
	who     = flag.String("contenders", "", "names of contenders, separated by commas; all if empty")
	soak    = flag.Duration("soak", 0, "watch the memory of a worker under steady load for so long; no comparison")
	detail  = flag.Bool("v", false, "print what the server executed")
	profile = flag.String("profile", "", "file for a CPU profile of our process")

	contenderName = flag.String("contender", "", "be a contender; used by the command itself")
	addr          = flag.String("addr", "", "where a contender finds the server; used by the command itself")
)

func main() {
	flag.Parse()
	err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	if *contenderName != "" {
		return asContender()
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	s, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	if *soak > 0 {
		return watchMemory(ctx, s, *soak)
	}
	res := &results{Mode: "full"}
	if *quick && !*full {
		res.Mode = "quick"
	}
	if err := res.describe(ctx, s); err != nil {
		return err
	}
	if err := compare(ctx, s, res); err != nil {
		return err
	}
	fmt.Print("\n" + res.markdown())
	if *detail {
		res.printCommands()
	}
	if *only != "" || *who != "" {
		return nil
	}
	return res.write()
}

func asContender() error {
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	return serve(*contenderName, *addr, os.Stdin, os.Stdout)
}

// compare does all works in all rounds.
func compare(ctx context.Context, s *server, res *results) error {
	r := &runner{server: s, children: map[string]*child{}}
	defer func() {
		r.close()
		if r.postgres != nil {
			r.postgres.stop()
		}
	}()
	river := false
	for _, w := range works(res.Mode == "full") {
		if wanted(*only, w.name) {
			res.Works = append(res.Works, &result{Name: w.name, Title: w.title, Unit: w.unit, work: &w})
			river = river || w.jobs["river"] > 0 && wanted(*who, "river")
		}
	}
	if river {
		var err error
		if r.postgres, err = startPostgres(ctx); err != nil {
			return err
		}
		res.Versions["postgres"] = strconv.Itoa(r.postgres.version)
	}
	for round := range *rounds {
		for _, w := range res.Works {
			if w.work.once {
				continue
			}
			for i := range peers {
				name := peers[(i+round)%len(peers)] // nobody is always the first
				if err := one(ctx, r, w, name); err != nil {
					return err
				}
			}
		}
	}
	for _, w := range res.Works {
		if !w.work.once {
			continue
		}
		for _, name := range peers {
			r.close() // what the processes did before is not to count
			if err := one(ctx, r, w, name); err != nil {
				return err
			}
		}
	}
	for _, w := range res.Works {
		w.conclude()
	}
	return nil
}

// one lets a contender do a work once, if it takes part.
func one(ctx context.Context, r *runner, w *result, name string) error {
	if w.work.jobs[name] == 0 || !wanted(*who, name) {
		return nil
	}
	s, err := r.run(ctx, w.work, name)
	if err != nil {
		return err
	}
	w.add(name, s)
	fmt.Fprintf(os.Stderr, "%-10s %-6s %10s %s, Redis %.1f µs, client %.1f µs a job\n", w.Name, name, number(w.value(s)), w.Unit, s.redis, s.client)
	return nil
}

func wanted(list, name string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), name)
}

func (r *results) printCommands() {
	for _, w := range r.Works {
		for _, name := range peers {
			if f := w.Contenders[name]; f != nil && name != "bare" && name != "river" {
				fmt.Printf("%s, %s: client %s µs; slow calls %d, longest %s ms; %s\n",
					w.Name, name, f.Client, f.SlowCalls, f.LongestMillis, topCommands(w.samples[name]))
			}
		}
	}
}

func (r *results) write() error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile("results.json", append(text, '\n'), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile("../docs/performance.svg", []byte(r.chart()), 0o644); err != nil {
		return err
	}
	return intoDocument("../docs/performance.md", r.markdown())
}
