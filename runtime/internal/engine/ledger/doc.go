// Package ledger keeps the books of one worker: which jobs it holds, which of
// them run, which outcomes wait to be sent, how much capacity is free, and what
// the storage said last about the queue. All of it stands behind one mutex.
//
// The ledger decides what the next call to the storage contains, and makes none
// itself: no method calls a storage or a function of the program, so none takes
// long. Methods whose names end in Locked need the mutex; all others take it.
//
// Capacity is how many handlers may run at once.
package ledger
