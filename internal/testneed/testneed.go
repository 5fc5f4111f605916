// Package testneed says what a test needs from the machine that it runs on:
// a test whose peer is missing is skipped with a word of what that was, and
// fails where everything is required.
package testneed

import (
	"os"
	"testing"
)

// RequireEnv is the environment variable that, set to 1, forbids skipping.
const RequireEnv = "BULLMQ_REQUIRE"

// All reports whether everything that a test may need is required to be there.
func All() bool { return os.Getenv(RequireEnv) == "1" }

// Missing ends the test because something is missing: what it is, and how to
// get it. It skips, unless everything is required.
func Missing(t testing.TB, what, cure string) {
	t.Helper()
	if All() {
		t.Fatalf("%s is missing and %s=1 requires it: %s", what, RequireEnv, cure)
	}
	t.Skipf("skipped, %s is missing: %s", what, cure)
}
