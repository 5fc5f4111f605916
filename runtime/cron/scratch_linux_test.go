package cron

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testneed"
)

// TestC047StaticBinary runs a static program where there is nothing but
// itself, as in an image made from scratch.
func TestC047StaticBinary(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testneed.Missing(t, "the right to chroot", "run the tests as root")
	}
	root := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(root, "zones"), "./testdata/zones")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	run := exec.Command("/zones")
	run.Dir, run.Env = "/", []string{"TZ=Asia/Tokyo"}
	run.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	out, err = run.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "2025-07-01T07:00:00Z\n", string(out))
}
