package audit

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	invariants "github.com/bullmq-gen/bullmq-gen/internal/audit"
)

// page is how many keys or ids one command reads.
const page = 500

// scan calls use with the keys that match a pattern, a page at a time. Tag is
// a key in the hash slot of all of them, or empty if they may be anywhere.
func (a *auditor) scan(ctx context.Context, tag, pattern, typ string, use func(keys []string) error) error {
	c, ok := a.client.(*redis.ClusterClient)
	switch {
	case !ok:
		return scanNode(ctx, a.client, pattern, typ, use)
	case tag != "":
		node, err := c.MasterForKey(ctx, tag)
		if err != nil {
			return err
		}
		return scanNode(ctx, node, pattern, typ, use)
	}
	var one sync.Mutex // nodes are asked concurrently
	return c.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		return scanNode(ctx, node, pattern, typ, func(keys []string) error {
			one.Lock()
			defer one.Unlock()
			return use(keys)
		})
	})
}

func scanNode(ctx context.Context, c redis.Cmdable, pattern, typ string, use func(keys []string) error) error {
	for cursor := uint64(0); ; {
		var keys []string
		var err error
		if typ != "" {
			keys, cursor, err = c.ScanType(ctx, cursor, pattern, page, typ).Result()
		} else {
			keys, cursor, err = c.Scan(ctx, cursor, pattern, page).Result()
		}
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			if err := use(keys); err != nil {
				return err
			}
		}
		if cursor == 0 {
			return nil
		}
	}
}

var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// queues returns the names of the queues under the prefix, sorted.
func (a *auditor) queues(ctx context.Context) ([]string, error) {
	found := map[string]bool{}
	err := a.scan(ctx, "", globEscape.Replace(a.prefix)+":*", "", func(keys []string) error {
		for _, key := range keys {
			if name, _, ok := strings.Cut(strings.TrimPrefix(key, a.prefix+":"), ":"); ok && name != "" {
				found[name] = true
			}
		}
		return nil
	})
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, err
}

// owners checks the keys that belong to no queue.
func (a *auditor) owners(ctx context.Context) error {
	return a.scan(ctx, "", globEscape.Replace(a.prefix)+"::*", "", func(keys []string) error {
		for _, key := range keys {
			typ, err := a.client.Type(ctx, key).Result()
			if err != nil {
				return err
			}
			var members []string
			if typ == "set" {
				if members, err = a.client.SMembers(ctx, key).Result(); err != nil {
					return err
				}
			}
			var problems []invariants.Problem
			invariants.CheckOwner(func(p invariants.Problem) { problems = append(problems, p) }, a.prefix, key, typ, members)
			for _, p := range problems {
				if err := a.add(ctx, "", p); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// nested returns the names of queues whose prefix is this queue's base: their
// keys look like those of jobs.
func (q *queue) nested(ctx context.Context) (map[string]bool, error) {
	names := map[string]bool{}
	err := q.scan(ctx, q.base, globEscape.Replace(q.base)+"*:meta", "hash", func(keys []string) error {
		for _, key := range keys {
			name, _, _ := strings.Cut(strings.TrimPrefix(key, q.base), ":")
			names[name] = true
		}
		return nil
	})
	return names, err
}
