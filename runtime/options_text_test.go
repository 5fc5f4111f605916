package bullmq

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// The attempts, backoffs and rules were seen with workers of BullMQ 5.81.5 and 6.7.0.
func TestNumbersThatAreTextCountForWhatNodeMakesOfThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`"3"`: 3, `" 3 "`: 3, `"0x3"`: 3, `"0b11"`: 3, `"3e0"`: 3, `"+3"`: 3, `3.5`: 4, `2.2`: 3, `[3]`: 3, `["3"]`: 3, `true`: 1,
		`"abc"`: 0, `"1_0"`: 0, `"nan"`: 0, `""`: 0, `[]`: 0, `[1,2]`: 0, `[true]`: 0, `[[3]]`: 0, `-1`: -1, `false`: 0, `null`: 0, `{}`: 0,
		`"Infinity"`: maxCount, `1e300`: maxCount, `"1e999"`: maxCount, `"-Infinity"`: -maxCount,
	} {
		o, err := ParseOptions([]byte(`{"attempts":` + text + `}`))
		require.NoError(t, err)
		require.Equal(t, want, o.Attempts, text)
	}
	for text, want := range map[string]Backoff{
		`400`:                               Fixed(400 * time.Millisecond),
		`{"type":"fixed","delay":"400"}`:    Fixed(400 * time.Millisecond),
		`{"type":"fixed","delay":"4e2"}`:    Fixed(400 * time.Millisecond),
		`{"type":"fixed","delay":[400]}`:    Fixed(400 * time.Millisecond),
		`{"type":"fixed","delay":"abc"}`:    {Type: "fixed"},
		`{"type":"fixed","delay":null}`:     {Type: "fixed"},
		`{"type":"exponential"}`:            {Type: "exponential"},
		`{"type":"fixed","delay":[[[[]]]]}`: {Type: "fixed"},
		`{"type":"exponential","delay":"400","jitter":"0.5","max":"900"}`: {Type: "exponential", Delay: 400 * time.Millisecond, Jitter: 0.5, Max: 900 * time.Millisecond},
	} {
		o, err := ParseOptions([]byte(`{"backoff":` + text + `}`))
		require.NoError(t, err)
		require.Equal(t, want, o.Backoff, text)
	}
	for text, want := range map[string]*Retention{
		`"5"`: {Remove: true}, `"0"`: {Remove: true}, `"abc"`: {Remove: true}, `""`: {}, `[]`: {}, `{}`: {}, `true`: {Remove: true}, `false`: {},
		`{"age":0}`: {Remove: true}, `{"age":"0"}`: {Remove: true}, `{"age":"60"}`: {Age: time.Minute}, `{"age":60,"limit":"4"}`: {Age: time.Minute, Limit: 4},
		`{"count":"1"}`: nil,
	} {
		o, err := ParseOptions([]byte(`{"removeOnFail":` + text + `}`))
		require.NoError(t, err)
		require.Equal(t, want, o.KeepFailed, text)
	}
	for text, want := range map[string]int{`"1"`: 1, `0`: 0, `-1`: -1, `1.5`: 1, `true`: 1} {
		o, err := ParseOptions([]byte(`{"stackTraceLimit":` + text + `}`))
		require.NoError(t, err)
		require.Equal(t, &want, o.StackTraceLimit, text)
	}
	o, err := ParseOptions([]byte(`{"stackTraceLimit":"0","delay":"400","priority":"7","kl":"3","timestamp":"1700000000000","lifo":"false","fpof":1,` +
		`"de":{"id":"d","ttl":"5000","extend":1},"gen":{"timeout":1000}}`))
	require.NoError(t, err)
	require.Nil(t, o.StackTraceLimit)
	require.Equal(t, 400*time.Millisecond, o.Delay)
	require.Equal(t, []int{7, 3}, []int{o.Priority, o.KeepLogs})
	require.Equal(t, int64(1700000000000), o.Timestamp.UnixMilli())
	require.True(t, o.LIFO)
	require.Equal(t, OnFailFail, o.OnFail())
	require.Equal(t, &Dedup{ID: "d", TTL: 5 * time.Second, Extend: true}, o.Dedup)
	require.Empty(t, o.Unknown)
}

func TestAJobWhoseAttemptsAreTextIsTriedAsOften(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	rdb := k.server.Client(t)
	require.NoError(t, rdb.HSet(k.ctx, "bull:greetings:a", "name", "greet", "data", `{"name":"x","fail":2}`,
		"opts", `{"attempts":"3","backoff":{"type":"fixed","delay":"1"}}`, "timestamp", "1", "delay", "0", "priority", "0").Err())
	require.NoError(t, rdb.LPush(k.ctx, "bull:greetings:wait", "a").Err())
	k.worker(untilItWorks)
	k.until("it is completed", func() bool { return k.counts()[StateCompleted] == 1 })
	require.Equal(t, "3", rdb.HGet(k.ctx, "bull:greetings:a", "ats").Val())
}

