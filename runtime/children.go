package bullmq

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// ChildKind is what became of a child, as its parent knows it.
type ChildKind = storage.DependencyKind

// The kinds of child.
const (
	ChildPending   = storage.DependencyPending   // not finished; its parent waits for it
	ChildCompleted = storage.DependencyProcessed // with a result
	ChildIgnored   = storage.DependencyIgnored   // failed, and its parent goes on (OnFailIgnore, OnFailContinue)
	ChildFailed    = storage.DependencyFailed    // failed, and its parent with it (OnFailFail)
)

// Child is a child of a job.
type Child struct {
	// Key is the child's full key, "<prefix>:<queue>:<id>", and Queue and ID are
	// its parts; the queue's name has the prefix before it.
	Key, Queue, ID string
	Kind           ChildKind
	// Value is the result of a completed child, as it is stored.
	Value json.RawMessage
	// Reason is why an ignored child failed.
	Reason string
	// Slot is the slot that the child is in, or empty, and At its index there,
	// or its key; empty for a child that was added by a program that knows no
	// slots.
	Slot, At string

	between []string // slots that it could be in
}

// ChildError is why a child has no result.
type ChildError struct {
	Key string
	// Reason is why the child failed. It is empty if the parent does not know.
	Reason string
}

func (e *ChildError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("child %q failed", e.Key)
	}
	return fmt.Sprintf("child %q failed: %s", e.Key, e.Reason)
}

// Is reports a ChildError as ErrJobFailed.
func (e *ChildError) Is(target error) bool { return target == ErrJobFailed }

var (
	// ErrChildPending: a child is not finished.
	ErrChildPending = errors.New("child is not finished")
	// ErrNoChild: a slot has no child; where failed ones leave no trace
	// (OnFailRemove), it may be because of that.
	ErrNoChild = errors.New("slot has no child")
)

// ChildSet holds the children of a job at one moment.
type ChildSet struct {
	slots []SlotSpec
	list  []Child
	code  *coder // of the parent's task, or nil
}

