package outage

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each reason is reported once, whichever calls meet it.
func TestEachReasonIsReportedOnce(t *testing.T) {
	t.Parallel()
	var o Reporter
	now := time.Now()
	require.True(t, o.begins("settle", errors.New("away"), now))
	require.False(t, o.begins("wait", errors.New("away"), now))
	require.False(t, o.begins("settle", errors.New("away"), now))
	require.True(t, o.begins("wait", errors.New("no permission"), now), "another reason")
	require.False(t, o.begins("wait", errors.New("no permission"), now))
	since, ended := o.ends("settle")
	require.True(t, ended)
	require.Equal(t, now, since)
	_, ended = o.ends("settle")
	require.False(t, ended)
	require.False(t, o.begins("wait", errors.New("no permission"), now), "a call that still fails is not reported again because others succeed")
	require.True(t, o.begins("settle", errors.New("away"), now), "it is away again")
	require.True(t, o.begins("wait", errors.New("no permission"), now.Add(2*troubleAge)), "nobody made the call for long")
}
