package redisq

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

const (
	beginning     = "0-0" // a place before all events
	eventsAtOnce  = 1000  // events that one read returns at most
	publishedKept = 1000  // events that are kept when one is published, as peers do
)

// LastEvent returns the place after the newest event.
func (s *Store) LastEvent(ctx context.Context, queue string) (string, error) {
	cmd, err := s.eventRange(ctx, queue, "xrevrange", "+", "-", "count", "1")
	if err != nil {
		return "", err
	}
	if len(cmd.Val()) == 0 {
		return beginning, nil
	}
	return cmd.Val()[0].ID, nil
}

// EventKept reports whether the event at a cursor is still kept.
func (s *Store) EventKept(ctx context.Context, queue, cursor string) (bool, error) {
	if cursor == "" || cursor == beginning {
		return true, nil
	}
	cmd, err := s.eventRange(ctx, queue, "xrange", cursor, cursor)
	return err == nil && len(cmd.Val()) > 0, err
}

// eventRange reads some of the events.
func (s *Store) eventRange(ctx context.Context, queue, verb string, args ...any) (*redis.XMessageSliceCmd, error) {
	b, err := s.base(queue)
	if err != nil {
		return nil, err
	}
	cmd := redis.NewXMessageSliceCmd(ctx, append([]any{verb, b + "events"}, args...)...)
	return cmd, s.read(ctx, cmd)
}

// ReadEvents returns up to 1000 events after a cursor, and waits up to d for
// the first, over a connection of its own.
func (s *Store) ReadEvents(ctx context.Context, queue, cursor string, d time.Duration) ([]storage.Event, error) {
	b, err := s.base(queue)
	if err != nil {
		return nil, err
	}
	if cursor == "" {
		cursor = beginning
	}
	if d <= 0 {
		cmd := xread(ctx, b, cursor, 0)
		return events(cmd, s.read(ctx, cmd))
	}
	for {
		block := min(d, maxBlock)
		cmd := xread(ctx, b, cursor, block)
		list, err := events(cmd, s.readers.process(ctx, s, queue, cmd, block))
		d -= block
		if len(list) > 0 || err != nil || d <= 0 {
			return list, err
		}
	}
}

// xread reads the events after a cursor. It waits if block is above zero.
func xread(ctx context.Context, b, cursor string, block time.Duration) *redis.XStreamSliceCmd {
	args := append(make([]any, 0, 8), "xread", "count", eventsAtOnce)
	if block > 0 {
		args = append(args, "block", max(1, block.Milliseconds())) // 0 would be for ever
	}
	return redis.NewXStreamSliceCmd(ctx, append(args, "streams", b+"events", cursor)...)
}

// events turns what xread read into events.
func events(cmd *redis.XStreamSliceCmd, err error) ([]storage.Event, error) {
	if err != nil || len(cmd.Val()) == 0 {
		return nil, err
	}
	messages := cmd.Val()[0].Messages
	out := make([]storage.Event, len(messages))
	for i, m := range messages {
		fields := make(map[string]string, len(m.Values))
		for name, v := range m.Values {
			text, _ := v.(string) // go-redis reads them as strings
			fields[name] = text
		}
		out[i] = storage.Event{Cursor: m.ID, Name: fields["event"], Fields: fields}
		delete(fields, "event")
	}
	return out, nil
}

// TrimEvents removes all but about the last keep events.
func (s *Store) TrimEvents(ctx context.Context, queue string, keep int) (int, error) {
	b, err := s.base(queue)
	if err != nil {
		return 0, err
	}
	if keep < 0 {
		return 0, storage.Invalid("bullmq: trim the events of queue %q: cannot keep %d of them: give 0 or more", queue, keep)
	}
	cmd := redis.NewIntCmd(ctx, "xtrim", b+"events", "maxlen", "~", strconv.Itoa(keep))
	err = s.send(ctx, cmd)
	return int(cmd.Val()), err
}

// Publish appends an event, and keeps about the last keep events (0: 1000).
func (s *Store) Publish(ctx context.Context, queue, name string, keep int, fields ...string) error {
	b, err := s.base(queue)
	if err != nil {
		return err
	}
	if err := checkEvent(name, keep, fields); err != nil {
		return storage.Invalid("bullmq: publish on queue %q: %w", queue, err)
	}
	if keep == 0 {
		keep = publishedKept
	}
	args := make([]any, 0, 8+len(fields))
	args = append(args, "xadd", b+"events", "maxlen", "~", strconv.Itoa(keep), "*", "event", name)
	for _, f := range fields {
		args = append(args, f)
	}
	return s.send(ctx, redis.NewStringCmd(ctx, args...))
}

func checkEvent(name string, keep int, fields []string) error {
	switch {
	case name == "":
		return errors.New("the event needs a name")
	case keep < 0:
		return fmt.Errorf("cannot keep %d events: give 0 for the default, or more", keep)
	case len(fields)%2 != 0:
		return errors.New("the last field has no value: give names and values in turn")
	}
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == "event" {
			return errors.New(`a field cannot be called "event": that one holds the event's name`)
		}
	}
	return nil
}
