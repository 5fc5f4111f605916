// Package bullmq runs typed background jobs on the queues of BullMQ 5.x and
// 6.x for Node.js: a job made here may be worked there, and the other way
// round.
//
// Most of a program's calls go through functions that bullmq-gen generates
// from annotated structs; this package is what they call. It has
//
//   - Client, which adds jobs and reads their results, made with NewClient
//     from a storage (package redisq opens one on Redis or Valkey);
//   - Worker, which takes jobs and runs their handlers, made with NewWorker;
//   - Task, the typed declaration of one kind of job, made with NewTask;
//   - Queue, which looks at a queue and operates it.
//
// The package lies in a folder named runtime. Import it under its own name:
//
//	import bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
package bullmq
