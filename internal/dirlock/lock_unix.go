//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package dirlock

import (
	"errors"
	"os"
	"syscall"
)

// Lock waits until this process alone has the folder, which exists, and returns
// what gives it back. It locks the folder itself and leaves no file. On a file
// system without locks it returns at once.
func Lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil && !errors.Is(err, syscall.ENOTSUP) && !errors.Is(err, syscall.ENOSYS) && !errors.Is(err, syscall.ENOLCK) {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: dir, Err: err}, f.Close())
	}
	return func() { _ = f.Close() }, nil // closing releases the lock
}
