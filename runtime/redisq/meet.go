package redisq

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// oldest is the first version of Redis that has all commands the scripts use.
const oldestMajor, oldestMinor = 6, 2

// meet looks at the server before the first call on it, in one INFO. It refuses a
// node of a cluster, on which a script would stop half-way at the first key of
// another node, and warns once of settings that lose jobs. A server that does not
// answer INFO, or denies it to this user, is taken as it is.
func (s *Store) meet(ctx context.Context) error {
	if s.met.Load() {
		return nil
	}
	cmd := redis.NewStringCmd(ctx, "info")
	err := s.again(ctx, func() (bool, error) { return false, noNil(s.process(ctx, cmd)) })
	if err != nil && (storage.Transient(err) || errors.Is(err, storage.ErrClosed) || !isReply(err) || isStranger(err)) {
		return s.notMet(err)
	}
	info := infoFields(cmd.Val())
	if info["cluster_enabled"] == "1" && !s.cluster {
		return storage.Invalid("bullmq: redis: the server is a node of a cluster, and holds only some of the keys: nothing was written. "+
			"Open it as a cluster: redisq.New(redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{%q}}))", s.address())
	}
	if s.met.CompareAndSwap(false, true) {
		s.warn(ctx, info)
	}
	return nil
}

// isStranger reports whether the server wants a user or password first.
func isStranger(err error) bool {
	text := err.Error()
	return strings.Contains(text, "NOAUTH") || strings.Contains(text, "WRONGPASS") || strings.Contains(text, "AUTH ") || strings.Contains(text, "invalid password")
}

// notMet adds the likely reason to the error of a server that never answered.
func (s *Store) notMet(err error) error {
	var f *fault
	if !errors.As(err, &f) || f.hint != "" || s.usesTLS() {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "connection reset") || isTLSAlert(err) {
		f.kind = storage.ErrUnavailable
		f.hint = "the server closed the connection before it answered anything: if this port speaks TLS, use rediss://"
	}
	return err
}

// isTLSAlert reports whether the first byte of an answer was that of an alert of TLS.
func isTLSAlert(err error) bool {
	return strings.Contains(err.Error(), `\x15\x03`) || strings.Contains(err.Error(), "\x15\x03")
}

func (s *Store) usesTLS() bool {
	c, ok := s.client.(*redis.Client)
	return ok && c.Options().TLSConfig != nil
}

func (s *Store) address() string {
	if c, ok := s.client.(*redis.Client); ok {
		return c.Options().Addr
	}
	return ""
}

// warn reports, once for each store, settings of the server that lose jobs.
func (s *Store) warn(ctx context.Context, info map[string]string) {
	if policy := info["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		s.log.WarnContext(ctx, "bullmq: redis: the server may evict the keys of queues when its memory is full: set maxmemory-policy to noeviction", "maxmemory_policy", policy)
	}
	if v := info["redis_version"]; v != "" && olderThan(v, oldestMajor, oldestMinor) {
		s.log.WarnContext(ctx, fmt.Sprintf("bullmq: redis: the server is older than version %d.%d, which queues need", oldestMajor, oldestMinor), "redis_version", v)
	}
}

func olderThan(version string, major, minor int) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(second)
	return errA == nil && errB == nil && (a < major || a == major && b < minor)
}

// infoFields are the lines of an answer to INFO.
func infoFields(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// remote is the address of a connection's other end.
func remote(c net.Conn) string {
	if c == nil || c.RemoteAddr() == nil {
		return ""
	}
	return c.RemoteAddr().String()
}
