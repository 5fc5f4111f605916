package soak

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// account is what is known of one job: from the journals, and from the queue.
type account struct {
	Key          string
	By           string // the producer
	Value, Fails int
	Acknowledged bool
	Unsure       bool // at least once it was not certain whether it was added
	Refused      bool // the last answer was a certain refusal
	Missing      bool // Node reported it as added, and did not store it

	Runs, Dones, Cuts, Failures int // of its handler

	Lines  []line
	Stored []stored
}

// line is a line of a journal.
type line struct {
	Time  int64  `json:"t"`
	Who   string `json:"p"`
	Event string `json:"e"`
	Key   string `json:"k"`
	ID    string `json:"i"`
	N     int    `json:"n"`
	Fails int    `json:"f"`
	Text  string `json:"x"`
}

// stored is a job in a queue.
type stored struct {
	Queue  string
	Record bullmq.Record
}

// book holds the accounts by key.
type book struct {
	accounts map[string]*account
	leaks    map[string]int  // goroutines that processes left, by their names
	node     map[string]bool // the names of Node programs
}

func (b *book) account(key string) *account {
	a := b.accounts[key]
	if a == nil {
		a = &account{Key: key}
		b.accounts[key] = a
	}
	return a
}

// read reads all journals and all queues.
func (f *fleet) read() *book {
	f.Helper()
	b := &book{accounts: map[string]*account{}, leaks: map[string]int{}, node: map[string]bool{}}
	for _, m := range f.members {
		b.node[m.name] = m.library != ""
		text, err := os.ReadFile(filepath.Join(f.dir, m.name+".jsonl"))
		require.NoError(f, err)
		for text := range bytes.Lines(text) {
			var l line
			require.NoError(f, json.Unmarshal(text, &l), "%s: %s", m.name, text)
			b.note(m, &l)
		}
	}
	for _, l := range f.own {
		b.note(&member{name: "test"}, &l)
	}
	for _, queue := range queues {
		for _, state := range []bullmq.State{bullmq.StateCompleted, bullmq.StateFailed} {
			f.readJobs(b, queue, state)
		}
	}
	return b
}

func (b *book) note(m *member, l *line) {
	if l.Event == "bye" || l.Event == "end" {
		b.leaks[m.name] += l.N
		return
	}
	a := b.account(l.Key)
	a.Lines = append(a.Lines, *l)
	switch l.Event {
	case "try":
		a.By, a.Value, a.Fails = m.name, l.N, l.Fails
	case "ok":
		a.Acknowledged, a.Refused, a.Missing = true, false, false
	case "unsure":
		a.Unsure = true
	case "refused":
		a.Refused = true
	case "missing":
		a.Missing = true
	case "run":
		a.Runs++
	case "done":
		a.Dones++
	case "cut":
		a.Cuts++
	case "fail":
		a.Failures++
	}
}

// events returns what the journals have of a job, in order of time.
func (a *account) events() []line {
	lines := slices.Clone(a.Lines)
	slices.SortStableFunc(lines, func(x, y line) int { return cmp.Compare(x.Time, y.Time) })
	return lines
}

// nodeRepeats counts the runs that a Node worker ended, and of which the job
// was run again: if the server refuses to complete a job, Node counts that as a
// failure of its handler.
func (a *account) nodeRepeats(b *book) int {
	n, open := 0, ""
	for _, l := range a.events() {
		switch l.Event {
		case "run":
			if open != "" {
				n++
			}
			open = ""
		case "done":
			if b.node[l.Who] {
				open = l.Who
			}
		}
	}
	return n
}

// endedOnNode reports whether the last run of the job returned on a Node worker.
func (a *account) endedOnNode(b *book) bool {
	events := a.events()
	last := events[len(events)-1]
	return last.Event == "done" && b.node[last.Who]
}

// history writes what the journals and the queues have of a job, in order of
// time, for whoever reads a failure.
func (a *account) history(faults []line) string {
	lines := a.events()
	first, last := lines[0].Time, lines[len(lines)-1].Time
	for _, l := range faults {
		if l.Time > first-5000 && l.Time < last+5000 {
			lines = append(lines, l)
		}
	}
	slices.SortStableFunc(lines, func(x, y line) int { return cmp.Compare(x.Time, y.Time) })
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "  %6d ms %-12s %-8s %d %s\n", l.Time-first, l.Who, l.Event, l.N, l.Text)
	}
	for _, s := range a.Stored {
		r := s.Record
		fmt.Fprintf(&b, "  stored in %s as %s: made %d, started %d, stalls %d, finished %v, %q\n",
			s.Queue, r.ID, r.AttemptsMade, r.AttemptsStarted, r.StalledCount, r.FinishedOn, r.FailedReason)
	}
	return b.String()
}

func (f *fleet) readJobs(b *book, queue string, state bullmq.State) {
	f.Helper()
	const page = 1000
	for from := 0; ; from += page {
		jobs, err := f.queue(queue).Jobs(f.ctx, state, from, from+page-1, bullmq.OldestFirst())
		require.NoError(f, err)
		for _, j := range jobs {
			a := b.account(keyOf(f, j.Data))
			a.Stored = append(a.Stored, stored{queue, j})
		}
		if len(jobs) < page {
			return
		}
	}
}

// keyOf returns the key in a payload.
func keyOf(t require.TestingT, payload []byte) string {
	var data struct {
		Key string `json:"key"`
	}
	require.NoError(t, json.Unmarshal(payload, &data))
	return data.Key
}
