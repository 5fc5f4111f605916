package ledger

import (
	"runtime"
	"time"
)

// minBatch is the least that a call may take, if the queue has that much.
const minBatch = 8

// Batch is what one call settles and takes.
type Batch struct {
	// Settle are the jobs whose outcomes the call sends.
	Settle []*Job
	// Take is how many jobs the call asks for.
	Take int
}

// TakesOnly reports whether the call settles nothing.
func (b *Batch) TakesOnly() bool { return len(b.Settle) == 0 }

// Await waits until there is something to send, takes a lane, and fills b. It
// returns false when the worker has stopped and no lane is in use any more.
func (l *Ledger) Await(b *Batch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if l.closed || l.stopping && l.held.size == 0 && l.asked == 0 {
			l.closed = true
			l.toWait.Broadcast()
			if l.inFlight == 0 {
				return false
			}
		} else if l.inFlight < l.lanes && l.fillLocked(b) {
			l.inFlight++
			return true
		}
		l.toSend.Wait()
	}
}

// ClaimLane takes a lane, if one is free and there is something to send.
func (l *Ledger) ClaimLane() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.inFlight == l.lanes || !l.sendableLocked() {
		return false
	}
	l.inFlight++
	return true
}

// Next fills b with what a lane sends next. If there is nothing to send, it
// gives the lane back and returns false. Handlers that are about to return run
// first, so that their outcomes are part of the batch.
func (l *Ledger) Next(b *Batch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running > 0 {
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
	}
	if !l.closed && l.fillLocked(b) {
		if l.inFlight < l.lanes && l.sendableLocked() {
			l.toSend.Signal() // there may be enough for another lane
		}
		return true
	}
	l.releaseLaneLocked()
	return false
}

// ReleaseLane gives a lane back, unless there is more to send. It reports
// whether it did.
func (l *Ledger) ReleaseLane() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed && l.sendableLocked() {
		return false
	}
	l.releaseLaneLocked()
	return true
}

// GiveUp takes back a batch whose call has not been answered, and its lane.
// Closed says that no other call will be made.
func (l *Ledger) GiveUp(b *Batch, closed bool) {
	l.mu.Lock()
	l.finished = append(l.finished, b.Settle...)
	l.asked -= b.Take
	if b.TakesOnly() {
		l.takes--
	}
	l.closed = l.closed || closed
	l.releaseLaneLocked()
	l.mu.Unlock()
	l.member.release(b.Take)
	l.toWait.Broadcast()
}

func (l *Ledger) releaseLaneLocked() {
	l.inFlight--
	if l.stopping || l.closed {
		l.toSend.Broadcast() // Await looks whether it was the last
	}
}

// sendableLocked reports whether a call is worth making.
func (l *Ledger) sendableLocked() bool {
	return len(l.finished) > 0 || l.vacantLocked() > 0 && l.mayTakeLocked()
}

// mayTakeLocked reports whether a call that only takes is worth making.
func (l *Ledger) mayTakeLocked() bool {
	return !l.drained && l.takes == 0 && (l.limited.IsZero() || !l.limited.After(time.Now()))
}

// fillLocked chooses what a call settles and how many jobs it takes. It returns
// false when there is nothing to send. A call takes at most half of what the
// worker could take: jobs that are taken together would finish together and be
// taken together again, with no handler running in between.
func (l *Ledger) fillLocked(b *Batch) bool {
	if !l.sendableLocked() {
		return false
	}
	room := l.roomLocked()
	most := min(max((len(l.finished)+room)/2, minBatch), l.maxBatch)
	n := min(len(l.finished), most)
	b.Settle = append(b.Settle[:0], l.finished[:n]...)
	for _, j := range b.Settle {
		j.state.CompareAndSwap(stateHeld, stateSettling)
	}
	left := copy(l.finished, l.finished[n:])
	clear(l.finished[left:])
	l.finished = l.finished[:left]
	b.Take = l.member.reserve(min(room, most))
	l.asked += b.Take
	if n == 0 && b.Take > 0 {
		l.takes++
	}
	return n > 0 || b.Take > 0
}

// roomLocked returns how many more jobs the worker may take, prefetched ones
// included.
func (l *Ledger) roomLocked() int { return l.missingLocked(l.capacity + l.prefetch.room(l.capacity)) }

// vacantLocked returns how much capacity has no job, and no job on its way.
func (l *Ledger) vacantLocked() int { return l.missingLocked(l.capacity) }

// missingLocked returns how many jobs the worker must take to hold n.
func (l *Ledger) missingLocked(n int) int {
	if l.stopping || l.paused {
		return 0
	}
	return max(0, n-l.running-l.asked-len(l.prefetch.ready))
}
