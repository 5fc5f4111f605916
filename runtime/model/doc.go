// Package model tests the public API against a model of queues that is kept in
// memory: random sequences of calls are made to both, and after each call all
// jobs, their states and their order must be what the model says, and the keys
// must pass the audit. It has no code of its own.
package model
