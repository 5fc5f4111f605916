package bullmq

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

// No test leaves anything running: workers, watchers and waiters all end.
func TestMain(m *testing.M) {
	redisq.LogDriver(quiet())
	goleak.VerifyTestMain(m)
}
