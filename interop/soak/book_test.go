package soak

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

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

	Runs, Dones, Cuts, Failures int // of its handler
	RanOn                       []string

	Stored []stored
}

// stored is a job in a queue.
type stored struct {
	Queue  string
	Record bullmq.Record
}

// book holds the accounts by key.
type book struct {
	accounts map[string]*account
	leaks    map[string]int // goroutines that processes left, by their names
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
	b := &book{accounts: map[string]*account{}, leaks: map[string]int{}}
	for _, m := range f.members {
		text, err := os.ReadFile(filepath.Join(f.dir, m.name+".jsonl"))
		require.NoError(f, err)
		for line := range bytes.Lines(text) {
			var e struct {
				Event string `json:"e"`
				Key   string `json:"k"`
				N     int    `json:"n"`
				Fails int    `json:"f"`
			}
			require.NoError(f, json.Unmarshal(line, &e), "%s: %s", m.name, line)
			b.note(m, e.Event, e.Key, e.N, e.Fails)
		}
	}
	for _, queue := range []string{"soak-jobs", "soak-parents"} {
		for _, state := range []bullmq.State{bullmq.StateCompleted, bullmq.StateFailed} {
			f.readJobs(b, queue, state)
		}
	}
	return b
}

func (b *book) note(m *member, event, key string, n, fails int) {
	switch a := b.account; event {
	case "try":
		a(key).By, a(key).Value, a(key).Fails = m.name, n, fails
	case "ok":
		a(key).Acknowledged, a(key).Refused = true, false
	case "unsure":
		a(key).Unsure = true
	case "refused":
		a(key).Refused = true
	case "run":
		a(key).Runs++
		a(key).RanOn = append(a(key).RanOn, m.name)
	case "done":
		a(key).Dones++
	case "cut":
		a(key).Cuts++
	case "fail":
		a(key).Failures++
	case "bye":
		b.leaks[m.name] += n
	}
}

func (f *fleet) readJobs(b *book, queue string, state bullmq.State) {
	f.Helper()
	const page = 1000
	for from := 0; ; from += page {
		jobs, err := f.queue(queue).Jobs(f.ctx, state, from, from+page-1, bullmq.OldestFirst())
		require.NoError(f, err)
		for _, j := range jobs {
			var data struct {
				Key string `json:"key"`
			}
			require.NoError(f, json.Unmarshal(j.Data, &data))
			a := b.account(data.Key)
			a.Stored = append(a.Stored, stored{queue, j})
		}
		if len(jobs) < page {
			return
		}
	}
}
