package bullmq_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/bullmqtest"
)

func key(id string) bullmq.EncryptionKey {
	return bullmq.EncryptionKey{ID: id, Secret: []byte(strings.Repeat(id, 32)[:32])}
}

func use(c bullmq.Codec) func() bullmq.Codec { return func() bullmq.Codec { return c } }

type note struct {
	Text  string `json:"text"`
	Owner string `json:"owner"`
}

var notesQueue = &bullmq.QueueSpec{Name: "notes"}

// notes is a task with a codec, whose result is the text turned to capitals.
func notes(c bullmq.Codec, change ...func(*bullmq.Spec)) *bullmq.Task[note, note] {
	spec := bullmq.Spec{Queue: notesQueue, Name: "note", Codec: use(c)}
	for _, f := range change {
		f(&spec)
	}
	return bullmq.NewTask[note, note](spec, nil)
}

func capitals(_ context.Context, job *bullmq.Job[note]) (note, error) {
	return note{Text: strings.ToUpper(job.Data.Text)}, nil
}

var long = strings.Repeat("abc ", 200)

func object(t *testing.T, text []byte) map[string]json.RawMessage {
	t.Helper()
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &members), string(text))
	return members
}

// Whatever the JSON, what a codec makes of it is JSON and gives it back, also
// when it looks like an envelope itself.
func TestCodecsGiveBackWhatTheyGot(t *testing.T) {
	t.Parallel()
	codecs := map[string]bullmq.Codec{
		"gzip": bullmq.Gzip(20), "gzip always": bullmq.Gzip(0), "aes": bullmq.AESGCM(key("k")),
		"both": bullmq.Codecs(bullmq.Gzip(0), bullmq.AESGCM(key("k"))),
		"one":  bullmq.Codecs(bullmq.Gzip(0)),
	}
	text := rapid.Custom(func(t *rapid.T) []byte {
		var v any
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			v = rapid.String().Draw(t, "text")
		case 1:
			v = rapid.SliceOf(rapid.Int32()).Draw(t, "list")
		case 2:
			v = map[string]any{rapid.SampledFrom([]string{"$gzip", "$aesgcm", "$x", "a"}).Draw(t, "name"): rapid.SampledFrom([]any{"", "H4sI", nil, 1}).Draw(t, "value")}
		case 3:
			v = strings.Repeat(rapid.String().Draw(t, "text"), 50)
		case 4:
			v = nil
		case 5:
			v = rapid.MapOf(rapid.String(), rapid.Bool()).Draw(t, "map")
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return out
	})
	for name, c := range codecs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				in := text.Draw(t, "json")
				of := bullmq.CodecInfo{Queue: "q", Job: rapid.String().Draw(t, "job"), Part: bullmq.PartData}
				stored, err := c.Encode(in, of)
				if err != nil || !json.Valid(stored) {
					t.Fatalf("%s: %v", stored, err)
				}
				out, err := c.Decode(stored, of)
				if err != nil || !bytes.Equal(in, out) {
					t.Fatalf("%s from %s: %v", out, stored, err)
				}
			})
		})
	}
}

func TestEnvelopes(t *testing.T) {
	t.Parallel()
	made, err := bullmq.Envelope("$a", []byte("xyz"))
	require.NoError(t, err)
	require.Equal(t, `{"$a":"eHl6"}`, string(made))
	for text, want := range map[string]string{
		`{"$a":1}`: "1", ` { "$a" : {"$a":2} } `: `{"$a":2}`, `{"$a":null}`: "null",
		`{"$a":1,"b":2}`: "", `{"b":2,"$a":1}`: "", `{}`: "", `[{"$a":1}]`: "", `"$a"`: "", `{"a":{"$a":1}}`: "", `{"$a":`: "", ``: "",
	} {
		value, ok := bullmq.OpenEnvelope([]byte(text), "$a")
		require.Equal(t, want != "", ok, text)
		require.Equal(t, want, string(value), text)
	}
	_, err = bullmq.Envelope("a", 1)
	require.ErrorContains(t, err, "begin it with $")
	_, err = bullmq.Envelope("$a", func() {})
	require.Error(t, err)
}

