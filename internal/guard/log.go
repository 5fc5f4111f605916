package guard

import (
	"context"
	"log/slog"
)

// Logger returns a logger that writes through l's handler and goes on when that
// panics or ends its goroutine: what it was to write is then lost.
func Logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return nil
	}
	if _, guarded := l.Handler().(handler); guarded {
		return l
	}
	return slog.New(handler{l.Handler()})
}

type handler struct{ h slog.Handler }

// Enabled implements [slog.Handler].
func (g handler) Enabled(ctx context.Context, level slog.Level) (on bool) {
	_ = Apart("", func() error { on = g.h.Enabled(ctx, level); return nil })
	return on
}

// Handle implements [slog.Handler].
func (g handler) Handle(ctx context.Context, r slog.Record) error {
	return Apart("the logger", func() error { return g.h.Handle(ctx, r) })
}

// WithAttrs implements [slog.Handler].
func (g handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	made := g.h
	_ = Apart("", func() error { made = g.h.WithAttrs(attrs); return nil })
	return handler{made}
}

// WithGroup implements [slog.Handler].
func (g handler) WithGroup(name string) slog.Handler {
	made := g.h
	_ = Apart("", func() error { made = g.h.WithGroup(name); return nil })
	return handler{made}
}
