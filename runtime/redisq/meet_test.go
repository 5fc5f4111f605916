package redisq

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
	"github.com/bullmq-gen/bullmq-gen/scripts"
)

func TestANodeOfAClusterIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	n := testredis.Cluster(t, 1)
	s, err := Open(n.Masters[0].URL())
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	for _, queue := range []string{"a", "b", "c", "d", "e"} {
		_, err := s.Add(t.Context(), queue, plainJobs(2))
		require.ErrorIs(t, err, storage.ErrInvalid)
		require.NotErrorIs(t, err, storage.ErrUncertain)
		require.ErrorContains(t, err, "redis.NewClusterClient")
	}
	require.ErrorContains(t, s.Ping(t.Context()), "node of a cluster")
	require.Zero(t, n.Masters[0].Client(t).DBSize(t.Context()).Val())
}

func TestSettingsThatLoseJobsAreReportedOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	srv := testredis.Start(t, testredis.Args("--maxmemory-policy", "allkeys-lru"))
	s, err := Open(srv.URL(), Logger(slog.New(slog.NewTextHandler(&log, nil))))
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	for range 3 {
		require.NoError(t, s.Ping(t.Context()))
	}
	require.Equal(t, 1, strings.Count(log.String(), "maxmemory_policy=allkeys-lru"), log.String())
	require.True(t, olderThan("6.0.16", 6, 2))
	require.True(t, olderThan("5.9", 6, 2))
	require.False(t, olderThan("6.2.0", 6, 2) || olderThan("7.0", 6, 2) || olderThan("x", 6, 2))
}

func TestNumbersThatAreAnsweredAsTextAreRead(t *testing.T) {
	t.Parallel()
	var reply atomic.Pointer[string]
	f := testredis.StartFake(t, func(args []string) string {
		if strings.HasPrefix(strings.ToLower(args[0]), "eval") {
			return *reply.Load()
		}
		return "-ERR unknown command\r\n"
	})
	s, err := Open(f.URL() + "?protocol=2")
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	for _, text := range []string{":4\r\n", "$1\r\n4\r\n", "+4\r\n", "*1\r\n$1\r\n4\r\n", "*5\r\n$1\r\n4\r\n$1\r\n1\r\n$1\r\n0\r\n:5\r\n$1\r\nn\r\n"} {
		reply.Store(&text)
		added, err := s.Add(t.Context(), "q", plainJobs(1))
		require.NoError(t, err, text)
		require.Equal(t, "5", added[0].ID, text)
	}
	text := "*0\r\n"
	reply.Store(&text)
	_, err = s.Add(t.Context(), "q", plainJobs(1))
	require.ErrorIs(t, err, storage.ErrUncertain)
	_, err = s.Clean(t.Context(), "q", storage.StateFailed, time.Now(), 0)
	require.ErrorIs(t, err, storage.ErrUncertain)
	_, err = s.ListJobs(t.Context(), "q", []storage.State{storage.StateFailed}, 0, -1, true)
	require.ErrorIs(t, err, storage.ErrMalformed)
}

func TestAPasswordIsNeverInAnError(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"/", "#", "?", "@", "%", "\\", " ", "//", "?a=", "#@", "/@?", "[", "\x7f"} {
		for _, scheme := range []string{"redis", "rediss", "unix", "http", "red is"} {
			for _, user := range []string{"", "us3r"} {
				url := scheme + "://" + user + ":77" + c + "s3cret@127.0.0.1:1/0"
				s, err := Open(url)
				if err == nil {
					err = s.Ping(t.Context())
					_ = s.Close()
				}
				require.Error(t, err, url)
				require.NotContains(t, err.Error(), "s3cret", url)
				require.NotContains(t, err.Error(), "77", url)
			}
		}
	}
}

func TestADeniedCommandOfAScriptIsNamed(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	require.NoError(t, c.Do(t.Context(), "acl", "setuser", "u", "on", ">p", "~*", "&*", "+@all", "-hset", "-hmset").Err())
	s, err := Open("redis://u:p@" + srv.Addr())
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	_, err = s.Add(t.Context(), "q", plainJobs(1))
	require.ErrorIs(t, err, storage.ErrNotPermitted)
	require.ErrorContains(t, err, "+h")
	require.ErrorContains(t, err, "docs/security.md")
	require.NoError(t, c.Do(t.Context(), "acl", "setuser", "u", "-evalsha", "-eval").Err())
	_, err = s.Add(t.Context(), "q", plainJobs(1))
	require.ErrorIs(t, err, storage.ErrNotPermitted)
	require.ErrorContains(t, err, "evalsha")
}

// TestCommandsOfScriptsAreKnown finds commands that rights.go does not list.
func TestCommandsOfScriptsAreKnown(t *testing.T) {
	t.Parallel()
	srv := testredis.Shared(t)
	c := srv.Client(t)
	words := map[string]bool{}
	for _, name := range scripts.Names() {
		for line := range strings.Lines(script(name).Source) {
			if scriptCalls.MatchString(line) {
				for _, m := range scriptCommand.FindAllStringSubmatch(line, -1) {
					words[strings.ToLower(m[1])] = true
				}
			}
		}
	}
	known := c.Command(t.Context()).Val()
	for w := range words {
		if _, isCommand := known[w]; isCommand {
			require.True(t, commands[w], w)
		}
	}
}

