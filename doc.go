// Package bullmqgen generates typed Go code for tasks that run on BullMQ queues.
//
// A task is a Go struct with a directive. The struct is the payload of a job. The
// directive gives the queue and the name of its jobs:
//
//	// SendWelcome greets a new user.
//	//
//	//bullmq:task emails/send-welcome result=Receipt
//	//bullmq:retry attempts=5 backoff=exponential:1s jitter=0.2
//	type SendWelcome struct {
//		UserID string `json:"userId"`
//	}
//
// The generator writes functions with concrete types, in a separate package:
//
//	EnqueueSendWelcome(ctx, client, tasks.SendWelcome{UserID: "u1"})
//	HandleSendWelcome(worker, func(ctx context.Context, job *bullmq.Job[tasks.SendWelcome]) (tasks.Receipt, error) { ... })
//	HandleEmails(worker, handler) // handler has a method for each task of the queue
//
// It also writes a manifest and type declarations for Node. The manifest describes
// the tasks for other programs, and later versions of the tasks are compared with it.
//
// The generated code is thin: the behavior is in the package
// github.com/bullmq-gen/bullmq-gen/runtime, named bullmq. All directives are
// described in docs/directives.md.
//
// Most programs run the command bullmq-gen, with one line per module:
//
//	//go:generate go tool bullmq-gen ./...
//
// This package provides the command as a library.
package bullmqgen

//go:generate go run ./cmd/bullmq-gen ./...
