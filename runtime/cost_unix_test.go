//go:build unix

package bullmq

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// processorTime is what this process has used so far. On machines that are
// shared it says more than the time that passed.
func processorTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkWorker(b *testing.B) {
	for _, concurrency := range []int{1, 50, 200} {
		b.Run(strconv.Itoa(concurrency), func(b *testing.B) {
			b.ReportAllocs()
			before := processorTime(b)
			s := workEndless(b, b.N, concurrency)
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(s.total)/float64(s.calls.Load()), "jobs/call")
		})
	}
}
