package vectors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/redis/go-redis/v9"
)

// Keyspace is what a database holds.
type Keyspace map[string]Entry

// Entry is the value of one key. Which field is set follows from Type.
type Entry struct {
	Type   string // hash, string, list, set, zset or stream
	Text   string
	List   []string
	Set    []string // sorted
	Hash   map[string]string
	Sorted []Member // in order
	Stream []StreamEntry
	TTL    *int64 // milliseconds; nil: it does not expire
}

// Member is an element of a sorted set.
type Member struct {
	Name  string
	Score float64
}

// StreamEntry is an element of a stream.
type StreamEntry struct {
	ID     string            `json:"id"`
	Fields map[string]string `json:"fields"`
}

// UnmarshalJSON reads the form {"type", "value", "ttl"}.
func (e *Entry) UnmarshalJSON(b []byte) error {
	var raw struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
		TTL   *int64          `json:"ttl"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	*e = Entry{Type: raw.Type, TTL: raw.TTL}
	switch raw.Type {
	case "string":
		return json.Unmarshal(raw.Value, &e.Text)
	case "list":
		return json.Unmarshal(raw.Value, &e.List)
	case "set":
		return json.Unmarshal(raw.Value, &e.Set)
	case "hash":
		return json.Unmarshal(raw.Value, &e.Hash)
	case "zset":
		return json.Unmarshal(raw.Value, &e.Sorted)
	case "stream":
		return json.Unmarshal(raw.Value, &e.Stream)
	}
	return fmt.Errorf("unknown type of key %q", raw.Type)
}

// UnmarshalJSON reads the form [name, score].
func (m *Member) UnmarshalJSON(b []byte) error {
	pair := [2]any{&m.Name, &m.Score}
	return json.Unmarshal(b, &pair)
}

// Apply writes a state into an empty database.
func Apply(ctx context.Context, c redis.UniversalClient, state Keyspace) error {
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for key, e := range state {
			e.write(ctx, p, key)
			if e.TTL != nil {
				p.PExpire(ctx, key, time.Duration(*e.TTL)*time.Millisecond)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("vectors: write the state before: %w", err)
	}
	return nil
}

func (e *Entry) write(ctx context.Context, p redis.Pipeliner, key string) {
	switch e.Type {
	case "string":
		p.Set(ctx, key, e.Text, 0)
	case "list":
		p.RPush(ctx, key, anys(e.List)...)
	case "set":
		p.SAdd(ctx, key, anys(e.Set)...)
	case "hash":
		p.HSet(ctx, key, e.Hash)
	case "zset":
		for _, m := range e.Sorted {
			p.ZAdd(ctx, key, redis.Z{Member: m.Name, Score: m.Score})
		}
	case "stream":
		for _, s := range e.Stream {
			p.XAdd(ctx, &redis.XAddArgs{Stream: key, ID: s.ID, Values: s.ordered()})
		}
		if len(e.Stream) == 0 { // one that was trimmed to nothing
			p.XAdd(ctx, &redis.XAddArgs{Stream: key, ID: "1-1", Values: []string{"event", ""}})
			p.XDel(ctx, key, "1-1")
		}
	}
}

// ordered are the fields with the event's name first, as peers write them.
func (s *StreamEntry) ordered() []string {
	out := make([]string, 0, 2*len(s.Fields))
	if name, ok := s.Fields["event"]; ok {
		out = append(out, "event", name)
	}
	for _, f := range sortedKeys(s.Fields) {
		if f != "event" {
			out = append(out, f, s.Fields[f])
		}
	}
	return out
}

// Snapshot reads everything that a database holds.
func Snapshot(ctx context.Context, c redis.UniversalClient) (Keyspace, error) {
	keys, err := c.Keys(ctx, "*").Result()
	if err != nil {
		return nil, fmt.Errorf("vectors: snapshot: %w", err)
	}
	types := make([]*redis.StatusCmd, len(keys))
	ttls := make([]*redis.DurationCmd, len(keys))
	if len(keys) == 0 {
		return Keyspace{}, nil
	}
	if _, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			types[i], ttls[i] = p.Type(ctx, k), p.PTTL(ctx, k)
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("vectors: snapshot: %w", err)
	}
	reads := make([]func() Entry, len(keys))
	if _, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			reads[i] = read(ctx, p, k, types[i].Val())
		}
		return nil
	}); noNil(err) != nil {
		return nil, fmt.Errorf("vectors: snapshot: %w", err)
	}
	state := make(Keyspace, len(keys))
	for i, k := range keys {
		e := reads[i]()
		if e.Type == "none" {
			continue // it expired meanwhile
		}
		if d := ttls[i].Val(); d >= 0 {
			ms := d.Milliseconds()
			e.TTL = &ms
		}
		state[k] = e
	}
	return state, nil
}

// noNil is an error but for that of a text that expired after its type was read.
func noNil(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// read queues the command that reads a key, and returns what turns its reply
// into an entry.
func read(ctx context.Context, p redis.Pipeliner, key, kind string) func() Entry {
	switch kind {
	case "string":
		c := p.Get(ctx, key)
		return func() Entry {
			if errors.Is(c.Err(), redis.Nil) {
				return Entry{Type: "none"}
			}
			return Entry{Type: kind, Text: c.Val()}
		}
	case "list":
		c := p.LRange(ctx, key, 0, -1)
		return func() Entry { return Entry{Type: kind, List: c.Val()} }
	case "set":
		c := p.SMembers(ctx, key)
		return func() Entry {
			v := c.Val()
			sort.Strings(v)
			return Entry{Type: kind, Set: v}
		}
	case "hash":
		c := p.HGetAll(ctx, key)
		return func() Entry { return Entry{Type: kind, Hash: c.Val()} }
	case "zset":
		c := p.ZRangeWithScores(ctx, key, 0, -1)
		return func() Entry {
			e := Entry{Type: kind}
			for _, z := range c.Val() {
				e.Sorted = append(e.Sorted, Member{z.Member.(string), z.Score})
			}
			return e
		}
	case "stream":
		c := p.XRange(ctx, key, "-", "+")
		return func() Entry {
			e := Entry{Type: kind}
			for _, m := range c.Val() {
				e.Stream = append(e.Stream, StreamEntry{m.ID, texts(m.Values)})
			}
			return e
		}
	}
	return func() Entry { return Entry{Type: kind} }
}

func texts(m map[string]any) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = fmt.Sprint(v)
	}
	return out
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
