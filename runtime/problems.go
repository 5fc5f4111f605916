package bullmq

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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
	if s := queueNameProblem(name); s != "" {
		p.add("%s", s)
	}
}

// maxName is the longest name of a job in bytes: it stands in every one of its events.
const maxName = 300

func (p *problems) jobName(what, name string) {
	switch {
	case name == "":
		p.add("the %s of a task must not be empty", what)
	case len(name) > maxName:
		p.add("%s %.20q... has %d bytes, more than %d", what, name, len(name), maxName)
	case strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name):
		p.add("%s %q must be valid UTF-8 without control characters and outer spaces", what, name)
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
