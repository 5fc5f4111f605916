package interop

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
)

// coded is a payload and a result of tasks with a codec.
type coded struct {
	Text string `json:"text"`
}

// Envelopes that Go made are opened by Node, in ten lines of its own libraries,
// and those that Node made by Go: payloads and results, compressed and encrypted.
func TestEnvelopesOfCodecs(t *testing.T) {
	t.Parallel()
	secret := bytes.Repeat([]byte("s"), 32)
	older := bullmq.EncryptionKey{ID: "older", Secret: bytes.Repeat([]byte("o"), 16)}
	aes := bullmq.Codecs(bullmq.Gzip(0), bullmq.AESGCM(bullmq.EncryptionKey{ID: "k1", Secret: secret}, older))
	keys := Args{"k1": base64.StdEncoding.EncodeToString(secret), "older": base64.StdEncoding.EncodeToString(older.Secret)}
	value := coded{strings.Repeat("compressible, and 日本語 ", 40)}
	eachTypedFlow(t, func(f *typedFlow) {
		for kid, c := range map[string]bullmq.Codec{"": bullmq.Gzip(10), "k1": aes, "older": aes} {
			q := &bullmq.QueueSpec{Name: name("coded")}
			task := bullmq.NewTask[coded, coded](bullmq.Spec{
				Queue: q, Name: "task", Codec: func() bullmq.Codec { return c },
			}, nil)
			peer := f.on(f.node, q.Name)
			step := func(do, bound string) Args {
				return Args{"do": do, "keys": keys, "bound": bound, "kid": kid, "value": value}
			}
			// Node opens what Go added, and makes the envelope of a result.
			peer.work(script{"task": {{step("open", "data:"+q.Name+":task")}}, "make": {{step("encode", "data:"+q.Name+":task")}}}, nil)
			h, err := task.Add(f.ctx, f.client, value)
			require.NoError(f, err)
			got, err := h.Result(f.ctx)
			require.NoError(f, err)
			require.Equal(f, value, got)

			// Go works what Node made, and reads the result that Node made.
			made, err := f.client.Queue(q.Name).Add(f.ctx, "make", nil)
			require.NoError(f, err)
			envelope, err := made.Result(f.ctx)
			require.NoError(f, err)
			require.NotContains(f, string(envelope), "compressible")
			worked := &bullmq.QueueSpec{Name: q.Name + "-go"}
			f.worksInGo(worked, task, envelope, kid, step, value)
		}
	})
}

// worksInGo adds a job from Node to a queue that a Go worker works, with an
// envelope made for it by Node, whose result Node opens.
func (f *typedFlow) worksInGo(q *bullmq.QueueSpec, like *bullmq.Task[coded, coded], envelope json.RawMessage, kid string, step func(do, bound string) Args, value coded) {
	f.Helper()
	spec := like.Spec()
	spec.Queue = q
	task := bullmq.NewTask[coded, coded](spec, nil)
	peer := f.on(f.node, q.Name)
	maker := &bullmq.QueueSpec{Name: q.Name + "-make"}
	f.on(f.node, maker.Name).work(script{
		"data": {{step("encode", "data:"+q.Name+":task")}}, "result": {{step("encode", "result:"+q.Name+":")}},
		"open": {{step("open", "result:"+q.Name+":")}},
	}, nil)
	ask := func(name string, data any) json.RawMessage {
		h, err := f.client.Queue(maker.Name).Add(f.ctx, name, data)
		require.NoError(f, err)
		text, err := h.Result(f.ctx)
		require.NoError(f, err)
		return text
	}
	id := peer.add("task", ask("data", nil), nil)
	f.start(q, func(w *bullmq.Worker) {
		task.Handle(w, func(_ context.Context, job *bullmq.Job[coded]) (coded, error) {
			require.Equal(f, value, job.Data)
			return job.Data, nil
		})
	})
	got, err := task.JobHandle(f.client, id).Result(f.ctx)
	require.NoError(f, err)
	require.Equal(f, value, got)
	stored, err := f.client.Queue(q.Name).Finished(f.ctx, id)
	require.NoError(f, err)
	require.NotContains(f, string(stored.Value), "compressible")
	var opened coded
	require.NoError(f, json.Unmarshal(ask("open", json.RawMessage(stored.Value)), &opened))
	require.Equal(f, value, opened)
	got, err = task.DecodeResult(ask("result", nil))
	require.NoError(f, err)
	require.Equal(f, value, got)
	if kid != "" { // an envelope is bound to its queue
		_, err = task.DecodeResult(envelope)
		require.ErrorContains(f, err, "does not open it")
	}
}
