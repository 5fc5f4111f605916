// Package bullmqgen generates typed Go code for tasks that run on BullMQ queues.
//
// A task is a Go struct with a directive. The struct is the payload of a job;
// the directive says which queue the jobs go to and what their name is:
//
//	// SendWelcome greets a new user.
//	//
//	//bullmq:task emails/send-welcome result=Receipt
//	//bullmq:retry attempts=5 backoff=exponential:1s jitter=0.2
//	type SendWelcome struct {
//		UserID string `json:"userId"`
//	}
//
// From it come functions with exact types, in a package of their own:
//
//	EnqueueSendWelcome(ctx, client, tasks.SendWelcome{UserID: "u1"})
//	HandleSendWelcome(worker, func(ctx context.Context, job *bullmq.Job[tasks.SendWelcome]) (tasks.Receipt, error) { ... })
//	HandleEmails(worker, handler) // handler has a method for each task of the queue
//
// Beside it are a manifest, which describes the tasks for other programs and is
// what later versions of them are compared with, and type declarations for Node.
//
// The generated code is thin; what it does is in the package
// github.com/bullmq-gen/bullmq-gen/runtime, named bullmq. All directives are
// described in docs/directives.md.
//
// Most programs run the command bullmq-gen, through one line for a module:
//
//	//go:generate go tool bullmq-gen ./...
//
// This package is the command as a library.
package bullmqgen

//go:generate go run ./cmd/bullmq-gen ./...
