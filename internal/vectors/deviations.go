package vectors

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Deviation is a kind of record that our operation deliberately does not
// reproduce.
type Deviation struct {
	// Operations are the names of the operations, as Record.Op gives them.
	Operations []string `json:"operations"`
	// Lib limits it to a release, or to all that begin so ("5."); empty: all.
	Lib string `json:"lib,omitempty"`
	// When are the conditions that a record meets, all of them: names of what
	// conditions.go describes.
	When []string `json:"when,omitempty"`
	// IDs is a list of records, for what has to do with how one was made and
	// not with what is in it. Either it or When is given.
	IDs []string `json:"ids,omitempty"`
	// Only is what may differ: "reply", or keys as they follow the name of
	// their queue ("marker"). Empty: anything.
	Only []string `json:"only,omitempty"`
	// Reason says what we do, and why.
	Reason string `json:"reason"`
}

// Deviations is a list of them.
type Deviations []*Deviation

// LoadDeviations reads a JSON list of deviations.
func LoadDeviations(file string) (Deviations, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("vectors: %w", err)
	}
	defer func() { _ = f.Close() }()
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	var list Deviations
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("vectors: %s: %w", file, err)
	}
	for i, d := range list {
		if err := d.check(); err != nil {
			return nil, fmt.Errorf("vectors: %s: entry %d: %w", file, i+1, err)
		}
	}
	return list, nil
}

func (d *Deviation) check() error {
	if len(d.Operations) == 0 || d.Reason == "" || (len(d.When) == 0) == (len(d.IDs) == 0) {
		return fmt.Errorf("give operations, reason, and either when or ids")
	}
	for _, name := range d.When {
		if conditions[name] == nil {
			return fmt.Errorf("there is no condition %q", name)
		}
	}
	return nil
}

// Find returns the deviations that a record falls under.
func (list Deviations) Find(r *Record) Deviations {
	var found Deviations
	for _, d := range list {
		if d.matches(r) {
			found = append(found, d)
		}
	}
	return found
}

// Unexplained returns those differences (see Diff and DiffReply) that none of
// the deviations is about.
func (list Deviations) Unexplained(diff []string) []string {
	return slices.DeleteFunc(slices.Clone(diff), func(line string) bool {
		return slices.ContainsFunc(list, func(d *Deviation) bool { return d.explains(line) })
	})
}

func (d *Deviation) matches(r *Record) bool {
	if !slices.Contains(d.Operations, r.Op()) || !strings.HasPrefix(r.Lib, d.Lib) {
		return false
	}
	if len(d.IDs) > 0 {
		return slices.Contains(d.IDs, r.ID)
	}
	for _, name := range d.When {
		if !conditions[name](r) {
			return false
		}
	}
	return true
}

func (d *Deviation) explains(line string) bool {
	if len(d.Only) == 0 {
		return true
	}
	key, _, _ := strings.Cut(line, ": ")
	return slices.ContainsFunc(d.Only, func(what string) bool {
		if what == "reply" {
			rest, ok := strings.CutPrefix(key, what)
			return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
		}
		return strings.HasSuffix(key, ":"+what)
	})
}
