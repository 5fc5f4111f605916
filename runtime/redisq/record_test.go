package redisq

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

func TestRecordHasEveryField(t *testing.T) {
	t.Parallel()
	r := newRecord("7", []string{
		"name", "mail", "data", `{"a":1}`, "opts", `{"attempts":3}`, "timestamp", "1700000000000", "delay", "1500", "priority", "4",
		"atm", "1", "ats", "2", "stc", "3", "processedOn", "1700000000001", "finishedOn", "1700000000002", "pb", "w",
		"progress", "50", "returnvalue", "null", "failedReason", "boom", "stacktrace", `["at x"]`, "defa", "child failed",
		"parentKey", "bull:p:1", "parent", `{"id":"1"}`, "rjk", "s", "deid", "d", "nrjid", "n", "tm", "t",
	})
	require.Equal(t, storage.Record{
		ID: "7", Name: "mail", Data: []byte(`{"a":1}`), Opts: []byte(`{"attempts":3}`),
		Timestamp: time.UnixMilli(1700000000000), Delay: 1500 * time.Millisecond, Priority: 4,
		AttemptsMade: 1, AttemptsStarted: 2, StalledCount: 3,
		ProcessedOn: time.UnixMilli(1700000000001), FinishedOn: time.UnixMilli(1700000000002), ProcessedBy: "w",
		Progress: []byte("50"), ReturnValue: []byte("null"), FailedReason: "boom", Stack: []byte(`["at x"]`), Deferred: "child failed",
		ParentKey: "bull:p:1", Parent: []byte(`{"id":"1"}`), ScheduleID: "s", DedupID: "d",
		Extra: map[string]string{"nrjid": "n", "tm": "t"},
	}, r)
}

func TestRecordOfMapIsTheSame(t *testing.T) {
	t.Parallel()
	fields := []string{"name", "a", "data", "1", "opts", "{}", "timestamp", "5", "x", "y", "attemptsMade", "4", "atm", "2"}
	m := map[string]string{}
	for i := 0; i < len(fields); i += 2 {
		m[fields[i]] = fields[i+1]
	}
	require.Equal(t, newRecord("1", fields), recordOfMap("1", m))
}

func TestRecordIsMissingWithoutWhatItsProducerWrote(t *testing.T) {
	t.Parallel()
	require.True(t, newRecord("1", nil).Missing)
	require.True(t, newRecord("1", []string{"processedOn", "5", "ats", "1", "pb", "w"}).Missing)
	require.False(t, newRecord("1", []string{"name", ""}).Missing)
}

func TestLegacyAttemptsComeFirst(t *testing.T) {
	t.Parallel()
	require.Equal(t, 4, newRecord("1", []string{"attemptsMade", "4", "atm", "2"}).AttemptsMade)
	require.Equal(t, 4, newRecord("1", []string{"atm", "2", "attemptsMade", "4"}).AttemptsMade)
	require.Equal(t, 2, newRecord("1", []string{"atm", "2", "attemptsMade", "0"}).AttemptsMade)
}

func TestNumbersAreReadAsPeersReadThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"": 0, "0": 0, "12": 12, "-5": -5, "10.7": 10, "10.699999999999999": 10, "-1.5": -1, "NaN": 0, "Inf": 1 << 53,
		"3e+08": 300000000, "x": 0, "99999999999999999999": 1 << 53,
	} {
		require.Equal(t, want, parseInt64(text), text)
	}
	require.Equal(t, time.Duration(1<<63-1)/time.Millisecond*time.Millisecond, parseDelay("99999999999999999"))
	require.True(t, parseTime("0").IsZero())
}

// FuzzRecord reads what any peer may have stored. Fields have no order.
func FuzzRecord(f *testing.F) {
	f.Add("timestamp", "1700000000000", "delay", "1e400", "atm", "-9223372036854775808")
	f.Add("attemptsMade", "3", "atm", "x", "priority", "0x10")
	f.Add("finishedOn", "NaN", "gen:step:a", "1", "stc", "\x00")
	f.Fuzz(func(t *testing.T, n1, v1, n2, v2, n3, v3 string) {
		m := map[string]string{n1: v1, n2: v2, n3: v3}
		if len(m) < 3 {
			t.Skip("a hash has a field once")
		}
		r := newRecord("1", []string{n1, v1, n2, v2, n3, v3})
		require.Equal(t, r, newRecord("1", []string{n3, v3, n1, v1, n2, v2}))
		require.Equal(t, r, recordOfMap("1", m))
		for _, at := range []time.Time{r.Timestamp, r.ProcessedOn, r.FinishedOn} {
			require.True(t, at.IsZero() || at.Equal(time.UnixMilli(at.UnixMilli())), "%v", at)
		}
	})
}