// A network that swallows connections costs one timeout, not one for each.
func TestOneTimeoutDropsAllIdleConnections(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	link := testredis.Proxy(t, srv.Addr())
	s, err := Open(link.URL() + "?read_timeout=2s&pool_size=20")
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	var all sync.WaitGroup
	srv.Pause() // so that all are needed at the same time
	for range 10 {
		all.Go(func() { _ = s.client.Ping(context.Background()).Err() })
	}
	require.Eventually(t, func() bool { open, _ := link.Connections(); return open >= 10 }, time.Minute, time.Millisecond)
	srv.Continue()
	all.Wait()
	require.NoError(t, s.Ping(t.Context()))
	before, _ := link.Connections()
	require.Greater(t, before, 3)
	link.Stall()
	require.Error(t, s.client.Ping(t.Context()).Err())
	link.Flow()
	require.Eventually(t, func() bool { open, _ := link.Connections(); return open < before-1 }, time.Minute, time.Millisecond,
		"the other idle connections are closed too")
	for range 10 {
		require.NoError(t, s.Ping(t.Context()))
	}
}

// fakeSentinel names a master, and knows no other sentinel.
type fakeSentinel struct {
	*testredis.Fake
	master atomic.Pointer[testredis.Server]
}

func newFakeSentinel(t *testing.T, master *testredis.Server) *fakeSentinel {
	s := &fakeSentinel{}
	s.names(master)
	s.Fake = testredis.StartFake(t, func(args []string) string {
		switch {
		case len(args) > 1 && strings.EqualFold(args[1], "get-master-addr-by-name"):
			host, port, _ := net.SplitHostPort(s.master.Load().Addr())
			return "*2\r\n$" + strconv.Itoa(len(host)) + "\r\n" + host + "\r\n$" + strconv.Itoa(len(port)) + "\r\n" + port + "\r\n"
		case strings.EqualFold(args[0], "sentinel"):
			return "*0\r\n"
		}
		return "+OK\r\n"
	})
	return s
}

func (s *fakeSentinel) names(master *testredis.Server) { s.master.Store(master) }

func (s *fakeSentinel) client(t *testing.T) *redis.Client {
	c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{s.Addr()}})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// After a planned failover the old master goes on to serve for some seconds, as a
// master that gets no jobs any more.
func TestAWaiterFollowsSentinelToTheNewMaster(t *testing.T) {
	t.Parallel()
	old, next := testredis.Start(t), testredis.Start(t)
	sentinel := newFakeSentinel(t, old)
	c := sentinel.client(t)
	s, err := New(c)
	require.NoError(t, err)
	w := s.NewWaiter("q", "w")
	defer func() { _ = w.Close() }()
	waited := make(chan error, 1)
	go func() {
		_, err := w.Wait(context.Background(), time.Hour)
		waited <- err
	}()
	blocked := func(srv *testredis.Server) func() bool {
		return func() bool {
			return strings.Contains(srv.Client(t).Info(context.Background(), "clients").Val(), "blocked_clients:1")
		}
	}
	require.Eventually(t, blocked(old), time.Minute, 10*time.Millisecond)
	sentinel.names(next)
	require.NoError(t, <-waited)
	go func() {
		_, err := w.Wait(context.Background(), time.Hour)
		waited <- err
	}()
	require.Eventually(t, blocked(next), time.Minute, 10*time.Millisecond)
	require.NoError(t, next.Client(t).ZAdd(t.Context(), "bull:q:marker", redis.Z{Member: "0"}).Err())
	require.NoError(t, <-waited)
}

// certificates writes a private authority, and what it signed for a server and a client.
func certificates(t *testing.T) (dir string, pool *x509.CertPool, client tls.Certificate) {
	t.Helper()
	dir = t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "private authority"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	write := func(name, kind string, der []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, &key.PublicKey, key)
	require.NoError(t, err)
	write("ca.pem", "CERTIFICATE", der)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	for i, name := range []string{"server", "client"} {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		leaf := &x509.Certificate{
			SerialNumber: big.NewInt(int64(2 + i)), Subject: pkix.Name{CommonName: name}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
		der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &own.PublicKey, key)
		require.NoError(t, err)
		private, err := x509.MarshalECPrivateKey(own)
		require.NoError(t, err)
		write(name+".pem", "CERTIFICATE", der)
		write(name+".key", "EC PRIVATE KEY", private)
	}
	client, err = tls.LoadX509KeyPair(filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key"))
	require.NoError(t, err)
	return dir, pool, client
}

func TestTLSWithAPrivateAuthorityAndClientCertificates(t *testing.T) {
	t.Parallel()
	dir, pool, cert := certificates(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	require.NoError(t, l.Close())
	in := func(name string) string { return filepath.Join(dir, name) }
	srv := testredis.Start(t, testredis.Args("--tls-port", port, "--tls-cert-file", in("server.pem"), "--tls-key-file", in("server.key"),
		"--tls-ca-cert-file", in("ca.pem"), "--tls-auth-clients", "yes"))
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port, TLSConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}}})
	defer func() { _ = c.Close() }()
	s, err := New(c)
	require.NoError(t, err)
	_, err = s.Add(t.Context(), "q", plainJobs(2))
	require.NoError(t, err)
	w := s.NewWaiter("q", "w")
	defer func() { _ = w.Close() }()
	_, err = w.Wait(t.Context(), time.Minute)
	require.NoError(t, err, "connections that block use the same certificates")

	for url, hint := range map[string]string{
		"redis://127.0.0.1:" + port:                        "if this port speaks TLS, use rediss://",
		"rediss://" + srv.Addr():                           "does it speak TLS",
		"rediss://127.0.0.1:" + port + "?dial_timeout=60s": "certificate",
	} {
		s, err := Open(url)
		require.NoError(t, err)
		err = s.Ping(t.Context())
		require.ErrorContains(t, err, hint, url)
		require.ErrorIs(t, err, storage.ErrUnavailable, url)
		_, err = s.Add(t.Context(), "q", plainJobs(1))
		require.ErrorIs(t, err, storage.ErrUnavailable, url)
		require.NoError(t, s.Close())
	}
}
