package bullmq

// RemoveOption changes what Queue.Remove does.
type RemoveOption func(*removal)

type removal struct{ children bool }

// WithChildren removes the job's descendants too.
func WithChildren() RemoveOption { return func(r *removal) { r.children = true } }

// DrainOption changes what Queue.Drain does.
type DrainOption func(*draining)

type draining struct{ delayed bool }

// WithDelayed removes the delayed jobs too.
func WithDelayed() DrainOption { return func(d *draining) { d.delayed = true } }

// ObliterateOption changes what Queue.Obliterate does.
type ObliterateOption func(*obliteration)

type obliteration struct{ force bool }

// Force removes the active jobs too. Their workers lose them.
func Force() ObliterateOption { return func(o *obliteration) { o.force = true } }

// PriorityOption changes what Queue.ChangePriority does.
type PriorityOption func(*ranking)

type ranking struct{ first bool }

// BeforeOthers puts the job before the others of its new priority.
func BeforeOthers() PriorityOption { return func(r *ranking) { r.first = true } }

// ListOption changes the order of what Queue.Jobs and Queue.Logs return.
type ListOption func(*listing)

type listing struct{ oldestFirst bool }

// OldestFirst returns the oldest first, which is the default of Queue.Logs.
func OldestFirst() ListOption { return func(l *listing) { l.oldestFirst = true } }

// NewestFirst returns the newest first, which is the default of Queue.Jobs.
func NewestFirst() ListOption { return func(l *listing) { l.oldestFirst = false } }

// chosen applies options to their defaults.
func chosen[T any, F ~func(*T)](defaults T, opts []F) T {
	for _, o := range opts {
		o(&defaults)
	}
	return defaults
}
