package bullmq

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
)

// Whatever another program stored as a job, a worker ends it, and goes on.
func TestGarbageDoesNotStopAWorker(t *testing.T) {
	t.Parallel()
	k := newKit(t, testredis.Any(t))
	rdb := k.server.Client(t)
	require.NoError(t, rdb.HSet(k.ctx, "bull:greetings:P", "name", "greet", "data", `{"name":"p"}`, "opts", "{}", "timestamp", "1", "delay", "0", "priority", "0").Err())
	good := map[string]string{"name": "greet", "data": `{"name":"x"}`, "opts": `{}`, "timestamp": "1", "delay": "0", "priority": "0"}
	garbage := []map[string]string{
		{"opts": "{"}, {"opts": "[]"}, {"opts": "null"}, {"opts": `"x"`}, {"opts": `{"stackTraceLimit":-3,"attempts":"9","kl":-1}`},
		{"opts": `{"attempts":2,"backoff":{"type":"exponential","delay":-1e300}}`}, {"opts": `{"removeOnFail":{"age":-1,"count":1e300},"attempts":-5}`},
		{"data": "{"}, {"data": "null"}, {"data": `"\ud800"`}, {"data": ""}, {"name": ""}, {"name": "nobody's"}, {"name": "a:b"},
		{"timestamp": "x"}, {"timestamp": "99999999999999999999"}, {"priority": "-1"}, {"delay": "NaN"}, {"attemptsMade": "x", "atm": "99999999999999999999"}, {"atm": "x"}, {"atm": "1.5"},
		{"stacktrace": "{", "failedReason": "\xff"}, {"ats": "x"}, {"parent": "{", "parentKey": "bull:greetings:P"}, {"parent": `{"fpof":1}`, "parentKey": "nowhere"},
		{"parent": "null", "parentKey": ""}, {"deid": "none"}, {"rjk": "gone"}, {"rjk": ""}, {"defa": "\x00"}, {"stc": "x"}, {"tm": "{"},
	}
	pipe := rdb.Pipeline()
	for i, fields := range garbage {
		for _, fails := range []string{"", "1"} {
			key := fmt.Sprintf("bull:greetings:g%d-%s", i, fails)
			pipe.HSet(k.ctx, key, good)
			if fails != "" {
				pipe.HSet(k.ctx, key, "data", `{"name":"x","fail":9}`)
			}
			pipe.HSet(k.ctx, key, fields)
			pipe.LPush(k.ctx, "bull:greetings:wait", key[len("bull:greetings:"):])
		}
	}
	pipe.LPush(k.ctx, "bull:greetings:wait", "no-such-job")
	_, err := pipe.Exec(k.ctx)
	require.NoError(t, err)

	k.worker(untilItWorks)
	require.Equal(t, "hello last", k.result(k.add("last")).Text)
	k.until("all are ended", func() bool {
		counts := k.counts()
		return counts[StateCompleted]+counts[StateFailed] >= 2*len(garbage) && counts[StateActive]+counts[StateWaiting]+counts[StateDelayed]+counts[StatePrioritized] == 0
	})
}

func untilItWorks(ctx context.Context, job *Job[greet]) (greeting, error) {
	if job.Attempt <= job.Data.Fail {
		return greeting{}, errors.New("not yet")
	}
	return hello(ctx, job)
}
