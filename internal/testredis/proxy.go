package testredis

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Link is a TCP proxy in front of a server. What a test does to it happens to
// all connections through it.
type Link struct {
	listener net.Listener
	target   string

	mu      sync.Mutex
	conns   map[*pair]struct{}
	open    chan struct{} // closed while bytes may flow
	stalled bool
	refuse  bool
	delay   time.Duration
	match   []byte // of the request whose answer is to be dropped; nil: none
	nth     int    // of the requests from now on, the one whose answer is to be dropped; 0: none
	asked   int    // requests so far
	dropped int
	total   int
	wg      sync.WaitGroup
}

// pair is a client's connection and the one to the server behind it.
type pair struct {
	client, server net.Conn
	ctx            context.Context
	cancel         context.CancelFunc

	mu   sync.Mutex
	drop bool // the next bytes of the server are dropped, and the connection with them
}

// Proxy starts a proxy to target ("host:port") until the end of the test.
func Proxy(t testing.TB, target string) *Link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	open := make(chan struct{})
	close(open)
	l := &Link{listener: listener, target: target, conns: map[*pair]struct{}{}, open: open}
	l.wg.Add(1)
	go l.accept()
	t.Cleanup(func() {
		_ = listener.Close()
		l.Cut()
		l.wg.Wait()
	})
	return l
}

// Addr is the proxy's "host:port", to be given to a client.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// URL is the proxy's address as a URL.
func (l *Link) URL() string { return "redis://" + l.Addr() }

// Cut closes all connections there are. New ones are accepted.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.conns {
		p.close()
	}
}

// Refuse makes new connections end at once, until it is called with false.
func (l *Link) Refuse(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = on
}

// Stall lets no byte through, in either direction, until Flow: connections
// stay open and are silent, as half-open ones are.
func (l *Link) Stall() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stalled {
		l.stalled, l.open = true, make(chan struct{})
	}
}

// Flow ends Stall. What was held back is delivered.
func (l *Link) Flow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stalled {
		l.stalled = false
		close(l.open)
	}
}

// Delay holds each piece of data back for d, in each direction.
func (l *Link) Delay(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = d
}

// DropReply loses the answer to the next request whose bytes contain match
// (any request when it is empty): the server gets the request, the client gets
// a closed connection. It happens once; see Dropped.
func (l *Link) DropReply(match string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.match = []byte(match)
}

// DropNthReply loses the answer to the nth request from now on, as DropReply does:
// 1 is the next one. A request is what a client sends before it waits for an
// answer: a command, or a pipeline.
func (l *Link) DropNthReply(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nth = n
}

// Requests is how many requests were sent so far, on all connections.
func (l *Link) Requests() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// Dropped is how many answers were lost so far.
func (l *Link) Dropped() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

// Connections is how many connections are open, and how many there were in all.
func (l *Link) Connections() (open, total int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns), l.total
}

func (l *Link) accept() {
	defer l.wg.Done()
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.wg.Add(1)
		go l.serve(client)
	}
}

func (l *Link) serve(client net.Conn) {
	defer l.wg.Done()
	p := &pair{client: client}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	defer p.close()
	if !l.add(p) {
		return
	}
	defer l.remove(p)
	var done sync.WaitGroup
	done.Go(func() { l.pump(p, p.client, p.server, l.request) })
	done.Go(func() { l.pump(p, p.server, p.client, l.reply) })
	done.Wait()
}

// add connects to the server and counts the connection; false: it is refused.
func (l *Link) add(p *pair) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse {
		return false
	}
	server, err := net.Dial("tcp", l.target)
	if err != nil {
		return false
	}
	p.server = server
	l.conns[p] = struct{}{}
	l.total++
	return true
}

func (l *Link) remove(p *pair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, p)
}

// pump carries bytes one way until either side ends. Pass sees each piece and
// says whether it goes on.
func (l *Link) pump(p *pair, from, to net.Conn, pass func(*pair, []byte) bool) {
	defer p.close()
	buf := make([]byte, 256<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !l.await(p.ctx) || !pass(p, buf[:n]) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// await waits until bytes may flow; false: the connection ended meanwhile.
func (l *Link) await(ctx context.Context) bool {
	l.mu.Lock()
	open, delay := l.open, l.delay
	l.mu.Unlock()
	if delay > 0 {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(delay):
		}
	}
	select {
	case <-ctx.Done():
		return false
	case <-open:
		return true
	}
}

func (l *Link) request(p *pair, data []byte) bool {
	l.mu.Lock()
	l.asked++
	hit := l.match != nil && bytes.Contains(data, l.match)
	if hit {
		l.match = nil
	}
	if l.nth > 0 {
		l.nth--
		hit = hit || l.nth == 0
	}
	l.mu.Unlock()
	if hit {
		p.mu.Lock()
		p.drop = true
		p.mu.Unlock()
	}
	return true
}

func (l *Link) reply(p *pair, _ []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drop {
		l.mu.Lock()
		l.dropped++
		l.mu.Unlock()
	}
	return !p.drop
}

func (p *pair) close() {
	p.cancel()
	_ = p.client.Close()
	if p.server != nil {
		_ = p.server.Close()
	}
}
