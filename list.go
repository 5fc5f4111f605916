package bullmqgen

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/bullmq-gen/bullmq-gen/internal/manifest"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// Listed is a task as a table shows it.
type Listed struct {
	Queue string `json:"queue"`
	Name  string `json:"name"`
	// Type is the name of the payload's Go type.
	Type string `json:"type"`
	File string `json:"file"`
	// Line is 0 for tasks of packages that the run did not look at.
	Line int `json:"line,omitempty"`
	// Options are those of the task and of its queue, key by key as directives
	// have them.
	Options []string `json:"options,omitempty"`
}

// declaration is a declared name of a package.
type declaration struct{ path, name string }

// linesOf are the lines of the tasks' types.
func linesOf(packages []*model.Package) map[declaration]int {
	lines := map[declaration]int{}
	for _, p := range packages {
		for _, t := range p.Tasks {
			lines[declaration{p.Path, t.GoName}] = t.TypePos.Line
		}
	}
	return lines
}

// Tasks lists the tasks of all outputs of the run, sorted by queue and name.
func (r *Result) Tasks() ([]Listed, error) {
	documents, err := r.documents()
	if err != nil {
		return nil, err
	}
	var all []Listed
	for _, d := range documents {
		for _, p := range d.Packages {
			for _, q := range p.Queues {
				for _, t := range q.Tasks {
					file := filepath.Join(d.dir, filepath.FromSlash(t.Go.File))
					all = append(all, Listed{
						Queue: q.Name, Name: t.Name, Type: t.Go.Name,
						File: r.Relative(file), Line: r.lines[declaration{p.Path, t.Go.Name}], Options: manifest.Words(q, t),
					})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b Listed) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// document is the manifest of an output.
type document struct {
	*manifest.Document
	dir string
}

// documents are the manifests of the run's outputs.
func (r *Result) documents() ([]document, error) {
	var all []document
	for _, f := range r.manifests() {
		if f.State == Orphan {
			continue
		}
		d, err := manifest.Parse(f.Content)
		if err != nil {
			return nil, err
		}
		all = append(all, document{d, filepath.Dir(f.Path)})
	}
	return all, nil
}
