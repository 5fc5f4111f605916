// Package runner runs handlers and decides what becomes of their jobs: completed,
// failed, retried, delayed, put back, or waiting for children. It also has what
// belongs to one run: the context of the handler, its deadline, the calls to the
// storage that are repeated while the job's lock lasts, and the answer of the
// storage to the outcome.
//
// The program's own functions are reached through Program and Observer.
package runner
