package bullmq

import (
	"context"
	"slices"
)

// Children reads what became of a parent job's children, in the order of their
// slots. A handler reads those of its own job with ActiveJob.Children, which
// also knows the slots of those that have none in their ids.
func (q *Queue) Children(ctx context.Context, id string) ([]Child, error) {
	store := q.client.store
	if err := store.Usable(q.name); err != nil {
		return nil, err
	}
	list, err := readChildren(ctx, store, jobKeyOf(store, q.name, id))
	if err == nil && len(list) == 0 {
		err = q.exists(ctx, "read the children", id)
	}
	for i := range list {
		list[i].Slot, list[i].At, _ = placeOf(list[i].ID)
	}
	slices.SortFunc(list, compareChildren)
	return list, err
}

// ChildrenPage pages through a parent job's children of one kind. Cursor 0
// begins, and the next one is 0 at the end. A page may have more or fewer
// children than count.
func (q *Queue) ChildrenPage(ctx context.Context, id string, kind ChildKind, cursor uint64, count int) (page []Child, next uint64, err error) {
	stored, next, err := q.client.store.Dependencies(ctx, q.name, id, kind, cursor, count)
	if err == nil && len(stored) == 0 && cursor == 0 {
		err = q.exists(ctx, "read the children", id)
	}
	for _, s := range stored {
		c := Child{Key: s.Key, Kind: kind, Value: s.Value, Reason: s.Reason}
		c.Queue, c.ID = splitKey(s.Key)
		c.Slot, c.At, _ = placeOf(c.ID)
		page = append(page, c)
	}
	return page, next, err
}
