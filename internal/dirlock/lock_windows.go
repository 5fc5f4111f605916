package dirlock

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// Lock waits until this process alone has the folder, which exists, and returns
// what gives it back. Folders cannot be locked here: a file in the folder for
// temporary files stands for it.
func Lock(dir string) (unlock func(), err error) {
	name := fmt.Sprintf("bullmq-gen-%x.lock", sha256.Sum256([]byte(strings.ToLower(dir))))
	f, err := os.OpenFile(filepath.Join(os.TempDir(), name), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	var at windows.Overlapped
	if err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &at); err != nil {
		_ = f.Close()
		return nil, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return func() { _ = f.Close() }, nil // closing releases the lock
}