// What is stored of a job is an envelope, and everybody in Go sees through it.
func TestWhatIsStoredOfATaskWithACodec(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), soon(t)
	q := env.Client.Queue("notes")
	task := bullmq.NewTask[note, note](bullmq.Spec{
		Queue: notesQueue, Name: "note", Codec: use(bullmq.Codecs(bullmq.Gzip(100), bullmq.AESGCM(key("k")))),
	}, func(p *note) bullmq.PayloadOptions {
		return bullmq.PayloadOptions{Dedup: p.Owner, JobID: "of-" + p.Owner}
	})
	h, err := task.Add(ctx, env.Client, note{long, "ann"})
	require.NoError(t, err)
	require.Equal(t, "of-ann", h.ID)
	again, err := task.Add(ctx, env.Client, note{"other", "ann"})
	require.NoError(t, err)
	require.True(t, again.Existing)
	require.Equal(t, note{long, "ann"}, bullmqtest.RequireEnqueued(t, env, task).Data)
	record, err := q.Job(ctx, h.ID)
	require.NoError(t, err)
	require.Contains(t, object(t, record.Data), "$aesgcm")
	require.Less(t, len(record.Data), len(long))

	run(t, env, notesQueue, func(w *bullmq.Worker) {
		task.Handle(w, func(ctx context.Context, job *bullmq.Job[note]) (note, error) {
			text, err := bullmq.Step(ctx, job, "write", func(context.Context) (string, error) { return long, nil })
			if err != nil {
				return note{}, err
			}
			if job.Starts == 1 {
				if err := job.UpdateData(ctx, note{text, "bob"}); err != nil {
					return note{}, err
				}
				return note{}, bullmq.BackToWait()
			}
			require.Contains(t, object(t, job.Record().Steps["write"]), "$aesgcm")
			return note{strings.ToUpper(text), job.Data.Owner}, nil
		})
	})
	want := note{strings.ToUpper(long), "bob"}
	result, err := h.Result(ctx)
	require.NoError(t, err)
	require.Equal(t, want, result)
	result, err = task.JobHandle(env.Client, h.ID).Result(ctx)
	require.NoError(t, err)
	require.Equal(t, want, result)
	stored, err := q.Finished(ctx, h.ID)
	require.NoError(t, err)
	require.Contains(t, object(t, stored.Value), "$aesgcm")
	result, err = task.DecodeResult(stored.Value)
	require.NoError(t, err)
	require.Equal(t, want, result)
	record, err = q.Job(ctx, h.ID)
	require.NoError(t, err)
	require.Contains(t, object(t, record.Data), "$aesgcm")
	require.NotContains(t, string(record.Data), "bob")
}

func TestSmallTextsAreNotCompressed(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), soon(t)
	task := notes(bullmq.Gzip(100))
	_, err := task.AddMany(ctx, env.Client, []note{{Text: "short"}, {Text: long}})
	require.NoError(t, err)
	jobs := bullmqtest.Jobs(t, env, task)
	require.Len(t, jobs, 2)
	require.JSONEq(t, `{"text":"short","owner":""}`, string(jobs[0].Record.Data))
	require.Len(t, object(t, jobs[1].Record.Data), 1)
	require.Equal(t, long, jobs[1].Data.Text)
}

