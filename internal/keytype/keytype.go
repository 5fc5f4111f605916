// Package keytype lists the keys of a queue and their types.
package keytype

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
