package naming

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	keys := []string{"attempts", "backoff", "jitter", "max"}
	for word, want := range map[string]string{
		"atempts": "attempts", "Attempts": "attempts", "attempst": "attempts", "back-off": "backoff",
		"jiter": "jitter", "mx": "max", "mxa": "max", "retries": "", "": "", "zz": "",
	} {
		require.Equal(t, want, Nearest(word, keys), "%q", word)
	}
}

func TestDidYouMeanGuessesOrListsAll(t *testing.T) {
	t.Parallel()
	require.Equal(t, `; did you mean "max"?`, DidYouMean("maxx", []string{"min", "max"}))
	require.Equal(t, "; there are min, max", DidYouMean("unrelated", []string{"min", "max"}))
}