// Children reads the job's children. It is one call of the storage, and
// another one if there are some that were added by a program that knows no
// slots: these are placed by the names of their jobs.
func (j *ActiveJob) Children(ctx context.Context) (*ChildSet, error) {
	c := &ChildSet{slots: j.slots, code: j.code}
	err := j.insist(ctx, outage.ReadChildren, false, func(ctx context.Context) (err error) {
		store := j.worker.store
		if c.list, err = readChildren(ctx, store, jobKeyOf(store, j.Queue, j.ID)); err != nil {
			return err
		}
		names := func(keys []string) ([]string, error) { return store.Names(ctx, keys...) }
		return c.place(names)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// jobKeyOf is the full key of a job.
func jobKeyOf(store storage.Storage, queue, id string) string { return store.Qualify(queue) + ":" + id }

func readChildren(ctx context.Context, store storage.Storage, key string) ([]Child, error) {
	stored, err := store.Children(ctx, key)
	if err != nil {
		return nil, err
	}
	list := make([]Child, len(stored))
	for i, s := range stored {
		list[i] = Child{Key: s.Key, Kind: s.Kind, Value: s.Value, Reason: s.Reason}
		list[i].Queue, list[i].ID = splitKey(s.Key)
	}
	return list, nil
}

// splitKey cuts a full key into the queue, with its prefix, and the id.
func splitKey(key string) (queue, id string) {
	i := strings.LastIndexByte(key, ':')
	return key[:max(i, 0)], key[i+1:]
}

// bareQueue is a queue's name without the prefix.
func bareQueue(qualified string) string {
	return qualified[strings.LastIndexByte(qualified, ':')+1:]
}

// place finds the slot of each child, by its id or else by the name of its job.
func (c *ChildSet) place(names func(keys []string) ([]string, error)) error {
	var left []*Child
	var keys []string
	for i := range c.list {
		child := &c.list[i]
		slot, at, ok := placeOf(child.ID)
		child.At = at // also of a slot that has another name by now
		switch {
		case ok && (len(c.slots) == 0 || findSlot(c.slots, slot) != nil):
			child.Slot = slot
		case len(c.slots) > 0:
			left, keys = append(left, child), append(keys, child.Key)
		}
	}
	if len(left) > 0 {
		found, err := names(keys)
		if err != nil {
			return err
		}
		for i, child := range left {
			child.placeByName(c.slots, found[i])
		}
	}
	slices.SortFunc(c.list, compareChildren)
	return nil
}

// placeByName finds a child's slot by the name of its job; empty: the job is
// gone, and only its queue is known.
func (c *Child) placeByName(slots []SlotSpec, name string) {
	var fits []string
	for _, s := range slots {
		if s.Queue == bareQueue(c.Queue) && (name == "" || name == s.Job || slices.Contains(s.Aliases, name)) {
			fits = append(fits, s.Name)
		}
	}
	if len(fits) == 1 {
		c.Slot = fits[0]
	} else {
		c.between = fits
	}
}

// compareChildren puts children of a slot in their order there, those without
// an index last.
func compareChildren(a, b Child) int {
	return cmp.Or(cmp.Compare(a.Slot, b.Slot), cmp.Compare(index(a.At), index(b.At)), cmp.Compare(a.At, b.At), cmp.Compare(a.Key, b.Key))
}

func index(at string) int {
	if n, err := strconv.Atoi(at); err == nil {
		return n
	}
	return int(^uint(0) >> 1)
}

// All are all children, those of a slot together and in their order there.
func (c *ChildSet) All() []Child { return slices.Clone(c.list) }

// Counts counts the children by what became of them.
func (c *ChildSet) Counts() DependencyCounts {
	var n DependencyCounts
	for i := range c.list {
		switch c.list[i].Kind {
		case ChildPending:
			n.Pending++
		case ChildCompleted:
			n.Processed++
		case ChildIgnored:
			n.Ignored++
		case ChildFailed:
			n.Failed++
		}
	}
	return n
}

// in are the children of a slot.
func (c *ChildSet) in(slot string) ([]*Child, error) {
	if len(c.slots) > 0 && findSlot(c.slots, slot) == nil {
		return nil, Unrecoverable(storage.Invalid("the task declares no slot %q", slot))
	}
	var list []*Child
	for i := range c.list {
		child := &c.list[i]
		if child.Slot == slot {
			list = append(list, child)
		}
		if slices.Contains(child.between, slot) {
			return nil, Unrecoverable(malformed("child %q may be in any of the slots %s, which are for the same task: whoever adds it says which by an id such as %q",
				child.Key, strings.Join(child.between, ", "), slot+".0.<uuid>"))
		}
	}
	return list, nil
}

// coder is what results of the slot are encoded with, or nil. A task that
// declares no slots knows nothing of the tasks of its children: their codec is
// taken to be its own, which leaves plain results as they are.
func (c *ChildSet) coder(slot string) *coder {
	if len(c.slots) == 0 {
		return c.code
	}
	if s := findSlot(c.slots, slot); s != nil {
		return s.code
	}
	return nil
}

// value is a child's result, or why there is none. Wait: one that is not
// finished makes the job wait for it.
func (c *ChildSet) value(child *Child) (value []byte, wait bool, err error) {
	switch child.Kind {
	case ChildCompleted:
		return child.Value, false, nil
	case ChildPending:
		// A parent that a failed child sets going at once knows that others are
		// not finished. Any other meets such a one only when it was retried itself.
		early := slices.ContainsFunc(c.slots, func(s SlotSpec) bool { return s.OnFail == OnFailContinue })
		return nil, !early, fmt.Errorf("%w: %q", ErrChildPending, child.Key)
	}
	return nil, false, &ChildError{Key: child.Key, Reason: child.Reason}
}
