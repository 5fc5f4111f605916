package lanes

import "github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/ledger"

// Start runs jobs. The ledger decides how many run at once.
func (l *Lanes) Start(jobs []*ledger.Job) {
	for _, j := range jobs {
		l.start(j)
	}
}

// start runs a job on a goroutine that waits for one, or on a new one. A goroutine
// that is done with a job waits for the next one: a new goroutine would have to
// grow its stack first, which takes longer than a small handler.
func (l *Lanes) start(j *ledger.Job) {
	select {
	case l.idle <- j:
	default:
		go l.runJobs(j)
	}
}

// runJobs runs a job and then others. It ends with the worker, or with a handler
// that calls runtime.Goexit.
func (l *Lanes) runJobs(j *ledger.Job) {
	ended := false
	defer func() {
		if !ended {
			l.Start(l.Ledger.StartPrefetched())
			l.Ledger.Wake() // somebody else must send the outcome
		}
	}()
	for j != nil {
		l.Ledger.Started(j)
		l.Runner.Execute(j)
		if j = l.Ledger.StartNext(); j != nil {
			continue
		}
		if l.Ledger.ClaimLane() {
			j = l.runLane(l.nextCall(), true)
		}
		if j == nil {
			j = <-l.idle
		}
	}
	ended = true
}
