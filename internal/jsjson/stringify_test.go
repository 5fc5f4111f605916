package jsjson

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table is made by Node, see testdata/stringify.mjs.
func TestNumbersAndStringsAreThoseOfNode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/stringify.json")
	require.NoError(t, err)
	var table struct {
		Numbers [][2]string
		Strings [][2]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(text, &table))
	require.Greater(t, len(table.Numbers), 300)
	require.Greater(t, len(table.Strings), 300)
	for _, line := range table.Numbers {
		bits, err := strconv.ParseUint(line[0], 16, 64)
		require.NoError(t, err)
		got, err := Marshal(math.Float64frombits(bits))
		require.NoError(t, err)
		require.Equal(t, line[1], string(got), line[0])
		raw, err := Marshal(json.RawMessage(line[1]))
		require.NoError(t, err, "what Node writes can be sent on")
		require.Equal(t, line[1], string(raw))
	}
	for _, line := range table.Strings {
		var points []rune
		var want string
		require.NoError(t, json.Unmarshal(line[0], &points))
		require.NoError(t, json.Unmarshal(line[1], &want))
		got, err := Marshal(string(points))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
		asKey, err := Marshal(map[string]int{string(points): 1})
		require.NoError(t, err)
		require.Equal(t, "{"+want+":1}", string(asKey))
		raw, err := Marshal(json.RawMessage(want))
		require.NoError(t, err)
		require.Equal(t, want, string(raw))
	}
}
