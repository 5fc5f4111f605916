package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// results is what a run of the benchmark found.
type results struct {
	Mode     string            `json:"mode"`
	Date     string            `json:"date"`
	Machine  string            `json:"machine"`
	Versions map[string]string `json:"versions"`
	Works    []*result         `json:"works"`
}

// result is what one work showed.
type result struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Unit  string `json:"unit"`
	// Contenders has the figures by contender.
	Contenders map[string]*figures `json:"contenders"`
	// Ratios has, by peer, ours divided by the peer's: of the unit, and of the
	// Redis CPU a job. Each is taken within a round.
	Ratios    map[string]spread3 `json:"ratios"`
	CPURatios map[string]spread3 `json:"redisCPURatios"`

	work    *work
	samples map[string][]*sample
}

// figures are those of one contender at one work, over all rounds.
type figures struct {
	Value spread3 `json:"value"` // in the work's unit; of latencies the median
	P99   float64 `json:"p99,omitempty"`
	// Microseconds of processor time a job.
	Redis  spread3 `json:"redisMicros"`
	Client spread3 `json:"clientMicros"`
	// Commands that the server executed a job, those in scripts included.
	Commands float64 `json:"commandsPerJob"`
	// Calls that held the server for more than 2 ms in all rounds, and the
	// longest of each round; 0: below 1 ms.
	SlowCalls     int     `json:"slowCalls"`
	LongestMillis spread3 `json:"longestMillis"`
	PeakMiB       float64 `json:"peakMiB"`
}

func (r *result) add(contender string, s *sample) {
	if r.samples == nil {
		r.samples = map[string][]*sample{}
	}
	r.samples[contender] = append(r.samples[contender], s)
}

// value is what is compared, of one sample.
func (r *result) value(s *sample) float64 {
	switch r.Unit {
	case micros:
		return quantile(slices.Sorted(slices.Values(s.latencies)), 0.5)
	case mebi:
		return s.peak / (1 << 20)
	}
	return s.rate
}

func pick(samples []*sample, f func(*sample) float64) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = f(s)
	}
	return values
}

// conclude makes figures and ratios of the samples.
func (r *result) conclude() {
	r.Contenders, r.Ratios, r.CPURatios = map[string]*figures{}, map[string]spread3{}, map[string]spread3{}
	redis := func(s *sample) float64 { return s.redis }
	for name, samples := range r.samples {
		f := &figures{
			Value: spreadOf(pick(samples, r.value)), Redis: spreadOf(pick(samples, redis)),
			Client:        spreadOf(pick(samples, func(s *sample) float64 { return s.client })),
			LongestMillis: spreadOf(pick(samples, func(s *sample) float64 { return float64(s.longest.Microseconds()) / 1000 })),
			PeakMiB:       slices.Max(pick(samples, func(s *sample) float64 { return s.peak })) / (1 << 20),
		}
		var all []float64
		calls, jobs := 0, 0
		for _, s := range samples {
			all = append(all, s.latencies...)
			f.SlowCalls += s.slow
			for _, n := range s.commands {
				calls += n
			}
			jobs += s.jobs
		}
		f.Commands = float64(calls) / float64(jobs)
		if len(all) > 0 {
			slices.Sort(all)
			f.P99 = quantile(all, 0.99)
		}
		r.Contenders[name] = f
	}
	for _, peer := range peers[1:] {
		if r.samples[peer] != nil && r.samples["ours"] != nil {
			r.Ratios[peer] = r.ratio(peer, r.value)
			if peer != "bare" && peer != "river" {
				r.CPURatios[peer] = r.ratio(peer, redis)
			}
		}
	}
}

func (r *result) ratio(peer string, f func(*sample) float64) spread3 {
	var ratios []float64
	for i, s := range r.samples[peer] {
		if i < len(r.samples["ours"]) && f(s) > 0 {
			ratios = append(ratios, f(r.samples["ours"][i])/f(s))
		}
	}
	return spreadOf(ratios)
}

// topCommands lists what the server executed most, a job.
func topCommands(samples []*sample) string {
	total, jobs := map[string]int{}, 0
	for _, s := range samples {
		for name, n := range s.commands {
			total[name] += n
		}
		jobs += s.jobs
	}
	names := slices.SortedFunc(maps.Keys(total), func(a, b string) int { return cmp.Or(total[b]-total[a], strings.Compare(a, b)) })
	var parts []string
	for _, n := range names[:min(len(names), 14)] {
		parts = append(parts, fmt.Sprintf("%s %.2f", n, float64(total[n])/float64(jobs)))
	}
	return strings.Join(parts, ", ")
}

// describe finds out on what and with what the benchmark runs.
func (r *results) describe(ctx context.Context, s *server) error {
	r.Date = time.Now().UTC().Format(time.DateOnly)
	r.Machine = fmt.Sprintf("%d cores, %s", runtime.NumCPU(), cpuModel())
	info, err := s.info(ctx, "server")
	if err != nil {
		return err
	}
	r.Versions = map[string]string{"redis": info["redis_version"], "go": runtime.Version()}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, m := range build.Deps {
			switch m.Path {
			case "github.com/hibiken/asynq":
				r.Versions["asynq"] = m.Version
			case "github.com/riverqueue/river":
				r.Versions["river"] = m.Version
			case "github.com/redis/go-redis/v9":
				r.Versions["go-redis"] = m.Version
			}
		}
	}
	node, err := exec.Command("node", "--version").Output()
	if err != nil {
		return fmt.Errorf("node is needed: %w", err)
	}
	r.Versions["node"] = strings.TrimSpace(string(node))
	text, err := os.ReadFile("../interop/node/node_modules/bullmq/package.json")
	if err != nil {
		return fmt.Errorf("the npm package bullmq is needed (make setup): %w", err)
	}
	var pkg struct{ Version string }
	if err := json.Unmarshal(text, &pkg); err != nil {
		return err
	}
	r.Versions["bullmq"] = pkg.Version
	return nil
}

func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
