package redisq

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Refusals of a server that will be over soon: nothing of the command was
// carried out, and the same command can succeed later.
var refusals = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS",
	"UNBLOCKED", "BUSY ", "MOVED", "ASK ", "max number of clients",
}

// fault is an error of the connection or the server, with what to do about it.
type fault struct {
	err       error
	hint      string // may be empty
	transient bool
	sent      bool // the request may have been carried out
}

func (f *fault) Error() string {
	text := "bullmq: redis: " + f.err.Error()
	if f.sent {
		text = "bullmq: redis: " + storage.ErrUncertain.Error() + ": " + f.err.Error()
	}
	if f.hint != "" {
		text += " (" + f.hint + ")"
	}
	return text
}

func (f *fault) Unwrap() []error {
	if f.sent {
		return []error{storage.ErrUncertain, f.err}
	}
	return []error{f.err}
}

// Transient makes storage.Transient know the error.
func (f *fault) Transient() bool { return f.transient }

// explain wraps an error of go-redis with what to do about it. It leaves nil,
// redis.Nil and what is explained already as they are.
func explain(err error) error {
	var f *fault
	if err == nil || errors.Is(err, redis.Nil) || errors.As(err, &f) {
		return err
	}
	if errors.Is(err, redis.ErrClosed) {
		return &fault{err: storage.ErrClosed, hint: "close the store, or the client it was made with, after the workers and clients that use it"}
	}
	return &fault{err: err, hint: hint(err), transient: transient(err)}
}

// silent wraps the error of a connection that was accepted but never became ready.
func silent(err error) error {
	return &fault{
		err: err, transient: true,
		hint: "the server did not answer: is the port right, and does it speak TLS (rediss://) or not (redis://)?",
	}
}

// uncertain wraps the error of a request that may have been carried out.
func uncertain(err error) error {
	return &fault{err: err, transient: transient(err), sent: true}
}

// refused is the error of an operation that a script refused, with the job it is about.
func refused(op, queue, job string, err error) error {
	return &storage.Error{Op: op, Queue: queue, Job: job, Err: err}
}

// codeError is the error that a script's negative reply stands for.
func codeError(code int64) error {
	switch code {
	case -1:
		return storage.ErrJobNotFound
	case -2:
		return storage.ErrLockLost
	case -3:
		return storage.ErrNotInState
	case -4:
		return storage.ErrPendingChildren
	case -5:
		return storage.ErrNoParent
	case -6:
		return storage.ErrLockMismatch
	case -7:
		return storage.ErrOtherParent
	case -8:
		return storage.ErrScheduled
	case -9:
		return storage.ErrFailedChildren
	}
	return fmt.Errorf("unknown reply %d of a script", code)
}

// transient reports whether the same call may succeed later, with nothing
// changed: the connection is lost, or the server starts, or changes its role.
func transient(err error) bool { return isRefusal(err) || isConnection(err) }

// isReply reports whether the server answered, with an error.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// isRefusal reports whether the server answered that it cannot do anything now.
func isRefusal(err error) bool {
	if err == nil || !isReply(err) {
		return false
	}
	text := strings.TrimPrefix(err.Error(), "ERR ")
	for _, r := range refusals {
		if strings.HasPrefix(text, r) {
			return true
		}
	}
	return strings.Contains(text, "-READONLY ") // said by a script on Redis 6
}

// isConnection reports whether the connection could not be made, or was lost.
func isConnection(err error) bool {
	if err == nil || isReply(err) || isDone(err) && !isDial(err) || errors.Is(err, redis.ErrClosed) {
		return false
	}
	var netErr net.Error
	return errors.As(err, &netErr) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted)
}

// isDial reports whether no connection was made at all.
func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" ||
		errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted)
}

func isDone(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func isNoScript(err error) bool {
	return err != nil && redis.HasErrorPrefix(err, "NOSCRIPT")
}

// hint says what to do about an error, or nothing.
func hint(err error) string {
	text := err.Error()
	switch {
	case isDial(err) && !errors.Is(err, redis.ErrPoolTimeout):
		return "is the server running, and are host and port of the URL right?"
	case errors.Is(err, redis.ErrPoolTimeout):
		return "all connections are in use: give the client a larger pool"
	case strings.Contains(text, "does not look like a TLS handshake"):
		return "rediss:// is for ports with TLS, and redis:// for those without"
	case !isReply(err):
		return ""
	case strings.HasPrefix(text, "WRONGPASS"), strings.HasPrefix(text, "NOAUTH"), strings.Contains(text, "invalid password"),
		strings.Contains(text, "unauthenticated"), // said of any longer command before the password
		strings.Contains(text, "without any password configured"):
		return "give the right user and password: redis://user:password@host:port"
	case strings.HasPrefix(text, "NOPERM"):
		return "the user needs all commands on the keys of the queues"
	case strings.Contains(text, "READONLY"):
		return "this server is a replica: connect to its master, or through Sentinel"
	case strings.HasPrefix(text, "LOADING"):
		return "the server is starting: try again in a moment"
	case strings.HasPrefix(text, "OOM"):
		return "the server is out of memory: raise maxmemory, and set maxmemory-policy to noeviction"
	case strings.HasPrefix(text, "MOVED"), strings.HasPrefix(text, "ASK "):
		return "this server is part of a cluster: use redisq.New(redis.NewClusterClient(...))"
	case strings.Contains(text, "non local key"):
		return ErrNoHashTag.Error()
	}
	return ""
}
