package redisq

import (
	"sync"
	"time"
)

// lastAnswers is how long a store that is closed waits for calls under way.
const lastAnswers = 2 * time.Second

// underway counts the calls under way, so that a client is closed when none
// is: one that is cut off may have been carried out or not, and go-redis prints
// a line about a connection that is closed while it is used.
type underway struct {
	mu     sync.Mutex
	calls  int
	ending chan struct{} // closed when no call may begin any more
	none   chan struct{} // closed when the last one ended after that
}

func newUnderway() *underway {
	return &underway{ending: make(chan struct{}), none: make(chan struct{})}
}

// begin counts a call; false: it must not begin.
func (u *underway) begin() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	select {
	case <-u.ending:
		return false
	default:
		u.calls++
		return true
	}
}

// end ends a call that began.
func (u *underway) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls--
	u.tell()
}

// close lets no more calls begin and waits for those under way, for up to d.
// It is called once.
func (u *underway) close(d time.Duration) {
	u.mu.Lock()
	close(u.ending)
	u.tell()
	u.mu.Unlock()
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-u.none:
	case <-late.C:
	}
}

// tell closes none when it is so.
func (u *underway) tell() {
	select {
	case <-u.ending:
		if u.calls == 0 {
			close(u.none)
		}
	default:
	}
}
