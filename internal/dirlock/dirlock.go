// Package dirlock keeps two processes from changing the files of one folder at
// the same time. The operating system releases a lock when its holder ends, in
// whatever way, so none is ever left behind.
package dirlock
