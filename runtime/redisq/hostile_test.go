package redisq

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// hostile makes replies of every shape.
type hostile struct{ *rand.Rand }

func (h hostile) reply(depth int) string {
	texts := []string{"", "0", "1", "-1", "-3", "2", "99999999999999999999", "1.5", "NaN", "x", "r", "o", "l", "d", "\xff\x00", "{}", "[", "null", "0:1", "1-0"}
	text := texts[h.IntN(len(texts))]
	switch h.IntN(12) {
	case 0:
		return fmt.Sprintf(":%d\r\n", h.Int64N(7)-3)
	case 1:
		return fmt.Sprintf(":%d\r\n", h.Uint64())
	case 2:
		return "$-1\r\n"
	case 3:
		return "*-1\r\n"
	case 4:
		return "*0\r\n"
	case 5:
		return "+" + strings.Trim(text, "\x00") + "\r\n"
	case 6:
		return "-ERR " + text + "\r\n"
	case 7:
		return "?" + text + "\r\n"
	case 8, 9:
		return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
	}
	if depth == 0 {
		return ":1\r\n"
	}
	n := h.IntN(8)
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", n)
	for range n {
		b.WriteString(h.reply(depth - 1))
	}
	return b.String()
}

// TestRepliesOfAnyShapeAreNoPanic answers every operation with random replies: an
// operation ends without a panic, and its error has a kind or names a refusal. An
// answer to a write that makes no sense is never said to have written nothing.
func TestRepliesOfAnyShapeAreNoPanic(t *testing.T) {
	t.Parallel()
	const rounds = 60
	for i, op := range everyCall() {
		t.Run(fmt.Sprint(op.method, i), func(t *testing.T) {
			t.Parallel()
			h := hostile{rand.New(rand.NewPCG(uint64(i), 1))}
			var mu sync.Mutex
			calls := 0
			f := testredis.StartFake(t, func(args []string) string {
				if strings.EqualFold(args[0], "info") {
					return "-ERR unknown command\r\n"
				}
				mu.Lock()
				defer mu.Unlock()
				if calls++; calls > 200 { // a step that asks for ever is ended
					return ""
				}
				return h.reply(3)
			})
			for n := range rounds {
				mu.Lock()
				calls = 0
				mu.Unlock()
				s, err := Open(f.URL()+"?protocol=2&read_timeout=200ms", Logger(slog.New(slog.DiscardHandler)))
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				err = op.call(ctx, s)
				cancel()
				_ = s.Close()
				require.True(t, isDocumented(err), "round %d: %v", n, err)
				if op.effect >= sets {
					require.NotErrorIs(t, err, storage.ErrInvalid, "round %d", n)
					require.NotErrorIs(t, err, storage.ErrUnavailable, "round %d", n)
				}
			}
		})
	}
}
