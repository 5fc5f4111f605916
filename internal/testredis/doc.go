// Package testredis gives tests a Redis of their own.
//
//   - [Start] runs a private redis-server that a test may stop, restart and pause.
//   - [Shared] gives an empty database on one server that all tests of the
//     binary use: the fast way for tests that only store and read.
//   - [Mini] is an in-process server, and [Any] is Shared where redis-server
//     is installed and Mini elsewhere.
//   - [Cluster] runs a cluster of private servers.
//   - [Sentinel] runs a master, its replica and a sentinel.
//   - [Proxy] stands between a client and a server, and breaks the connection on demand.
//
// The environment variable BULLMQ_REDIS names another server than the
// redis-server on PATH, such as valkey-server.
//
// Servers listen on free loopback ports, and end with the test; one whose test
// binary was killed ends with that binary.
package testredis
