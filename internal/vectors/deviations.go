package vectors

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Deviation names records which our operation deliberately does not reproduce.
type Deviation struct {
	// Operation is the name of the operation, as Record.Op gives it.
	Operation string `json:"operation"`
	// Lib limits it to a release, or to all that begin so ("5."); empty: all.
	Lib string `json:"lib,omitempty"`
	// Note is a regular expression that the record's note matches, IDs a list
	// of records. One of them is given.
	Note string   `json:"note,omitempty"`
	IDs  []string `json:"ids,omitempty"`
	// Reason says what we do, and why.
	Reason string `json:"reason"`

	note *regexp.Regexp
}

// Deviations is a list of them.
type Deviations []*Deviation

// LoadDeviations reads a JSON list of deviations.
func LoadDeviations(file string) (Deviations, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("vectors: %w", err)
	}
	var list Deviations
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("vectors: %s: %w", file, err)
	}
	for i, d := range list {
		if d.Operation == "" || d.Reason == "" || (d.Note == "") == (len(d.IDs) == 0) {
			return nil, fmt.Errorf("vectors: %s: entry %d: give operation, reason, and either note or ids", file, i+1)
		}
		if d.Note != "" {
			if d.note, err = regexp.Compile(d.Note); err != nil {
				return nil, fmt.Errorf("vectors: %s: entry %d: %w", file, i+1, err)
			}
		}
	}
	return list, nil
}

// Find returns the deviation that a record falls under, or nil.
func (list Deviations) Find(r *Record) *Deviation {
	for _, d := range list {
		if d.matches(r) {
			return d
		}
	}
	return nil
}

func (d *Deviation) matches(r *Record) bool {
	if d.Operation != r.Op() || !strings.HasPrefix(r.Lib, d.Lib) {
		return false
	}
	if d.note != nil {
		return d.note.MatchString(r.Note)
	}
	return slices.Contains(d.IDs, r.ID)
}
