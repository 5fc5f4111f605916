// Package interop runs real peers for tests: BullMQ for Node.js, 6.x and 5.x,
// and a program with this module's own runtime. All speak one protocol of JSON
// lines (see README.md), so that a test can send the same operations to any of
// them, and a scenario can be played with the roles exchanged.
//
//	node := interop.StartNode(t, interop.Node6, server.URL())
//	ours := interop.StartGo(t, server.URL())
//	err := node.Call(ctx, "queue.add", interop.Args{"queue": "mail", "name": "welcome"}, &job)
package interop
