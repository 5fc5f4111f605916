// Package outage reports that a storage is away: once when that begins,
// whichever calls fail, and once when it is over. It also has the wait between
// two attempts of a call that is repeated.
package outage

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Call names a call that a worker repeats when it fails, as reports show it.
type Call string

// The calls that a worker repeats.
const (
	SettleAndTake   Call = "settle and take jobs"
	RenewLocks      Call = "renew locks"
	RecoverStalled  Call = "look for stalled jobs"
	WaitForJobs     Call = "wait for jobs"
	WakeOthers      Call = "wake other workers"
	ListenToCancels Call = "listen for cancelled jobs"
	AdmitGroups     Call = "look up the rate limits of groups"
	AdvanceSchedule Call = "add the next job of a schedule"
	KeepStep        Call = "keep the result of a step"
	ReadChildren    Call = "read the children of a job"
	AddChildren     Call = "add children to a job"
	SetRateLimit    Call = "set a rate limit"
	StoreProgress   Call = "store the progress of a job"
	StoreData       Call = "store the data of a job"
	AddLog          Call = "add a line to the log of a job"
)

// Reporter reports what keeps the calls of one worker from succeeding. Each
// reason is reported once, when it begins, whichever calls meet it.
type Reporter struct {
	// Queue is the name of the worker's queue.
	Queue string
	// Log receives a line when the storage is back.
	Log *slog.Logger
	// Report receives each error.
	Report func(error)
	// Recovered, if set, is called when the storage is back, with how long it was
	// away.
	Recovered func(away time.Duration)

	some atomic.Bool // whether any call fails: the usual case costs no lock
	mu   sync.Mutex
	open map[Call]trouble
}

// trouble is why a call fails.
type trouble struct {
	reason      string
	err         error // the last one
	since, last time.Time
}

// troubleAge is how long after its last failure a call is not known to fail any
// more. Calls that fail are repeated more often than that, except for some that
// nobody repeats.
const troubleAge = 2 * time.Minute

// staleAfter is how long after its last failure a call does not count as failing
// because of an outage, once another call succeeds. Calls that are repeated until
// they succeed are made more often than that.
const staleAfter = 7 * time.Second

// away is the reason of all outages.
const away = "away"

// reasonOf tells errors apart. All outages have one reason, whatever the text of
// the connection's error. Of others the text counts.
func reasonOf(err error) string {
	switch {
	case storage.Transient(err):
		return away
	case errors.Is(err, storage.ErrClosed):
		return "closed"
	}
	return err.Error()
}

// Failed records that a call failed which will be repeated, and reports the error
// if its reason is a new one.
func (r *Reporter) Failed(c Call, err error) {
	if r.begins(c, err, time.Now()) {
		r.Report(errors.Join(errors.New("bullmq: could not "+string(c)+", will try again"), err))
	}
}

// begins records that a call failed, and reports whether the reason is a new one.
func (r *Reporter) begins(c Call, err error, now time.Time) bool {
	reason := reasonOf(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	since, known := now, false
	for call, t := range r.open {
		switch {
		case now.Sub(t.last) > troubleAge:
			delete(r.open, call)
		case t.reason == reason:
			known = true
			if t.since.Before(since) {
				since = t.since
			}
		}
	}
	if r.open == nil {
		r.open = map[Call]trouble{}
	}
	r.open[c] = trouble{reason, err, since, now}
	r.some.Store(true)
	return !known
}

// Succeeded records that a call succeeded, and logs the end of an outage.
func (r *Reporter) Succeeded(c Call) {
	if !r.some.Load() {
		return
	}
	if since, ended := r.ends(c, time.Now()); ended {
		away := time.Since(since)
		r.Log.Info("bullmq: the storage answers again", "queue", r.Queue, "away", away.Round(time.Millisecond))
		if r.Recovered != nil {
			r.Recovered(away)
		}
	}
}

// ends records that a call succeeded. It reports whether that ended a trouble
// which no other call has any more, and since when there was one.
func (r *Reporter) ends(c Call, now time.Time) (since time.Time, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for call, t := range r.open {
		// A call that is made seldom does not hold an outage open.
		seldom := t.reason == away && now.Sub(t.last) > staleAfter
		if call != c && !seldom {
			continue
		}
		delete(r.open, call)
		if !r.any(t.reason) {
			since, ended = t.since, true
		}
	}
	r.some.Store(len(r.open) > 0)
	return since, ended
}

// any reports whether a call fails for a reason.
func (r *Reporter) any(reason string) bool {
	for _, t := range r.open {
		if t.reason == reason {
			return true
		}
	}
	return false
}

// Trouble returns since when a call fails, and its error; nil: none does. Of
// several calls it is the one that has failed for longest.
func (r *Reporter) Trouble() (since time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for call, t := range r.open {
		if err == nil || t.since.Before(since) {
			err, since = fmt.Errorf("could not %s: %w", call, t.err), t.since
		}
	}
	return since, err
}

// Failing returns how many calls fail now.
func (r *Reporter) Failing() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open)
}