// Jobs from before the codec, and of programs that do not know it, are run.
func TestPlainJobsOfATaskWithACodec(t *testing.T) {
	t.Parallel()
	for _, c := range []bullmq.Codec{bullmq.Gzip(10), bullmq.AESGCM(key("k"))} {
		got, err := bullmqtest.WorkStored(t, notes(c), capitals, "note", note{Text: "plain"})
		require.NoError(t, err)
		require.Equal(t, "PLAIN", got.Text)
	}
	strict := notes(bullmq.AESGCM(key("k")).OnlyEncrypted())
	_, err := bullmqtest.WorkStored(t, strict, capitals, "note", note{Text: "plain"}, bullmq.Attempts(3))
	require.ErrorContains(t, err, "it is not encrypted")
	got, err := bullmqtest.Work(t, strict, capitals, note{Text: "secret"})
	require.NoError(t, err)
	require.Equal(t, "SECRET", got.Text)
	none := bullmq.NewTask[note, bullmq.None](bullmq.Spec{Queue: notesQueue, Name: "none", Codec: use(bullmq.AESGCM(key("k")).OnlyEncrypted())}, nil)
	nothing := bullmq.NoResult(func(context.Context, *bullmq.Job[note]) error { return nil })
	_, err = bullmqtest.Work(t, none, nothing, note{})
	require.NoError(t, err)
	env, ctx := bullmqtest.Start(t), soon(t)
	trees, err := env.Client.AddFlows(ctx, none.Node(note{}))
	require.NoError(t, err)
	run(t, env, notesQueue, func(w *bullmq.Worker) { none.Handle(w, nothing) })
	text, err := trees[0].Result(ctx)
	require.NoError(t, err)
	require.Equal(t, "null", string(text))
}

// An envelope is bound to its place, and read under any of the keys.
func TestEncryptionIsBoundAndKeysRotate(t *testing.T) {
	t.Parallel()
	of := bullmq.CodecInfo{Queue: "q", Job: "j", Part: bullmq.PartData}
	text := []byte(`{"a":1}`)
	stored, err := bullmq.AESGCM(key("a")).Encode(text, of)
	require.NoError(t, err)
	other, err := bullmq.AESGCM(key("a")).Encode(text, of)
	require.NoError(t, err)
	require.NotEqual(t, stored, other)
	rotated := bullmq.AESGCM(key("b"), key("a"))
	got, err := rotated.Decode(stored, of)
	require.NoError(t, err)
	require.Equal(t, text, got)
	_, err = bullmq.AESGCM(key("b")).Decode(stored, of)
	require.ErrorIs(t, err, bullmq.ErrUnknownKey)
	require.ErrorContains(t, err, `"a"`)
	for _, elsewhere := range []bullmq.CodecInfo{{"p", "j", "data"}, {"q", "i", "data"}, {"q", "j", "result"}, {"q", "", "data"}} {
		_, err = rotated.Decode(stored, elsewhere)
		require.ErrorContains(t, err, `key "a" does not open it`)
	}
	impostor := bullmq.AESGCM(bullmq.EncryptionKey{ID: "a", Secret: bytes.Repeat([]byte{1}, 16)})
	_, err = impostor.Decode(stored, of)
	require.ErrorContains(t, err, "does not open it")
	for want, c := range map[string]*bullmq.AES{
		"a key needs an id":                     bullmq.AESGCM(bullmq.EncryptionKey{Secret: key("x").Secret}),
		`key "x" has 3 bytes, not 16, 24 or 32`: bullmq.AESGCM(bullmq.EncryptionKey{ID: "x", Secret: []byte("abc")}),
		`two keys have the id "x"`:              bullmq.AESGCM(key("x"), key("x")),
		`key "y" has 0 bytes, not 16, 24 or 32`: bullmq.AESGCM(key("x"), bullmq.EncryptionKey{ID: "y"}),
	} {
		_, err := c.Encode(text, of)
		require.EqualError(t, err, want)
		_, err = c.Decode(text, of)
		require.EqualError(t, err, want)
	}
}

// What cannot be decoded fails the job for good, but for a key that another
// worker may have.
func TestEnvelopesThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	both := bullmq.Codecs(bullmq.Gzip(0), bullmq.AESGCM(key("k")))
	for data, want := range map[string]string{
		`{"$gzip":1}`:                         "$gzip is not base64",
		`{"$gzip":"*"}`:                       "$gzip is not base64",
		`{"$gzip":"AAAA"}`:                    "$gzip:",
		`{"$gzip":"H4sIAAAAAAAA/w=="}`:        "$gzip:",
		`{"$aesgcm":1}`:                       "$aesgcm: json:",
		`{"$aesgcm":{"kid":"k","iv":"AAAA"}}`: "iv and tag have 3 and 0 bytes, not 12 and 16",
		`{"$aesgcm":{"kid":"k","iv":"AAAAAAAAAAAAAAAA","tag":"AAAAAAAAAAAAAAAAAAAAAA==","data":""}}`: "does not open it",
	} {
		t.Run(data, func(t *testing.T) {
			t.Parallel()
			_, attempts, err := workOnce(t, notes(both), json.RawMessage(data))
			require.ErrorContains(t, err, `payload of task "note", job "1": codec: `)
			require.ErrorContains(t, err, want)
			require.Equal(t, 1, attempts)
		})
	}
	_, attempts, err := workOnce(t, notes(both), json.RawMessage(`{"$aesgcm":{"kid":"newer"}}`))
	require.ErrorContains(t, err, `unknown key "newer": give it to this program`)
	require.Equal(t, 3, attempts)
}

