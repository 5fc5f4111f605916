// Package wire is what all peers of a queue agree on, whatever keeps it: the names
// and types of keys, which ids and names are allowed, and the limits of numbers.
// Each rule stands here once. The runtime, its storages, the generator, the audit
// and the tests of the wire use it.
package wire
