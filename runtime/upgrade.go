package bullmq

import (
	"fmt"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
)

// Upgrade makes a task accept jobs of an earlier name whose payload had another
// shape: see UpgradeFrom. It is an entry of Spec.Upgrades.
type Upgrade struct {
	from string
	// decode reads an old payload and converts it into a *P.
	decode func(text []byte, into any) error
	// converts tells whether into is what decode fills in.
	converts func(into any) bool
}

// From is the earlier name.
func (u Upgrade) From() string { return u.from }

// UpgradeFrom makes a task with payloads of type New run jobs of the name from,
// with payloads of type Old, that are still in the queue. Convert makes a new
// payload of an old one; the handler sees only that. New jobs never get the old
// name.
//
// An old payload is read as strictly as any payload. When it has a method
// Validate, that is called before convert, as the new payload's is after it. An
// error or a panic of any of them fails the job permanently, as another attempt
// would find the same.
//
// The job keeps its name and its payload in the storage: when it is retried, it
// is converted again. So convert should do nothing but convert.
func UpgradeFrom[Old, New any](from string, convert func(Old) (New, error)) Upgrade {
	u := Upgrade{from: from}
	if convert == nil {
		return u
	}
	u.converts = func(into any) bool { _, ok := into.(*New); return ok }
	u.decode = func(text []byte, into any) error {
		var old Old
		if err := decodePayload(text, &old); err != nil {
			return err
		}
		p := into.(*New) // Spec.validate saw that it is
		if err := guard.Call("the upgrade", func() (err error) { *p, err = convert(old); return err }); err != nil {
			return err
		}
		if v, ok := into.(Validator); ok {
			return guard.Call("Validate", v.Validate)
		}
		return nil
	}
	return u
}

// NoError makes a conversion for UpgradeFrom out of one that cannot fail.
func NoError[Old, New any](convert func(Old) New) func(Old) (New, error) {
	if convert == nil {
		return nil
	}
	return func(old Old) (New, error) { return convert(old), nil }
}

// upgrade is the upgrade for jobs of a name, or nil.
func (s *Spec) upgrade(name string) *Upgrade {
	for i := range s.Upgrades {
		if s.Upgrades[i].from == name {
			return &s.Upgrades[i]
		}
	}
	return nil
}

// Handles tells whether jobs of the name are the task's: its own name, an alias,
// or one that it upgrades.
func (s *Spec) Handles(name string) bool {
	for n := range s.names {
		if n == name {
			return true
		}
	}
	return false
}

// owns returns an error for the id of a job whose name is that of another task.
// An empty name is not known, and a nil spec is that of any task.
func (s *Spec) owns(id, name string) error {
	if s == nil || name == "" || s.Handles(name) {
		return nil
	}
	return fmt.Errorf("job %q of queue %q is of task %q, not of %q: %w; use ids of a scope of their own", id, s.Queue.Name, name, s.Name, ErrOtherTask)
}

// names yields all names whose jobs are the task's.
func (s *Spec) names(yield func(string) bool) {
	if !yield(s.Name) {
		return
	}
	for _, a := range s.Aliases {
		if !yield(a) {
			return
		}
	}
	for i := range s.Upgrades {
		if !yield(s.Upgrades[i].from) {
			return
		}
	}
}

// checkUpgrades adds what is wrong with the upgrades of a task whose payloads
// are of the type that into points to.
func (s *Spec) checkUpgrades(into any, p *problems) {
	seen := map[string]bool{}
	for _, u := range s.Upgrades {
		p.jobName("earlier name", u.from)
		if u.from == s.Name {
			p.add("it cannot be upgraded from its own name %q: give the task with the new payload a new name", u.from)
		}
		for _, a := range s.Aliases {
			if a == u.from {
				p.add("%q is an alias, whose jobs have the present payload, and is upgraded: remove one of the two", a)
			}
		}
		if seen[u.from] {
			p.add("%q is upgraded twice", u.from)
		}
		seen[u.from] = true
		switch {
		case u.decode == nil:
			p.add("the upgrade from %q has a nil function", u.from)
		case !u.converts(into):
			p.add("the upgrade from %q does not make payloads of the task", u.from)
		}
	}
}
