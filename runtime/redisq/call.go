package redisq

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/scripts"
)

// loaded holds the assembled scripts by name.
var loaded sync.Map

func script(name string) *scripts.Script {
	if s, ok := loaded.Load(name); ok {
		return s.(*scripts.Script)
	}
	s, _ := loaded.LoadOrStore(name, scripts.Load(name))
	return s.(*scripts.Script)
}

// once is a command that go-redis must not send again by itself: it retries
// others even when the first sending may have been carried out.
type once struct{ redis.Cmder }

// NoRetry is asked by go-redis before it sends a command again.
func (once) NoRetry() bool { return true }

// run runs a script on a queue and returns its reply, a flat list: numbers come
// as decimal text, nil as "". Args are strings, *string, []byte or integers
// (never floats). See the package's comment for what is tried again.
func (s *Store) run(ctx context.Context, name, queue string, args ...any) ([]string, error) {
	cmd, err := runAs(ctx, s, redis.NewStringSliceCmd, name, queue, args)
	if err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}

// runInt runs a script whose reply is one number.
func (s *Store) runInt(ctx context.Context, name, queue string, args ...any) (int64, error) {
	cmd, err := runAs(ctx, s, redis.NewIntCmd, name, queue, args)
	if err != nil {
		return 0, err
	}
	return cmd.Val(), nil
}

// runAs runs a script and reads its reply as a command of the type that make
// returns, such as redis.NewStringSliceCmd.
func runAs[C redis.Cmder](ctx context.Context, s *Store, make func(context.Context, ...any) C, name, queue string, args []any) (C, error) {
	return runWith(ctx, s, make, name, queue, withHead(args))
}

// runWith is runAs for arguments that begin with headArgs free places.
func runWith[C redis.Cmder](ctx context.Context, s *Store, make func(context.Context, ...any) C, name, queue string, args []any) (C, error) {
	b, err := s.base(queue)
	if err != nil {
		var none C
		return none, err
	}
	return runReady(ctx, s, make, name, b, args)
}

// runAt is runAs for a queue whose keys begin with b.
func runAt[C redis.Cmder](ctx context.Context, s *Store, make func(context.Context, ...any) C, name, b string, args []any) (C, error) {
	return runReady(ctx, s, make, name, b, withHead(args))
}

// changesNothing are the scripts that only read: one may be sent again after its
// answer was lost.
var changesNothing = map[string]bool{"listjobs": true}

// runReady is runWith for a queue whose keys begin with b.
func runReady[C redis.Cmder](ctx context.Context, s *Store, make func(context.Context, ...any) C, name, b string, args []any) (C, error) {
	sc := s.script(name)
	var cmd C
	err := s.retry(ctx, func() (bool, error) {
		m := &mark{text: s.mode}
		cmd = make(ctx, s.scriptArgs("evalsha", sc.SHA, b, m, args)...)
		err := s.process(ctx, once{cmd})
		if isNoScript(err) { // it did not run: the server forgot it, or never knew it
			m.sent = false
			cmd = make(ctx, s.scriptArgs("eval", sc.Source, b, m, args)...)
			err = s.process(ctx, once{cmd})
		}
		return m.sent && !changesNothing[name], err
	})
	if err != nil {
		err = s.nameForeign(ctx, nameDenied(err, sc), b, args)
	}
	return cmd, err
}

// headArgs is the most that stands before a script's own arguments: the command
// and the script, the number of keys and the keys, the queue's base and the mode.
const headArgs = 7

// withHead leaves room for what stands before the arguments.
func withHead(args []any) []any {
	return append(make([]any, headArgs, headArgs+len(args)), args...)
}

