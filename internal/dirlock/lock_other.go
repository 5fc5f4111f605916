//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package dirlock

// Lock does nothing: there are no locks on this system.
func Lock(string) (unlock func(), err error) { return func() {}, nil }