// workOnce runs a job with three attempts that is stored with some data.
func workOnce(t *testing.T, task *bullmq.Task[note, note], data json.RawMessage) (note, int, error) {
	t.Helper()
	env, ctx := bullmqtest.Start(t), soon(t)
	run(t, env, notesQueue, func(w *bullmq.Worker) { task.Handle(w, capitals) })
	added, err := env.Client.Queue("notes").Add(ctx, "note", data, bullmq.Attempts(3))
	require.NoError(t, err)
	result, failed := task.JobHandle(env.Client, added.ID).Result(ctx)
	record, err := env.Client.Queue("notes").Job(ctx, added.ID)
	require.NoError(t, err)
	return result, record.AttemptsMade, failed
}

// fake is a codec of functions.
type fake struct{ encode, decode func([]byte) ([]byte, error) }

func (f fake) Encode(text []byte, _ bullmq.CodecInfo) ([]byte, error) { return f.encode(text) }
func (f fake) Decode(text []byte, _ bullmq.CodecInfo) ([]byte, error) { return f.decode(text) }

func same(text []byte) ([]byte, error) { return text, nil }

func gives(text string, err error) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(text), err }
}

func panics([]byte) ([]byte, error) { panic("boom") }

// Nothing is stored that peers could not read, whatever a codec does.
func TestCodecsThatMisbehaveWhenTheyEncode(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), soon(t)
	for want, c := range map[string]bullmq.Codec{
		"it is nil":                 nil,
		"codec: it panicked: boom":  fake{panics, same},
		"codec: no room":            fake{gives("", errors.New("no room")), same},
		"what it made is not JSON":  fake{gives("\x1f\x8b", nil), same},
		"what it made is not JSON,": fake{gives("", nil), same},
		"what it made is not JSON, and peers could not read the job": fake{gives("\"\xff\"", nil), same},
	} {
		task := notes(c)
		_, err := task.Add(ctx, env.Client, note{})
		require.ErrorContains(t, err, "bullmq: add notes/note: payload: codec: ")
		require.ErrorContains(t, err, want)
		_, err = env.Client.AddFlows(ctx, task.Node(note{}))
		require.ErrorContains(t, err, want)
		_, err = env.Client.Queue("notes").UpsertSchedules(ctx, []bullmq.Schedule{task.NewSchedule("s", bullmq.ScheduleSpec{Every: time.Hour}, note{})})
		require.ErrorContains(t, err, want)
	}
	counts, err := env.Client.Queue("notes").Counts(ctx)
	require.NoError(t, err)
	for state, n := range counts {
		require.Zero(t, n, state)
	}
	schedules, err := env.Client.Queue("notes").Schedules(ctx, 0, -1)
	require.NoError(t, err)
	require.Empty(t, schedules)
}

func TestCodecsThatMisbehaveInTheWorker(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]bullmq.Codec{
		"codec: it panicked: boom": fake{same, panics},
		"codec: closed":            fake{same, gives("", errors.New("closed"))},
		"unexpected end of JSON":   fake{same, gives("{", nil)},
		"the payload lacks":        fake{same, gives("{}", nil)},
		`result of task "note", job "1": codec: what it made is not JSON`: fake{gives("x", nil), same},
	} {
		_, attempts, err := workOnce(t, notes(c), json.RawMessage(`{"text":"a","owner":""}`))
		require.ErrorContains(t, err, want)
		require.Equal(t, 1, attempts, want)
	}
}

