package bullmq

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/bullmq-gen/bullmq-gen/internal/testrandom"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

// No test leaves anything running: workers, watchers and waiters all end.
func TestMain(m *testing.M) {
	redisq.LogDriver(quiet())
	testrandom.Seed()
	// A pool whose dialing was cut short looks about each second whether it is closed by now.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}