// Nothing is written of an add with text that no peer could read, or that a
// parent would wait for indefinitely.
func TestTextThatPeersCannotReadIsRefused(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	parent := Parent{Queue: "greetings", ID: "p", OnFail: OnFailFail}
	for name, opt := range map[string]AddOption{
		"policy":                  ChildOf(Parent{Queue: parent.Queue, ID: parent.ID, OnFail: "failParentOnFailure"}),
		"policy with a quote":     ChildOf(Parent{Queue: parent.Queue, ID: parent.ID, OnFail: `fpof":true,"x`}),
		"telemetry not JSON":      Telemetry("00-1-2-01"),
		"telemetry list":          Telemetry(`[]`),
		"telemetry null":          Telemetry(`null`),
		"telemetry text":          Telemetry(`"x"`),
		"telemetry number inside": Telemetry(`{"traceparent":1}`),
		"telemetry not UTF-8":     Telemetry("{\"traceparent\":\"\xff\"}"),
		"id not UTF-8":            JobID("a\xff"),
		"dedup id not UTF-8":      Deduplicate(Dedup{ID: "a\xff"}),
		"backoff not UTF-8":       WithBackoff(Backoff{Type: "a\xff"}),
	} {
		_, err := k.task.Add(k.ctx, k.client, greet{Name: "x"}, opt)
		require.ErrorIs(t, err, ErrInvalid, name)
	}
	rdb := k.server.Client(t)
	require.Empty(t, rdb.Keys(k.ctx, "bull:greetings:*").Val())
	_, err := k.task.Add(k.ctx, k.client, greet{Name: "x"}, Telemetry(`{"traceparent":"00-1","baggage":"a=b"}`))
	require.NoError(t, err)
}

func TestAKeyNeverShowsItsSecret(t *testing.T) {
	t.Parallel()
	secret := []byte("0123456789abcdef")
	key := EncryptionKey{ID: "k1", Secret: secret}
	codec := AESGCM(key)
	holder := struct {
		Key   EncryptionKey
		Ptr   *EncryptionKey
		Codec *AES
		List  []EncryptionKey
		Err   error
	}{key, &key, codec, []EncryptionKey{key}, errors.New("x")}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", key, "ptr", &key, "codec", codec, "holder", holder)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", key, "ptr", &key, "codec", codec, "holder", holder)
	encoded, err := json.Marshal(holder)
	require.NoError(t, err)
	texts := []string{log.String(), string(encoded), codec.GoString(), key.GoString(), codec.String(), (*AES)(nil).String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%X"} {
		texts = append(texts, fmt.Sprintf(verb, key), fmt.Sprintf(verb, &key), fmt.Sprintf(verb, holder), fmt.Sprintf(verb, codec), fmt.Sprintf(verb, *codec))
	}
	for _, text := range texts {
		for _, form := range []string{string(secret), fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret), fmt.Sprint(secret), fmt.Sprintf("%#v", secret), "MDEyMzQ1Njc4OWFiY2RlZg", "48 49 50", "0x30, 0x31"} {
			require.NotContains(t, text, form)
		}
	}
	require.Contains(t, fmt.Sprintf("%+v", key), `"k1"`)
}

func TestStorageRefusesPoliciesThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	job := storage.NewJob{Name: "n", Data: []byte("{}"), Opts: []byte("{}"), Timestamp: time.Now()}
	for _, change := range []func(*storage.NewJob){
		func(j *storage.NewJob) {
			j.Parent = &storage.Parent{ID: "p", Queue: "bull:q", OnFail: "failParentOnFailure"}
		},
		func(j *storage.NewJob) { j.Opts = nil },
		func(j *storage.NewJob) { j.Opts = []byte("null") },
		func(j *storage.NewJob) { j.Opts = []byte("{") },
	} {
		bad := job
		change(&bad)
		_, err := k.client.store.Add(k.ctx, "greetings", []storage.NewJob{job, bad})
		require.ErrorIs(t, err, ErrInvalid)
		bad.ID = "x"
		root := job
		root.ID = "root"
		_, err = k.client.store.AddFlow(k.ctx, time.Now(), []storage.FlowNode{{Queue: "bull:greetings", NewJob: root}, {Queue: "bull:greetings", NewJob: bad}})
		require.ErrorIs(t, err, ErrInvalid)
	}
	require.Empty(t, k.server.Client(t).Keys(k.ctx, "bull:greetings:*").Val())
}
