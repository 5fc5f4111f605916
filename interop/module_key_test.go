package interop

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/interop/gen"
	"github.com/bullmq-gen/bullmq-gen/interop/tasks"
)

// keysOfGo are random payloads with the ids that Go gives to their jobs.
type keysOfGo struct{ r *rand.Rand }

// text is full of what has a meaning in keys, and sometimes long.
func (k keysOfGo) text() string {
	alphabet := []string{"a", "/", `\`, ",", ":", "~", ".", "0", "é", "日", "😀", "\u2028", `"`, " ", "\n", ""}
	var b strings.Builder
	for range k.r.IntN(1 + k.r.IntN(6)*k.r.IntN(20)) {
		b.WriteString(alphabet[k.r.IntN(len(alphabet))])
	}
	return b.String()
}

// whole is an integer that JavaScript holds.
func (k keysOfGo) whole() int64 {
	n := k.r.Int64N(1 << (1 + k.r.IntN(53)))
	if k.r.IntN(2) == 0 {
		return -n
	}
	return n
}

// float is any finite number of all sizes, and often one at which the form of its
// text changes.
func (k keysOfGo) float() float64 {
	switch k.r.IntN(4) {
	case 0:
		special := []float64{0, math.Copysign(0, -1), 1e21, 1e-6, 1e-7, math.MaxFloat64, math.SmallestNonzeroFloat64, 123456789, 0.1}
		return special[k.r.IntN(len(special))]
	case 1:
		return math.Ldexp(1, k.r.IntN(2000)-1000)
	}
	for {
		if f := math.Float64frombits(k.r.Uint64()); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		}
	}
}

func (k keysOfGo) float32() float32 {
	switch k.r.IntN(4) {
	case 0:
		special := []float32{0, 1e21, 1e-6, 1e-7, 9e-7, math.MaxFloat32, math.SmallestNonzeroFloat32, 16777216, 0.1, 1.0 / 3}
		return special[k.r.IntN(len(special))]
	case 1:
		return float32(math.Ldexp(1, k.r.IntN(276)-149))
	}
	for {
		if f := math.Float32frombits(k.r.Uint32()); f == f && !math.IsInf(float64(f), 0) {
			return f
		}
	}
}

// time is in a year of four digits, in its own zone at least.
func (k keysOfGo) time() time.Time {
	zone := time.FixedZone("", (k.r.IntN(28*60)-14*60)*60)
	nanos := []int{0, 1, 500_000_000, 120_000, k.r.IntN(1_000_000_000)}
	year := []int{0, 1, 99, 1969, 2026, 9999, k.r.IntN(10_000)}
	return time.Date(year[k.r.IntN(len(year))], time.Month(1+k.r.IntN(12)), 1+k.r.IntN(28), k.r.IntN(24), k.r.IntN(60), k.r.IntN(60), nanos[k.r.IntN(len(nanos))], zone)
}

// orNil is a value or none.
func orNil[T any](k keysOfGo, value func() T) *T {
	if k.r.IntN(3) == 0 {
		return nil
	}
	v := value()
	return &v
}

func (k keysOfGo) payload() tasks.Keys {
	p := tasks.Keys{
		Common: tasks.Common{Tenant: k.text()}, Text: k.text(), Quoted: k.text(), Yes: k.r.IntN(2) == 0, Yes2: k.r.IntN(2) == 0,
		I8: int8(k.r.Int32()), I64: k.whole(), Big: int64(k.r.Uint64()), U64: k.r.Uint64(), F32: k.float32(), F64: k.float(), F64s: k.float(),
		Maybe: orNil(k, k.text), Number: orNil(k, k.whole), Ratio: orNil(k, k.float32), Until: orNil(k, k.time), Price: tasks.Cents(k.whole() % 1e9),
		Hidden: orNil(k, k.r.Uint64), Odd: k.text(),
	}
	if k.r.IntN(3) > 0 {
		p.City, p.At = k.text(), k.time()
	}
	return p
}

// The module makes the ids that Go makes, of random values of every type that can
// be part of a key.
func TestModuleKeysAreThoseOfGo(t *testing.T) {
	t.Parallel()
	eachTypedFlow(t, func(f *typedFlow) {
		seed := uint64(time.Now().UnixNano())
		k := keysOfGo{rand.New(rand.NewPCG(seed, 0))}
		f.Logf("seed %d", seed)
		const n = 3000
		payloads, args := make([]tasks.Keys, n), make([][]any, n)
		for i := range payloads {
			p := k.payload()
			keys := Args{"Price": int64(p.Price), "Hidden": nil}
			if p.Hidden != nil {
				keys["Hidden"] = strconv.FormatUint(*p.Hidden, 10) // a number is rounded; a program writes a bigint
			}
			text, err := json.Marshal(p)
			require.NoError(f, err)
			payloads[i], args[i] = p, []any{json.RawMessage(text), Args{"keys": keys}}
		}
		handles, err := gen.EnqueueManyKeys(f.ctx, f.client, payloads)
		require.NoError(f, err)
		made := ask[[]struct{ JobID, DeduplicationID string }](f.module(gen.KeysQueue), "task.readMany", Args{
			"task": "keysTask", "members": []string{"jobId", "deduplicationId"}, "list": args,
		})
		for i, h := range handles {
			require.Equal(f, h.ID, made[i].JobID, "%s", args[i][0])
			dedup, err := f.rdb.HGet(f.ctx, "bull:keys:"+h.ID, "deid").Result()
			require.NoError(f, err)
			if !h.Existing {
				require.Equal(f, dedup, made[i].DeduplicationID, "%s", args[i])
			}
		}
	})
}
