package redisq

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// valuesOf are the values of a reply of which a fuzzer knows one text.
func valuesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func FuzzSettledReply(f *testing.F) {
	for _, seed := range []string{"", "r\n1\n-2", "r\n9\n-1", "o\n7\n4\nname\nn\ndata\n{}", "o\n7\n-4", "l\n500", "d\n1700000000000", "2\nn\n{}\n1\na\n{}\nb\n{}",
		"-1\nn\n{}\n1\nbull:q:P\n{}\nc\n{}", "99999999999999999999", "o\n7\n99999999999999999999", "-9223372036854775808", "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		req := settleAt(5, completed("1"), completed("2"))
		reply, err := parseSettled(valuesOf(text), "q", req)
		if err == nil && len(reply.Errs) != len(req.Settle) {
			t.Errorf("%d errors for %d jobs", len(reply.Errs), len(req.Settle))
		}
	})
}

func FuzzAddedReply(f *testing.F) {
	for _, seed := range []string{"7", `[7]`, `[7,1,0,"a",""]`, `[7,"1","1","a","n"]`, `[7,3,-5,"",""]`, `[7,1]`, `[null]`, `["x"]`, `[7,99999999999999999999,0,"",""]`, `[1.5]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var reply any
		if json.Unmarshal([]byte(text), &reply) != nil {
			return
		}
		jobs := plainJobs(2)
		list := []intake{{NewJob: &jobs[0]}, {NewJob: &jobs[1]}}
		added := make([]storage.Added, len(list))
		if readAdded("q", list, added, reply) == nil {
			for i, a := range added {
				if a.ID == "" && a.Err == nil && jobs[i].ID == "" && !strings.Contains(text, `""`) {
					t.Errorf("job %d has neither an id nor an error: %s", i, text)
				}
			}
		}
	})
}

func FuzzStoredJob(f *testing.F) {
	for _, field := range jobFields {
		f.Add(field, "1")
		f.Add(field, "abc")
		f.Add(field, "1e400")
		f.Add(field, "\xff{")
	}
	f.Fuzz(func(t *testing.T, field, value string) {
		one := newRecord("1", []string{"name", "n", field, value, "odd"})
		_ = recordOfMap("1", map[string]string{field: value})
		if one.Missing {
			t.Error("a job with a name is there")
		}

	})
}

func FuzzStoredSchedule(f *testing.F) {
	for _, field := range []string{"every", "offset", "limit", "startDate", "endDate", "ic", "pattern", "other"} {
		f.Add(field, "-1", 1e300)
		f.Add(field, "2026-01-01T00:00:00Z", 0.5)
		f.Add(field, "nan", -1.0)
	}
	f.Fuzz(func(t *testing.T, field, value string, slot float64) {
		if r := scheduleRecord("s", map[string]string{field: value}, slot); r.ID != "s" {
			t.Error("another schedule")
		}
	})
}

func FuzzStoredNumber(f *testing.F) {
	for _, seed := range append([]string{"9223372036854775807", "-9223372036854775809"}, hostileTexts[:14]...) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d := parseDelay(text); d%time.Millisecond != 0 {
			t.Errorf("%q is %v", text, d)
		}
		_, _ = parseTime(text), parseInt(text)
	})
}

func FuzzClientList(f *testing.F) {
	f.Add("id=1 addr=127.0.0.1:1 name=bull:cQ==:w:a age=1 idle=0\n")
	f.Add("name=bull:cQ== idle=99999999999999999999\nname=\n=\n")
	s := &Store{prefix: "bull"}
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range s.workersIn(text, "q") {
			if !strings.HasPrefix(w.Client, "bull:cQ==") {
				t.Errorf("%q is not a worker of the queue", w.Client)
			}
		}
	})
}
