package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachKeyOfAQueueIsAReservedID(t *testing.T) {
	t.Parallel()
	for suffix := range Own {
		head, _, sub := strings.Cut(suffix, ":")
		require.True(t, Reserved(head), suffix)
		require.Error(t, CheckID(head), suffix)
		if !sub {
			require.ErrorContains(t, CheckStoredID(suffix), "one of the queue's own keys")
		}
		_, ok := JobOfKey(suffix)
		require.False(t, ok, suffix)
	}
	for _, id := range []string{"de", "dn", "delay", "gen", "metrics", "repeat"} {
		require.Error(t, CheckStoredID(id), id)
	}
}

func TestIDsThatAJobMayHave(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a", "1.5", "+1", "-", "--1", "01", "job-1", "a:b:c", "repeat:x:1", "Wait", " 1", "lock"} {
		require.NoError(t, CheckID(id), id)
	}
	for id, why := range map[string]string{
		"0": "a marker", "0:x": "a marker", "1": "an integer", "-7": "an integer", "99999999999999999999": "an integer",
		"a:b": "a colon", "a:b:c:d": "a colon", "meta": "own keys",
	} {
		require.ErrorContains(t, CheckID(id), why, id)
	}
	for _, id := range []string{"1", "-7", "a:b"} {
		require.NoError(t, CheckStoredID(id), "a queue gives such ids, or peers did: %s", id)
	}
}

func TestJobOfAKey(t *testing.T) {
	t.Parallel()
	for suffix, want := range map[string]string{"7": "7", "x": "x", "7:lock": "7", "7:logs": "7", "7:failed": "7"} {
		id, ok := JobOfKey(suffix)
		require.True(t, ok, suffix)
		require.Equal(t, want, id)
	}
	for _, suffix := range []string{"", ":lock", "7:other", "a:b:lock", "meta", "gen", "gen:x", "de:1", "repeat:x", "metrics:failed"} {
		_, ok := JobOfKey(suffix)
		require.False(t, ok, suffix)
	}
}

func TestNamesThatPeersCanRead(t *testing.T) {
	t.Parallel()
	require.NoError(t, CheckQueue("a-b.c"))
	require.ErrorContains(t, CheckQueue(""), "name is empty")
	require.ErrorContains(t, CheckQueue("a:b"), `write "a-b"`)
	require.NoError(t, CheckName("name", strings.Repeat("x", MaxName)))
	for name, why := range map[string]string{
		"": "must not be empty", strings.Repeat("x", MaxName+1): "more than 300", " x": "outer spaces", "a\nb": "control characters", "\xff": "valid UTF-8",
	} {
		require.ErrorContains(t, CheckName("name", name), why)
	}
}

// Scores are float64: integers are exact up to 2^53.
func TestLimitsKeepScoresExact(t *testing.T) {
	t.Parallel()
	exact := func(n int64) bool { return int64(float64(n)) == n && n <= 1<<53 }
	require.True(t, exact(MaxPriority<<32))
	require.False(t, exact((MaxPriority+1)<<32+1))
}
