// Command instructions counts what Redis executes for a job, by processor
// instructions: on a machine that others use too, two versions of a script that
// differ by one percent are told apart by nothing else. It needs valgrind, and
// is run in bench/: go run ./instructions
//
// The figures are those of the server alone, with the reading of the call and
// the writing of the answer. They move by a hundredth or two between runs,
// because the server's own timers are among them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	only := flag.String("works", "", "which works, separated by commas; all by default")
	flag.Parse()
	if err := run(context.Background(), *only); err != nil {
		fmt.Fprintln(os.Stderr, "instructions:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string) error {
	fmt.Println("| work | instructions a job |\n| --- | --- |")
	for _, w := range works {
		if only != "" && !strings.Contains(","+only+",", ","+w.name+",") {
			continue
		}
		n, err := count(ctx, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		fmt.Printf("| %s: %s | %d |\n", w.name, w.about, n)
	}
	return nil
}

// count does a work on a server of its own and returns the instructions a job.
func count(ctx context.Context, w work) (int64, error) {
	s, err := startServer(ctx)
	if err != nil {
		return 0, err
	}
	defer s.stop()
	b, err := newBench(s.addr)
	if err != nil {
		return 0, err
	}
	defer b.close()
	step, err := w.prepare(ctx, b, w)
	if err != nil {
		return 0, err
	}
	if err := s.counting("on"); err != nil {
		return 0, err
	}
	for range w.steps {
		if err := step(ctx); err != nil {
			return 0, err
		}
	}
	if err := s.counting("off"); err != nil {
		return 0, err
	}
	total, err := s.counted()
	return total / int64(w.steps*w.size), err
}
