package bullmq

// slots run handlers. A goroutine that is done with a job waits for the next
// one: a new one would have to grow its stack first, which takes longer than a
// small handler.
type slots struct {
	w    *Worker
	jobs chan *ActiveJob
}

func newSlots(w *Worker) *slots { return &slots{w, make(chan *ActiveJob)} }

// start runs a job. How many run at once is the pump's to know.
func (s *slots) start(j *ActiveJob) {
	select {
	case s.jobs <- j:
	default:
		go s.serve(j)
	}
}

// serve runs a job and then others. It ends with the worker, or with a handler
// that calls runtime.Goexit.
func (s *slots) serve(j *ActiveJob) {
	ended := false
	defer func() {
		if !ended {
			s.w.pump.refill()
			s.w.pump.poke() // somebody else must send the outcome
		}
	}()
	for j != nil {
		s.w.pump.ahead.begin(j)
		s.w.execute(j)
		if j = s.w.pump.proceed(); j != nil {
			continue
		}
		if s.w.pump.claim() {
			j = s.w.pump.carry(s.w.pump.next(), true)
		}
		if j == nil {
			j = <-s.jobs
		}
	}
	ended = true
}

// end lets the goroutines go. Nothing may be started any more.
func (s *slots) end() { close(s.jobs) }
