package manifest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A manifest of a version whose keys had no scope has one field as text.
func TestKeysWithoutAScopeAreWarnedOf(t *testing.T) {
	t.Parallel()
	read := func(keys string) *Document {
		d, err := Parse([]byte(`{"$comment": "` + notice + `", "schemaVersion": 1, "packages": [{"path": "p", "queues": [{"name": "q", "tasks": [
			{"name": "t", "go": {"file": "f", "name": "T"}, "keys": ` + keys + `, "data": {}}]}]}]}`))
		require.NoError(t, err)
		return d
	}
	got := Compare(read(`{"jobId": "ID", "deduplication": ["ID"]}`), read(`{"jobId": ["ID"], "jobIdScope": "t", "deduplication": ["ID"], "deduplicationScope": "t"}`))
	var warnings []string
	for _, c := range got {
		if c.Level == Warning {
			warnings = append(warnings, c.Message)
		}
	}
	require.Len(t, warnings, 2)
	require.Contains(t, warnings[1], `keys of jobid begin with "t/" now, and had no scope`)
}
