package bullmqgen

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/bullmq-gen/bullmq-gen/internal/manifest"
)

// Listed is a task as a table shows it.
type Listed struct {
	Queue, Name, Type, File string
	// Options are those of the task and of its queue, key by key as directives
	// have them.
	Options []string
}

// Tasks lists the tasks of all outputs of the run, sorted by queue and name.
func (r *Result) Tasks() ([]Listed, error) {
	var all []Listed
	for _, f := range r.manifests() {
		if f.State == Orphan {
			continue
		}
		d, err := manifest.Parse(f.Content)
		if err != nil {
			return nil, err
		}
		for _, p := range d.Packages {
			for _, q := range p.Queues {
				for _, t := range q.Tasks {
					file := filepath.Join(filepath.Dir(f.Path), filepath.FromSlash(t.Go.File))
					all = append(all, Listed{q.Name, t.Name, t.Go.Name, r.Relative(file), manifest.Words(q, t)})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b Listed) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}
