// Package redisq keeps queues in Redis or Valkey, in the very form of BullMQ
// for Node.js: both may work the same queue at the same time.
//
//	store, err := redisq.Open("redis://:password@localhost:6379/0")
//	if err != nil { ... }
//	defer store.Close()
//	client, err := bullmq.NewClient(store)
//
// [Open] takes redis://, rediss:// (TLS) and unix:// URLs. [New] takes a client
// of go-redis that the program made itself: for Sentinel, Cluster, or special
// settings.
//
// # What is sent twice
//
// Adding a job twice because an answer was lost would run it twice. So a
// request that may have reached the server is never sent again, whatever
// MaxRetries says of the client that was given: the call returns
// [storage.ErrUncertain], and the program decides. What certainly did not
// happen is tried a few times within about a second: the server could not be
// reached, is loading, or changes its role.
//
// # Deadlines
//
// A client made by Open keeps to the deadline of a context. go-redis does so
// only with Options.ContextTimeoutEnabled: with another client that lacks it, a
// call to a server that stopped answering lasts until Options.ReadTimeout.
//
// # Cluster
//
// All keys of a queue must be in one slot, and so must all queues of a flow.
// Put a hash tag in the prefix (Prefix("{jobs}"): all queues share a slot) or
// in the name of a queue ("{mail}": its keys do). Without one every call
// returns [ErrNoHashTag] and nothing is written. Leave ReadOnly off in the
// options of a cluster client: a replica may not know yet what was just written.
//
// While a slot is moved to another node, calls on its queues return an error
// that is transient, with nothing done; workers wait until it is over. A script
// would else fail at the first key that is gone, with half of its work done.
package redisq
