package bullmq

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// sum has a field with methods that have pointer receivers.
type sum struct {
	Total big.Int            `json:"total"`
	Parts map[string]big.Int `json:"parts"`
}

func TestResultsPassedByValueAreEncodedWhole(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Start(t))
	task := NewTask[sum, sum](Spec{Queue: k.queue, Name: "sum"}, nil)
	w, err := NewWorker(k.client, k.queue)
	require.NoError(t, err)
	task.Handle(w, func(_ context.Context, job *Job[sum]) (sum, error) {
		part := job.Data.Parts["a"]
		total := new(big.Int).Add(&job.Data.Total, &part)
		kept, err := Step(k.ctx, job, "kept", func(context.Context) (sum, error) { return sum{Total: *total}, nil })
		if err == nil {
			err = job.UpdateProgress(k.ctx, kept)
		}
		return kept, err
	})
	require.NoError(t, w.Start(k.ctx))
	t.Cleanup(func() { _ = w.Stop(context.Background()) })
	h, err := task.Add(k.ctx, k.client, sum{*big.NewInt(3), map[string]big.Int{"a": *big.NewInt(4)}})
	require.NoError(t, err)
	got, err := h.Result(k.ctx)
	require.NoError(t, err)
	require.Equal(t, "7", got.Total.String())
	r := k.record(h.ID)
	require.Equal(t, `{"total":3,"parts":{"a":4}}`, string(r.Data))
	require.Equal(t, `{"total":7,"parts":null}`, string(r.Progress))
	require.Equal(t, `{"total":7,"parts":null}`, string(r.ReturnValue))
}

// moody encodes itself as its function says.
type moody struct{ do func() ([]byte, error) }

func (m moody) MarshalJSON() ([]byte, error) { return m.do() }
func (m *moody) UnmarshalJSON([]byte) error  { return nil }

func panics() ([]byte, error) { panic("oh") }
func leaves() ([]byte, error) { runtime.Goexit(); return nil, nil }
func sulks() ([]byte, error)  { return nil, errors.New("no mood") }
func lies() ([]byte, error)   { return []byte("{"), nil }

// Whatever a method of the user's does: it is an error where it is called.
func TestMethodsThatDoNotEncode(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Start(t))
	task := NewTask[moody, moody](Spec{Queue: k.queue, Name: "moody"}, nil)
	for want, do := range map[string]func() ([]byte, error){
		"at $: MarshalJSON of bullmq.moody panicked: oh":         panics,
		"at $: MarshalJSON of bullmq.moody: no mood":             sulks,
		"at $: MarshalJSON of bullmq.moody: the JSON is cut off": lies,
	} {
		m := moody{do}
		_, err := task.Add(k.ctx, k.client, m)
		require.ErrorContains(t, err, want)
		_, err = task.AddMany(k.ctx, k.client, []moody{m})
		require.ErrorContains(t, err, want)
		_, err = k.client.AddFlows(k.ctx, task.Node(m), NewNode("q", "n", map[string]any{"m": m}))
		require.ErrorContains(t, err, want)
		q := k.client.Queue(k.queue.Name)
		_, err = q.Add(k.ctx, "n", m)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, q.UpdateData(k.ctx, "1", m), want)
		require.ErrorContains(t, q.UpdateProgress(k.ctx, "1", m), want)
		_, err = Envelope("$m", []any{m})
		require.ErrorContains(t, err, want[4:])
	}
	require.Empty(t, k.server.Client(t).Keys(k.ctx, "*").Val(), "nothing was written")
}

// The work is done: the job fails once, whatever its attempts.
func TestResultsThatAreNotEncodedFailTheJobPermanently(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Start(t))
	task := NewTask[string, moody](Spec{Queue: k.queue, Name: "moody", Attempts: 5}, nil)
	w, err := NewWorker(k.client, k.queue)
	require.NoError(t, err)
	task.Handle(w, func(ctx context.Context, job *Job[string]) (moody, error) {
		m := moody{map[string]func() ([]byte, error){"panics": panics, "leaves": leaves, "sulks": sulks, "lies": lies}[job.Data]}
		if job.Data == "steps" {
			_, err := Step(ctx, job, "s", func(context.Context) (moody, error) { return moody{leaves}, nil })
			return m, err
		}
		return m, nil
	})
	require.NoError(t, w.Start(k.ctx))
	t.Cleanup(func() { _ = w.Stop(context.Background()) })
	for data, want := range map[string]string{
		"panics": "at $: MarshalJSON of bullmq.moody panicked: oh",
		"leaves": "the handler ended its goroutine with runtime.Goexit, in a method or codec that encodes a result",
		"sulks":  "at $: MarshalJSON of bullmq.moody: no mood",
		"lies":   "at $: MarshalJSON of bullmq.moody: the JSON is cut off",
		"steps":  "the handler ended its goroutine with runtime.Goexit, in a method or codec that encodes a result",
	} {
		h, err := task.Add(k.ctx, k.client, data)
		require.NoError(t, err)
		_, err = h.Result(k.ctx)
		require.ErrorContains(t, err, want)
		r := k.record(h.ID)
		require.Equal(t, 1, r.AttemptsMade)
		require.Contains(t, r.FailedReason, want)
		if data == "panics" {
			require.Contains(t, string(r.Stack), "encode_test.go", "the stack of the panic")
		}
	}
}

