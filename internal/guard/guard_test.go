package guard_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
)

func TestCallMakesAnErrorOfAPanic(t *testing.T) {
	t.Parallel()
	var p *guard.Panic
	err := guard.Call("the key", func() error { panic("no") })
	require.ErrorAs(t, err, &p)
	require.EqualError(t, err, "the key panicked: no")
	require.Contains(t, guard.StackOf(err), "guard_test.go")
	own := errors.New("own")
	require.Equal(t, own, guard.Call("", func() error { return own }))
	require.Empty(t, guard.StackOf(own))
}

func TestApartMakesAnErrorOfAnythingButAReturn(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	require.NoError(t, guard.Apart("f", func() error { return nil }))
	require.Equal(t, own, guard.Apart("f", func() error { return own }))
	require.EqualError(t, guard.Apart("f", func() error { panic(own) }), "f panicked: own")
	require.EqualError(t, guard.Apart("f", func() error { runtime.Goexit(); return nil }), "f ended its goroutine with runtime.Goexit")
	require.ErrorContains(t, guard.Apart("f", func() error { panic(nil) }), "f panicked")
}

// silent is an error whose text cannot be had.
type silent struct{ how func() }

func (s silent) Error() string { s.how(); return "never" }

func TestTextOfAnErrorThatHasNone(t *testing.T) {
	t.Parallel()
	require.Equal(t, "x", guard.Text(errors.New("x")))
	require.Contains(t, guard.Text(silent{func() { panic("no") }}), "guard_test.silent panicked: no")
	require.Contains(t, guard.Text(silent{runtime.Goexit}), "ended its goroutine")
	require.Contains(t, guard.Apart("f", func() error { panic(silent{runtime.Goexit}) }).Error(), "without text")
}

// rude is a handler of log lines that does not return.
type rude struct {
	slog.Handler
	how func()
}

func (r rude) Handle(context.Context, slog.Record) error { r.how(); return nil }
func (r rude) WithAttrs([]slog.Attr) slog.Handler        { r.how(); return r }
func (r rude) WithGroup(string) slog.Handler             { r.how(); return r }

func TestLoggerGoesOn(t *testing.T) {
	t.Parallel()
	require.Nil(t, guard.Logger(nil))
	for _, how := range []func(){func() { panic("no") }, runtime.Goexit} {
		l := guard.Logger(slog.New(rude{slog.NewTextHandler(io.Discard, nil), how}))
		l.With("a", 1).WithGroup("g").Error("x")
		require.Equal(t, l, guard.Logger(l))
	}
}
