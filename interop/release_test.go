package interop

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// releaseCell is what a run against another release has found of a feature, for package compat.
type releaseCell struct {
	Group, Feature string
	GoFirst        bool
	Mark           string // as in marks
	Test           string
}

// TestRelease plays every feature with the release that make compat has
// installed, which the environment names.
func TestRelease(t *testing.T) {
	version := os.Getenv("BULLMQ_RELEASE")
	if version == "" {
		return // make compat runs it
	}
	lib := Library{os.Getenv("BULLMQ_RELEASE_PACKAGE"), version}
	at := sharedPlace(t)
	opts := []Option{Prefix(at.prefix)}
	node := StartNode(t, lib, at.url, opts...)
	if lib.v5() {
		opts = append(opts, Peers5())
	}
	f := &fleet{at, map[Library]sides{lib: {node, StartGo(t, at.url, opts...)}}}
	columns := []column{{lib, false}, {lib, true}}
	m := &marks{cell: map[string]map[column]string{}}
	f.play(t, m, columns)
	var cells []releaseCell
	for _, feature := range features() {
		for _, col := range columns {
			cells = append(cells, releaseCell{feature.group, feature.name, col.goFirst, m.cell[feature.name][col], feature.name + "/" + col.String()})
		}
	}
	text, err := json.Marshal(cells)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(os.Getenv("BULLMQ_RELEASE_RESULTS"), text, 0o600))
}