// A whole float64 is exact in JavaScript, an integer of that size is not.
func TestNumbersBeyondJavaScriptsIntegers(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Start(t))
	type payload struct {
		F     float64         `json:"f"`
		Items []item          `json:"items"`
		Raw   json.RawMessage `json:"raw"`
	}
	task := NewTask[payload, None](Spec{Queue: k.queue, Name: "numbers"}, nil)
	h, err := task.Add(k.ctx, k.client, payload{F: 1e16, Raw: json.RawMessage(`9007199254740992`)})
	require.NoError(t, err)
	require.Equal(t, `{"f":10000000000000000,"items":null,"raw":9007199254740992}`, string(k.record(h.ID).Data))
	for want, p := range map[string]payload{
		"at $.items[1].id: integer 9007199254740992 is beyond 2^53": {Items: []item{{1}, {1 << 53}}},
		"at $.raw.a[0]: json.RawMessage: number 9007199254740993":   {Raw: json.RawMessage(`{"a":[9007199254740993]}`)},
		"at $.raw.b: json.RawMessage: the text is not valid UTF-8":  {Raw: json.RawMessage("{\"b\":\"\xff\"}")},
	} {
		_, err := task.Add(k.ctx, k.client, p)
		require.ErrorContains(t, err, want)
	}
}

type item struct {
	ID int64 `json:"id"`
}

// The size limit counts the bytes that Node would store.
func TestSizeLimitCountsWhatNodeCounts(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Start(t))
	const stored = "{\"<>\":\"&\u2028\u2029\\f\"}"
	task := NewTask[map[string]string, None](Spec{Queue: k.queue, Name: "sized", SizeLimit: len(stored)}, nil)
	h, err := task.Add(k.ctx, k.client, map[string]string{"<>": "&\u2028\u2029\f"})
	require.NoError(t, err)
	require.Equal(t, stored, string(k.record(h.ID).Data))
	_, err = task.Add(k.ctx, k.client, map[string]string{"<>": "&\u2028\u2029\f."})
	require.ErrorContains(t, err, "limit")
}

type wrote struct{ N int }

func (wrote) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

type stampedNote struct {
	time.Time
	Note string
}

// A task that is declared by hand is checked as the generator checks those that
// it declares.
func TestTypesOfTasksDeclaredByHand(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Start(t))
	q := &QueueSpec{Name: "q"}
	for want, err := range map[string]error{
		`bullmq: task "a": payload struct { W bullmq.wrote }: at $.W: bullmq.wrote has MarshalJSON but not UnmarshalJSON`: NewTask[struct{ W wrote }, None](Spec{Queue: q, Name: "a"}, nil).Err(),
		`bullmq: task "b": result []bullmq.stampedNote: at $[]: bullmq.stampedNote embeds time.Time, whose MarshalJSON`:   NewTask[None, []stampedNote](Spec{Queue: q, Name: "b"}, nil).Err(),
		`payload map[*big.Int]int: at $: *big.Int cannot be the key`:                                                      NewTask[map[*big.Int]int, None](Spec{Queue: q, Name: "c"}, nil).Err(),
	} {
		require.ErrorContains(t, err, want)
	}
	bad := NewTask[struct{ C chan int }, chan int](Spec{Queue: q, Name: "bad"}, nil)
	_, err := bad.Add(k.ctx, k.client, struct{ C chan int }{})
	require.ErrorContains(t, err, "payload struct { C chan int }: at $.C: chan int has no form in JSON")
	require.ErrorContains(t, err, "result chan int: at $: chan int has no form in JSON")
	_, err = k.client.AddFlows(k.ctx, bad.Node(struct{ C chan int }{}))
	require.ErrorContains(t, err, "has no form")
	w, err := NewWorker(k.client, q)
	require.NoError(t, err)
	bad.Handle(w, func(context.Context, *Job[struct{ C chan int }]) (chan int, error) { return nil, nil })
	require.ErrorContains(t, w.Start(k.ctx), "has no form")
}

type moodyCheck struct{}

func (moodyCheck) Validate() error { panic("oh") }

type moodyCodec struct{}

func (moodyCodec) Encode([]byte, CodecInfo) ([]byte, error) { panic("oh") }
func (moodyCodec) Decode([]byte, CodecInfo) ([]byte, error) { panic("oh") }

func TestValidatorsAndCodecsThatPanic(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Start(t))
	task := NewTask[moodyCheck, None](Spec{Queue: k.queue, Name: "checked"}, nil)
	_, err := task.Add(k.ctx, k.client, moodyCheck{})
	require.ErrorContains(t, err, "Validate panicked: oh")
	_, err = k.client.AddFlows(k.ctx, task.Node(moodyCheck{}))
	require.ErrorContains(t, err, "Validate panicked: oh")
	coded := NewTask[int, None](Spec{Queue: k.queue, Name: "coded", Codec: func() Codec { return moodyCodec{} }}, nil)
	_, err = coded.Add(k.ctx, k.client, 1)
	require.ErrorContains(t, err, "codec: it panicked: oh")
}

// A goroutine that a method of the user's ends adds nothing, and holds nothing
// that another one needs.
func TestAddsWhoseGoroutineEnds(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Start(t))
	task := NewTask[moody, moody](Spec{Queue: k.queue, Name: "moody"}, nil)
	ended := make(chan bool)
	go func() {
		defer close(ended)
		_, _ = task.Add(k.ctx, k.client, moody{leaves})
		ended <- false
	}()
	_, returned := <-ended
	require.False(t, returned)
	require.Empty(t, k.server.Client(t).Keys(k.ctx, "*").Val(), "nothing was written")
	_, err := task.Add(k.ctx, k.client, moody{func() ([]byte, error) { return []byte("1"), nil }})
	require.NoError(t, err)
}
