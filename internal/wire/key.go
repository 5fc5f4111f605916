package wire

import "strings"

// Own are the types of the keys that a queue has by itself, by what follows the
// queue's base in them.
var Own = map[string]string{
	"id": "string", "pc": "string", "limiter": "string", "stalled-check": "string",
	"meta": "hash", "metrics:completed": "hash", "metrics:failed": "hash",
	"wait": "list", "paused": "list", "active": "list", "metrics:completed:data": "list", "metrics:failed:data": "list",
	"prioritized": "zset", "delayed": "zset", "waiting-children": "zset", "completed": "zset", "failed": "zset",
	"marker": "zset", "repeat": "zset", "priority": "zset",
	"stalled": "set", "events": "stream",
}

// Parts are the types of the keys that belong to a job, by what follows its id.
var Parts = map[string]string{
	"lock": "string", "logs": "list", "dependencies": "set", "processed": "hash", "failed": "hash", "unsuccessful": "zset",
}

// ExtraPrefix begins the keys of a queue that only this library uses.
const ExtraPrefix = "gen"

// reserved are what stands in the place of a job's id in keys of the queue itself:
// the first parts of their names, and of the names that older peers used.
var reserved = func() map[string]bool {
	names := map[string]bool{"de": true, "dn": true, "delay": true, ExtraPrefix: true}
	for suffix := range Own {
		head, _, _ := strings.Cut(suffix, ":")
		names[head] = true
	}
	return names
}()

// Reserved reports whether an id is the name of one of the queue's own keys. Peers
// accept such an id, and then a job and that key are one.
func Reserved(id string) bool { return reserved[id] }

// IsMarker reports whether peers read an id as a marker: an entry of a list of jobs
// that only wakes a worker.
func IsMarker(id string) bool { return id == "0" || strings.HasPrefix(id, "0:") }

// JobOfKey returns the id of the job that a key may belong to, by what follows the
// queue's base in it. Ids with a colon are not found: their keys look like those of
// queues under a longer prefix.
func JobOfKey(suffix string) (id string, ok bool) {
	id, part, sub := strings.Cut(suffix, ":")
	return id, id != "" && !reserved[id] && (!sub || Parts[part] != "")
}
