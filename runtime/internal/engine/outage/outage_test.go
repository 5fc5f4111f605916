package outage

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
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
	since, ended := o.ends("settle", now)
	require.True(t, ended)
	require.Equal(t, now, since)
	_, ended = o.ends("settle", now)
	require.False(t, ended)
	require.False(t, o.begins("wait", errors.New("no permission"), now), "a call that still fails is not reported again because others succeed")
	require.True(t, o.begins("settle", errors.New("away"), now), "it is away again")
	require.True(t, o.begins("wait", errors.New("no permission"), now.Add(2*troubleAge)), "nobody made the call for long")
}

func TestACallThatIsMadeSeldomDoesNotHoldAnOutageOpen(t *testing.T) {
	t.Parallel()
	var o Reporter
	now, outage := time.Now(), storage.OfKind(storage.ErrUnavailable, errors.New("no connection"))
	require.True(t, o.begins(RecoverStalled, outage, now))
	require.False(t, o.begins(SettleAndTake, outage, now.Add(time.Second)))
	_, ended := o.ends(SettleAndTake, now.Add(2*time.Second))
	require.False(t, ended, "the other call may fail still")
	_, ended = o.ends(WaitForJobs, now.Add(6*time.Second))
	require.False(t, ended)
	since, ended := o.ends(WaitForJobs, now.Add(8*time.Second))
	require.True(t, ended)
	require.Equal(t, now, since)
	_, err := o.Trouble()
	require.NoError(t, err)
}
