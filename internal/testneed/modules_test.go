package testneed

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Without a network and with an empty module cache a test that needs modules
// is skipped, and says what was missing; it fails where everything is required.
func TestModulesThatAreMissingAreNamed(t *testing.T) {
	if os.Getenv("TESTNEED_CHILD") == "1" {
		Modules(t)
		return
	}
	t.Parallel()
	for _, required := range []string{"", "1"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestModulesThatAreMissingAreNamed$", "-test.v")
		cmd.Env = append(os.Environ(), "TESTNEED_CHILD=1", RequireEnv+"="+required,
			"GOPROXY=off", "GOMODCACHE="+filepath.Join(t.TempDir(), "empty"))
		out, err := cmd.CombinedOutput()
		require.Equal(t, required == "1", err != nil, string(out))
		require.Contains(t, string(out), "a module in the module cache is missing")
		require.Contains(t, string(out), "make setup")
	}
}
