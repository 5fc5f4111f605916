// Package bullmq runs typed background jobs on the queues of BullMQ 5.x and
// 6.x for Node.js. Node workers process jobs added from Go, and vice versa.
//
// Most programs call functions that bullmq-gen generates from annotated
// structs. The generated functions call this package. Its main types are:
//
//   - Client adds jobs and reads their results. NewClient makes one from a
//     storage; package redisq opens a storage on Redis or Valkey.
//   - Worker takes jobs and runs their handlers.
//   - Task declares one kind of job with its Go types.
//   - Queue inspects and operates a queue.
//
// The package is in a folder named runtime. Import it under its own name:
//
//	import bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
package bullmq
