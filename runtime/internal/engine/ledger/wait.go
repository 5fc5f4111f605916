package ledger

import "time"

// AwaitNothing waits until the worker has free capacity and the queue has
// nothing to take. It returns until when a rate limit holds, and when the next
// delayed job is due. Ok is false when the worker stops.
func (l *Ledger) AwaitNothing() (limited, due time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if l.closed || l.stopping {
			return limited, due, false
		}
		if l.vacantLocked() > 0 && l.takes == 0 && (l.drained || l.limited.After(time.Now())) {
			return l.limited, l.due, true
		}
		l.toWait.Wait()
	}
}

// LookAgain makes the lanes take jobs again, because there may be some. It
// reports whether there is capacity for one.
func (l *Ledger) LookAgain() bool {
	l.mu.Lock()
	l.drained = false
	l.due, l.limited = time.Time{}, time.Time{}
	vacant := l.member.room(l.vacantLocked())
	l.mu.Unlock()
	l.toSend.Broadcast()
	return vacant > 0
}

// SetDue records when the next delayed job is due.
func (l *Ledger) SetDue(t time.Time) {
	l.mu.Lock()
	l.due = t
	l.mu.Unlock()
}
