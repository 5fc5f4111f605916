package redisq

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// replies are what servers say, by what the text begins with, and the kind of
// failure that it is. The server carried nothing out: what it says of a script
// that writes, it says at the first write. The exceptions are those of which
// ErrNotPermitted, ErrUnsupported and ErrMalformed speak, which a script may meet
// at any command.
var replies = []struct {
	prefix string
	kind   error
}{
	{"LOADING", storage.ErrUnavailable},
	{"READONLY", storage.ErrUnavailable},
	{"MASTERDOWN", storage.ErrUnavailable},
	{"CLUSTERDOWN", storage.ErrUnavailable},
	{"TRYAGAIN", storage.ErrUnavailable},
	{"NOREPLICAS", storage.ErrUnavailable},
	{"UNBLOCKED", storage.ErrUnavailable},
	{"BUSY ", storage.ErrUnavailable},
	{"MOVED", storage.ErrUnavailable},
	{"ASK ", storage.ErrUnavailable},
	{"OOM", storage.ErrUnavailable},
	{"MISCONF", storage.ErrUnavailable},
	{"max number of clients", storage.ErrUnavailable},
	{"NOPERM", storage.ErrNotPermitted},
	{"NOAUTH", storage.ErrNotPermitted},
	{"WRONGPASS", storage.ErrNotPermitted},
	{"DENIED", storage.ErrNotPermitted},
	{"invalid password", storage.ErrNotPermitted},
	{"AUTH ", storage.ErrNotPermitted}, // a password for a server that has none
	{"Client sent AUTH", storage.ErrNotPermitted},
	{"unknown command", storage.ErrUnsupported},
	{"unknown subcommand", storage.ErrUnsupported},
	{"Unknown Redis command", storage.ErrUnsupported}, // in a script
	{"NOPROTO", storage.ErrUnsupported},
	{"This instance has cluster support disabled", storage.ErrUnsupported},
	{"CROSSSLOT", storage.ErrInvalid},
}

// inScript are parts of what a server says when a command of a script fails for
// such a reason: its own text follows others, in an order that differs between
// versions.
var inScript = []struct {
	part string
	kind error
}{
	{"READONLY ", storage.ErrUnavailable},
	{"OOM command not allowed", storage.ErrUnavailable},
	{"MISCONF ", storage.ErrUnavailable},
	{"NOREPLICAS ", storage.ErrUnavailable},
	{"unauthenticated", storage.ErrNotPermitted},
	{"NOPERM ", storage.ErrNotPermitted},
	{"ACL failure in script", storage.ErrNotPermitted},
	{"can't run this command or subcommand", storage.ErrNotPermitted},
	{"no permissions to ", storage.ErrNotPermitted},
	{"Unknown Redis command", storage.ErrUnsupported},
	{"non local key", storage.ErrInvalid},
}

// replyKind is the kind of failure that a server's reply speaks of.
func replyKind(err error) error {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return nil
	}
	text := strings.TrimPrefix(reply.Error(), "ERR ")
	for _, r := range replies {
		if strings.HasPrefix(text, r.prefix) {
			return r.kind
		}
	}
	for _, r := range inScript {
		if strings.Contains(text, r.part) {
			return r.kind
		}
	}
	return storage.ErrMalformed
}

// kindOf is the one place where errors of go-redis are told apart. Sent: the
// request may have reached the server, and changes something. Nil: the caller's
// context ended before, or there is no telling.
func kindOf(err error, sent bool) error {
	switch {
	case errors.Is(err, redis.ErrClosed):
		return storage.ErrClosed
	case isReply(err):
		return replyKind(err)
	case sent:
		return storage.ErrUncertain
	case isConnection(err):
		return storage.ErrUnavailable
	case isDone(err) || storage.Kind(err) != nil:
		return storage.Kind(err)
	}
	return storage.ErrMalformed // go-redis cannot read the answer
}

// fault is an error of the connection or the server, with what to do about it.
type fault struct {
	err  error
	hint string // may be empty
	kind error  // may be nil
	// shared: what could not be used is a key of the queue itself, not of one job.
	shared bool
}

func (f *fault) Error() string {
	text := "bullmq: redis: " + f.err.Error()
	switch f.kind {
	case storage.ErrUncertain:
		text = "bullmq: redis: " + f.kind.Error() + ": " + f.err.Error()
	case storage.ErrClosed:
		text = "bullmq: redis: the storage is closed"
	}
	if f.hint != "" {
		text += " (" + f.hint + ")"
	}
	return text
}

func (f *fault) Unwrap() []error {
	if f.kind == nil {
		return []error{f.err}
	}
	return []error{f.kind, f.err}
}

// explain wraps an error of go-redis with its kind and what to do about it. It
// leaves nil, redis.Nil and what is explained already as they are.
func explain(err error) error { return explained(err, false) }

func explained(err error, sent bool) error {
	var f *fault
	if err == nil || errors.Is(err, redis.Nil) || errors.As(err, &f) {
		return err
	}
	f = &fault{err: err, kind: kindOf(err, sent)}
	switch f.kind {
	case storage.ErrUncertain:
	case storage.ErrClosed:
		f.hint = "close the store, or the client it was made with, after the workers and clients that use it"
	default:
		f.hint = hint(err)
	}
	return f
}

// silent wraps the error of a connection that was accepted but never became ready.
func silent(err error) error {
	return &fault{
		err: err, kind: storage.ErrUnavailable,
		hint: "the server did not answer: is the port right, and does it speak TLS (rediss://) or not (redis://)?",
	}
}

// uncertain wraps the error of a request that may have been carried out.
func uncertain(err error) error { return explained(err, true) }

// unreadable is the error of an answer that makes no sense, of a request that may
// have been carried out.
func unreadable(err error) error { return storage.OfKind(storage.ErrUncertain, err) }

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
	case -10:
		return storage.ErrOtherTask
	}
	return storage.OfKind(storage.ErrMalformed, fmt.Errorf("unknown reply %d of a script", code))
}

// withName says which task the job in the way is of.
func withName(name string, err error) error {
	if name == "" {
		return err
	}
	return fmt.Errorf("%w, %q: use ids of a scope of their own", err, name)
}

// isReply reports whether the server answered, with an error.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// isRefusal reports whether the server answered that it cannot do anything now.
func isRefusal(err error) bool { return replyKind(err) == storage.ErrUnavailable }

// isConnection reports whether the connection could not be made, or was lost.
func isConnection(err error) bool {
	if err == nil || isReply(err) || isDone(err) && !isDial(err) || errors.Is(err, redis.ErrClosed) {
		return false
	}
	var netErr net.Error
	var badTLS tls.RecordHeaderError
	var badCert *tls.CertificateVerificationError
	return errors.As(err, &netErr) || errors.As(err, &badTLS) || errors.As(err, &badCert) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted)
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
		return "grant the user what it was denied, with ACL SETUSER; docs/security.md lists the rights of each role"
	case strings.Contains(text, "READONLY"):
		return "this server is a replica: connect to its master, or through Sentinel"
	case strings.HasPrefix(text, "LOADING"):
		return "the server is starting: try again in a moment"
	case strings.HasPrefix(text, "OOM"):
		return "the server is out of memory: raise maxmemory, and set maxmemory-policy to noeviction"
	case strings.HasPrefix(text, "MOVED"), strings.HasPrefix(text, "ASK "):
		return "this server is part of a cluster: open it as one with redisq.New(redis.NewClusterClient(...))"
	case strings.Contains(text, "non local key"):
		return ErrNoHashTag.Error()
	}
	return ""
}
