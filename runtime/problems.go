package bullmq

import (
	"errors"
	"fmt"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/wire"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// problems collects everything that is wrong with an input, so that one error
// names it all.
type problems struct{ list []error }

func (p *problems) add(format string, args ...any) {
	p.list = append(p.list, fmt.Errorf(format, args...))
}

// err is one error of the kind ErrInvalid, or nil.
func (p *problems) err() error { return storage.OfKind(ErrInvalid, errors.Join(p.list...)) }

// wrap is err with what it is about before it, or nil.
func (p *problems) wrap(format string, args ...any) error {
	if len(p.list) == 0 {
		return nil
	}
	return fmt.Errorf("bullmq: "+format+": %w", append(args, p.err())...)
}

func (p *problems) queueName(name string) {
	p.addErr(wire.CheckQueue(name))
}

func (p *problems) jobName(what, name string) { p.addErr(wire.CheckName(what, name)) }

// addErr adds an error, if there is one.
func (p *problems) addErr(err error) {
	if err != nil {
		p.list = append(p.list, err)
	}
}

func (p *problems) rateLimit(l RateLimit) {
	if l == (RateLimit{}) {
		return
	}
	if l.Max <= 0 || l.Per < time.Millisecond {
		p.add("a rate limit needs a maximum above 0 and a time of at least 1ms, not %d in %v", l.Max, l.Per)
	}
}

func (p *problems) retention(what string, r *Retention) {
	if r != nil && (r.Count < 0 || r.Age < 0 || r.Limit < 0) {
		p.add("%s: count, age and limit must not be negative", what)
	}
}