// scriptArgs makes up a call in args, which begin with headArgs free places. The keys that a script touches are not known
// before it runs; one key of the queue tells a cluster where it belongs. While
// a cluster moves a slot it would run the script, which then fails at the first
// key that is moved, with half of its work done. Two keys of which one never
// exists make it answer TRYAGAIN instead, until the slot is moved.
func (s *Store) scriptArgs(verb, what, b string, m *mark, args []any) []any {
	if s.cluster {
		_ = append(args[:0], verb, what, "2", b+"meta", b, b, m)
		return args
	}
	args = args[1:]
	_ = append(args[:0], verb, what, "1", b+"meta", b, m)
	return args
}

// mark is an argument that knows whether it was written to a connection, or
// into the buffer of one: before that, the server cannot have seen the command.
type mark struct {
	text string
	sent bool
}

// MarshalBinary is called by go-redis when it writes the command.
func (m *mark) MarshalBinary() ([]byte, error) {
	m.sent = true
	return []byte(m.text), nil
}

// send sends one plain command that changes something. It is never sent again
// after it may have reached the server.
func (s *Store) send(ctx context.Context, cmd redis.Cmder) error {
	return namedIn(s.retry(ctx, func() (bool, error) {
		err := s.process(ctx, once{cmd})
		return err != nil && !isDial(err), err
	}), cmd)
}

// read sends commands that change nothing in one round trip, and sends them
// again when the connection broke. An error of a single command stays with it;
// what is returned is that of the connection, or of the first command that
// failed, but not redis.Nil.
func (s *Store) read(ctx context.Context, cmds ...redis.Cmder) error {
	return namedIn(s.retry(ctx, func() (bool, error) {
		if len(cmds) == 1 {
			return false, noNil(s.process(ctx, cmds[0]))
		}
		pipe := s.client.Pipeline()
		for _, c := range cmds {
			_ = pipe.Process(ctx, c) // queues it only
		}
		_, err := exec(ctx, pipe)
		if errors.Is(err, redis.Nil) {
			err = nil
			for _, c := range cmds {
				if err = noNil(c.Err()); err != nil {
					break
				}
			}
		}
		return false, err
	}), cmds...)
}

func noNil(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

const (
	retryWithin = time.Second           // no new try is begun later
	retryFirst  = 10 * time.Millisecond // the first pause, each next one is four times as long
	retryTimes  = 4
)

// retry makes a try, and makes it again while it is certain that it had no
// effect and there is hope. A try tells whether its request may have been sent.
func (s *Store) retry(ctx context.Context, try func() (sent bool, err error)) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if !s.calls.begin() {
		return explain(redis.ErrClosed)
	}
	defer s.calls.end()
	if err := s.meet(ctx); err != nil {
		return err
	}
	return s.again(ctx, try)
}

// again makes a try, and makes it again as retry says.
func (s *Store) again(ctx context.Context, try func() (sent bool, err error)) error {
	began, pause := time.Now(), retryFirst
	for n := 1; ; n++ {
		sent, err := try()
		if err == nil {
			return nil
		}
		harmless := isRefusal(err) || !sent && isConnection(err)
		if !harmless || n == retryTimes || time.Since(began) > retryWithin {
			return verdict(ctx, sent, err)
		}
		if c, ok := s.client.(*redis.ClusterClient); ok {
			c.ReloadState(ctx) // another node may have taken over
		}
		s.log.DebugContext(ctx, "bullmq: redis: trying again", "try", n+1, "error", err)
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return explain(err)
		case <-s.calls.ending:
			timer.Stop()
			return explain(err)
		case <-timer.C:
		}
		pause *= 4
	}
}

// verdict is the error of a try after which there is no other. Sent: its request
// may have reached the server.
func verdict(ctx context.Context, sent bool, err error) error {
	switch {
	case errors.Is(err, redis.Nil): // reads take it for an answer, and are not here
		return unreadable(errors.New("bullmq: redis: the server answered nothing"))
	case sent && !isReply(err):
		return uncertain(err)
	case isDone(err) && ctx.Err() == nil:
		return silent(err)
	}
	return explain(err)
}
