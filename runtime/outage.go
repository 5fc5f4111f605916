package bullmq

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// The calls that a worker makes again when they fail, as they are reported.
const (
	settleAndTake   = "settle and take jobs"
	renewTheLocks   = "renew locks"
	lookForStalled  = "look for stalled jobs"
	waitForJobs     = "wait for jobs"
	wakeOthers      = "wake other workers"
	listenToCancels = "listen for cancelled jobs"
	lookUpLimits    = "look up the rate limits of groups"
	addNextOf       = "add the next job of a schedule"
	keepAStep       = "keep the result of a step"
	readChildrenOf  = "read the children of a job"
	addChildrenTo   = "add children to a job"
	setALimit       = "set a rate limit"
	storeProgress   = "store the progress of a job"
	storeData       = "store the data of a job"
	addALogLine     = "add a line to the log of a job"
)

// outage reports what keeps a worker's calls from succeeding: each reason once,
// when it begins, whichever calls meet it, and that the storage is back.
type outage struct {
	some atomic.Bool // whether there is any: the usual case costs no lock
	mu   sync.Mutex
	open map[string]trouble // by the call that fails
}

// trouble is why a call fails.
type trouble struct {
	reason      string
	since, last time.Time
}

// troubleAge is how long after its last failure a call is not known to fail any
// more. Calls that fail are made again more often than that, but for some that
// nobody makes again.
const troubleAge = 2 * time.Minute

// reasonOf tells errors apart: an outage is one, whatever the connection says of
// it, and of others the text counts.
func reasonOf(err error) string {
	switch {
	case storage.Transient(err):
		return "away"
	case errors.Is(err, ErrClosed):
		return "closed"
	}
	return err.Error()
}

// report tells about an error of a call that is made again.
func (o *outage) report(w *Worker, what string, err error) {
	if o.begins(what, reasonOf(err), time.Now()) {
		w.report(errors.Join(errors.New("bullmq: could not "+what+", will try again"), err))
	}
}

// begins notes that a call failed, and reports whether the reason is a new one.
func (o *outage) begins(what, reason string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	since, known := now, false
	for call, t := range o.open {
		switch {
		case now.Sub(t.last) > troubleAge:
			delete(o.open, call)
		case t.reason == reason:
			known = true
			if t.since.Before(since) {
				since = t.since
			}
		}
	}
	if o.open == nil {
		o.open = map[string]trouble{}
	}
	o.open[what] = trouble{reason, since, now}
	o.some.Store(true)
	return !known
}

// over notes that a call succeeded, and tells when it was the last that had failed.
func (o *outage) over(w *Worker, what string) {
	if !o.some.Load() {
		return
	}
	if since, ended := o.ends(what); ended {
		w.log.Info("bullmq: the storage answers again", "queue", w.queue.Name, "away", time.Since(since).Round(time.Millisecond))
	}
}

// ends notes that a call succeeded, and reports whether no other call still fails
// for the reason for which it had failed, and since when they did.
func (o *outage) ends(what string) (since time.Time, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t, failed := o.open[what]
	if !failed {
		return since, false
	}
	delete(o.open, what)
	o.some.Store(len(o.open) > 0)
	for _, other := range o.open {
		if other.reason == t.reason {
			return since, false
		}
	}
	return t.since, true
}
