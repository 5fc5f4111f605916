// Command gopeer is a peer with this module's own runtime, driven by lines of
// JSON: the very protocol that the Node peers speak (see ../README.md).
//
//	gopeer -redis URL [-prefix P] [-peers5]
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	url := flag.String("redis", "", "URL of Redis")
	prefix := flag.String("prefix", redisq.DefaultPrefix, "what all keys begin with")
	peers5 := flag.Bool("peers5", false, "5.x peers pause and resume the queues")
	flag.Parse()

	p := &peer{
		prefix: *prefix, out: newWriter(os.Stdout), holds: newHolds(),
		workers: map[string]*worker{}, manuals: map[string]*manual{}, held: map[jobKey]*heldJob{}, readers: map[string]func(){},
	}
	opts := []redisq.Option{redisq.Prefix(*prefix), redisq.Clock(p.clock.now)}
	if *peers5 {
		opts = append(opts, redisq.Peers5())
	}
	store, done, err := open(*url, opts)
	if err != nil {
		return err
	}
	defer done()
	p.store = store
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if p.client, err = bullmq.NewClient(joined{store}, bullmq.WithLogger(log), bullmq.WithClock(p.clock.now)); err != nil {
		return err
	}
	defer func() { _ = p.client.Close() }()
	return p.serve(os.Stdin)
}

// open opens the storage; a URL with further nodes, as in
// redis://host:1?addr=host:2, is that of a cluster.
func open(url string, opts []redisq.Option) (store *redisq.Store, done func(), err error) {
	if !strings.Contains(url, "addr=") {
		store, err = redisq.Open(url, opts...)
		return store, func() { _ = store.Close() }, err
	}
	o, err := redis.ParseClusterURL(url)
	if err != nil {
		return nil, nil, err
	}
	client := redis.NewClusterClient(o)
	store, err = redisq.New(client, opts...)
	return store, func() { _, _ = store.Close(), client.Close() }, err
}
