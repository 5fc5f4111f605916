package bullmq

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/wire"
)

func TestKeysOfScopes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 65) // 130 bytes
	sum := sha256.Sum256([]byte(long))
	for want, got := range map[string]string{
		"ship-order/42":                         JobIDIn("ship-order", 42),
		"ship-order/42,eu":                      DedupKeyIn("ship-order", "42", "eu"),
		`a\.b\/c/d/e`:                           JobIDIn("a:b/c", "d/e"),
		`s/a\,b,c\\d,e\.f,g\~h`:                 DedupKeyIn("s", "a,b", `c\d`, "e:f", "g~h"),
		"s/,":                                   JobIDIn("s", "", ""),
		"s/~":                                   JobIDIn("s", (*string)(nil)),
		"s/true,-7,1.5,0.1,1e+21,1e-7,1000000":  DedupKeyIn("s", true, -7, 1.5, float32(0.1), 1e21, 1e-7, 1e6),
		"s/0,2026-01-02T02\\.04\\.05.00000006Z": DedupKeyIn("s", math.Copysign(0, -1), time.Date(2026, 1, 2, 3, 4, 5, 60, time.FixedZone("", 3600))),
		"s/0.000001,9e-7,1e+21,1e-7":            DedupKeyIn("s", float32(1e-6), float32(9e-7), float32(1e21), float32(1e-7)),
		"s/~" + hex.EncodeToString(sum[:]):      JobIDIn("s", long),
		strings.Repeat("s", 300) + "/1":         JobIDIn(strings.Repeat("s", 300), 1),
		"":                                      JobIDIn("s", ""),
		emptyKey:                                DedupKeyIn("s", ""),
	} {
		require.Equal(t, want, got)
	}
}

// What the documentation gives as examples is what is made.
func TestKeysInTheDocumentation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/node.md")
	require.NoError(t, err)
	for _, key := range []string{
		JobIDIn("ship-order", "42"), DedupKeyIn("ship-order", "a,b", "eu"), JobIDIn("a:b", 7), JobIDIn("s", "", ""), JobIDIn("s", (*int)(nil)),
		JobIDIn("s", 1e21, 0.1, true), JobIDIn("s", time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))), JobIDIn("s", strings.Repeat("k", 129)),
	} {
		require.Contains(t, string(text), "| `"+key+"` |")
	}
}

// No two scopes and values have one text, and each text is a legal id.
func TestKeysDifferWhenScopesOrValuesDo(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "/", `\`, ",", ":", "~", ".", "0", "é", ""}
	text := func() string {
		var b strings.Builder
		for range r.IntN(4) {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		return b.String()
	}
	seen := map[string]string{}
	for range 50_000 {
		scope, values := text(), make([]any, 1+r.IntN(3))
		for i := range values {
			values[i] = text()
		}
		id := JobIDIn(scope, values...)
		if id == "" {
			continue
		}
		from, err := json.Marshal([]any{scope, values})
		require.NoError(t, err)
		if before, ok := seen[id]; ok {
			require.Equal(t, before, string(from), id)
		}
		seen[id] = string(from)
		var p problems
		p.addErr(wire.CheckID(id))
		require.NoError(t, p.err())
	}
}
