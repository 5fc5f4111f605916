package bullmq

import (
	"testing"

	"go.uber.org/goleak"
)

// No test leaves anything running: workers, watchers and waiters all end.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}