// A codec may be set when the program has read its settings, and is asked for
// no more once it is there.
func TestCodecsThatAreSetLate(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), soon(t)
	var c bullmq.Codec
	var asked atomic.Int32
	task := notes(nil, func(s *bullmq.Spec) {
		s.Codec = func() bullmq.Codec { asked.Add(1); return c }
	})
	require.Zero(t, asked.Load())
	_, err := task.Add(ctx, env.Client, note{})
	require.ErrorContains(t, err, "set it before the task is used")
	_, err = notes(nil, func(s *bullmq.Spec) { s.Codec = func() bullmq.Codec { panic("no settings") } }).Add(ctx, env.Client, note{})
	require.ErrorContains(t, err, "codec: the function that returns it panicked: no settings")
	c = bullmq.Gzip(0)
	for range 3 {
		_, err = task.Add(ctx, env.Client, note{Text: long})
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, asked.Load())
	require.Equal(t, long, bullmqtest.Jobs(t, env, task)[0].Data.Text)
}

// The limit is for what is stored.
func TestSizeLimitOfWhatACodecMakes(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), soon(t)
	limit := func(s *bullmq.Spec) { s.SizeLimit = 100 }
	_, err := notes(bullmq.Gzip(10), limit).Add(ctx, env.Client, note{Text: long})
	require.NoError(t, err)
	_, err = notes(bullmq.AESGCM(key("k")), limit).Add(ctx, env.Client, note{Text: "this is small as it is"})
	require.ErrorContains(t, err, "more than the limit of 100")
}

// The last step of a codec, and the first: it is read and not written.
func TestDecodeOnly(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), soon(t)
	before, after := notes(bullmq.Gzip(0)), notes(bullmq.DecodeOnly(bullmq.Gzip(0)))
	coded, err := before.Add(ctx, env.Client, note{Text: long})
	require.NoError(t, err)
	plain, err := after.Add(ctx, env.Client, note{Text: long})
	require.NoError(t, err)
	record, err := env.Client.Queue("notes").Job(ctx, plain.ID)
	require.NoError(t, err)
	require.Contains(t, object(t, record.Data), "text")
	run(t, env, notesQueue, func(w *bullmq.Worker) { after.Handle(w, capitals) })
	for _, h := range []*bullmq.JobHandle[note]{coded, plain} {
		got, err := h.Result(ctx)
		require.NoError(t, err)
		require.Equal(t, strings.ToUpper(long), got.Text)
	}
}

func TestCodecByHandAndOnASchedule(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), soon(t)
	task := notes(bullmq.AESGCM(key("k")))
	q := env.Client.Queue("notes")
	_, err := q.UpsertSchedules(ctx, []bullmq.Schedule{task.NewSchedule("daily", bullmq.ScheduleSpec{Every: 24 * time.Hour}, note{Text: "tick"})})
	require.NoError(t, err)
	m, err := bullmq.NewManual(env.Client, "notes")
	require.NoError(t, err)
	for range 2 {
		active, err := m.Take(ctx)
		require.NoError(t, err)
		require.Contains(t, object(t, active.Record().Data), "$aesgcm")
		job, err := task.Decode(active)
		require.NoError(t, err)
		require.Equal(t, "tick", job.Data.Text)
		require.NoError(t, m.Finish(ctx, active, note{Text: "tock"}, nil))
		got, err := task.JobHandle(env.Client, active.ID).Result(ctx)
		require.NoError(t, err)
		require.Equal(t, "tock", got.Text)
		stored, err := q.Finished(ctx, active.ID)
		require.NoError(t, err)
		require.Contains(t, object(t, stored.Value), "$aesgcm")
		env.Advance(t, 24*time.Hour, "notes")
	}
	require.NoError(t, m.Close())
}

func TestGzipHasAnEnd(t *testing.T) {
	t.Parallel()
	stored, err := bullmq.Gzip(0).Encode([]byte(`"`+long+`"`), bullmq.CodecInfo{})
	require.NoError(t, err)
	_, err = bullmq.GzipUpTo(100).Decode(stored, bullmq.CodecInfo{})
	require.ErrorContains(t, err, "larger than 100 bytes")
}
