package bullmq

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/internal/engine/outage"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// watcher reads the events of one queue for all results that are waited for.
// It runs while somebody waits, and ends a while after the last one left.
type watcher struct {
	client *Client
	queue  string
	cancel context.CancelFunc
	ended  chan struct{} // closed when it reads no more; err says why
	err    error
	begun  chan struct{} // closed when its place in the events is known

	mu   sync.Mutex
	subs map[string][]chan storage.Finish
	idle time.Time // since when nobody waits
}

// linger is how long a watcher goes on when nobody waits: the next one then
// finds its connection open.
const linger = 15 * time.Second

// eventBlock is how long one read of the events waits.
const eventBlock = 5 * time.Second

// watch returns the watcher of a queue, and starts it if there is none.
func (c *Client) watch(queue string) (*watcher, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if w := c.watchers[queue]; w != nil {
		w.touch()
		return w, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{
		client: c, queue: queue, cancel: cancel, subs: map[string][]chan storage.Finish{},
		ended: make(chan struct{}), begun: make(chan struct{}), idle: time.Now(),
	}
	c.watchers[queue] = w
	go w.run(ctx)
	return w, nil
}

// ready waits until events from now on are seen.
func (w *watcher) ready(ctx context.Context) error {
	select {
	case <-w.begun:
		return nil
	case <-w.ended:
		return w.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *watcher) touch() {
	w.mu.Lock()
	w.idle = time.Now()
	w.mu.Unlock()
}

// subscribe returns a channel that gets how the job finished. An empty state
// says: look yourself, something happened to it.
func (w *watcher) subscribe(id string) chan storage.Finish {
	ch := make(chan storage.Finish, 1)
	w.mu.Lock()
	w.subs[id] = append(w.subs[id], ch)
	w.mu.Unlock()
	return ch
}

func (w *watcher) unsubscribe(id string, ch chan storage.Finish) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = time.Now()
	rest := w.subs[id][:0]
	for _, s := range w.subs[id] {
		if s != ch {
			rest = append(rest, s)
		}
	}
	if len(rest) == 0 {
		delete(w.subs, id)
		return
	}
	w.subs[id] = rest
}

// expired ends the watcher when nobody waited for a while. It is decided under
// the client's lock, where watch finds watchers.
func (w *watcher) expired() bool {
	w.client.mu.Lock()
	defer w.client.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.subs) > 0 || time.Since(w.idle) < linger {
		return false
	}
	if w.client.watchers[w.queue] == w {
		delete(w.client.watchers, w.queue)
	}
	return true
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.ended)
	defer w.cancel()
	w.err = ErrClosed
	cursor, ok := w.begin(ctx)
	if !ok {
		return
	}
	close(w.begun)
	back := &outage.Backoff{}
	for ctx.Err() == nil && !w.expired() {
		events, err := w.client.store.ReadEvents(ctx, w.queue, cursor, eventBlock)
		if err != nil {
			if !w.failed(ctx, back, err) {
				return
			}
			continue
		}
		if back.Reset() {
			w.wakeAll() // what happened meanwhile may be trimmed by now
		}
		for _, e := range events {
			w.dispatch(e)
			cursor = e.Cursor
		}
	}
}

// begin finds the place from which to read, however long the storage is away.
func (w *watcher) begin(ctx context.Context) (string, bool) {
	back := &outage.Backoff{}
	for ctx.Err() == nil {
		cursor, err := w.client.store.LastEvent(ctx, w.queue)
		if err == nil {
			return cursor, true
		}
		if !w.failed(ctx, back, err) {
			return "", false
		}
	}
	return "", false
}

// failed logs that a read failed, an outage once, and waits before the next.
// False: there is no next one, since the client or the storage is closed.
func (w *watcher) failed(ctx context.Context, back *outage.Backoff, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	if errors.Is(err, storage.ErrClosed) {
		w.err = err
		return false
	}
	if back.IsNews(err) {
		w.client.log.WarnContext(ctx, "bullmq: reading events failed, will try again", "queue", w.queue, "error", err)
	}
	back.Wait(ctx)
	return true
}

func (w *watcher) dispatch(e storage.Event) {
	var fin storage.Finish
	switch e.Name {
	case "completed":
		fin = storage.Finish{State: storage.StateCompleted, Value: []byte(e.Fields["returnvalue"])}
	case "failed":
		fin = storage.Finish{State: storage.StateFailed, Reason: e.Fields["failedReason"]}
	case "removed":
	default:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ch := range w.subs[e.Fields["jobId"]] {
		offer(ch, fin)
	}
}

// wakeAll makes everybody look again.
func (w *watcher) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, subs := range w.subs {
		for _, ch := range subs {
			offer(ch, storage.Finish{})
		}
	}
}

// offer leaves the newest word in the channel without waiting for its reader.
func offer(ch chan storage.Finish, fin storage.Finish) {
	select {
	case ch <- fin:
	default:
		select {
		case <-ch:
		default:
		}
		select {
		case ch <- fin:
		default:
		}
	}
}

func (w *watcher) stop() {
	w.cancel()
	<-w.ended
}
