package redisq

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// newRecord makes a record of the fields of a job's hash, given as name, value,
// name, value, in any order. A job counts as missing when nothing that its
// producer wrote is there: peers that take a job without a hash leave a stub
// with only the fields of the taking.
func newRecord(id string, fields []string) storage.Record {
	r := storage.Record{ID: id, Missing: true}
	for i := 0; i+1 < len(fields); i += 2 {
		setField(&r, fields[i], fields[i+1])
	}
	return r
}

// recordOfMap is newRecord for fields that come as a map.
func recordOfMap(id string, fields map[string]string) storage.Record {
	r := storage.Record{ID: id, Missing: true}
	for name, value := range fields {
		setField(&r, name, value)
	}
	return r
}

// stepField begins the names of the fields that hold the results of steps.
const stepField = "gen:step:"

// setField sets what one field of the hash says. Fields that are not known are
// kept as they are.
func setField(r *storage.Record, name, value string) {
	if setProduced(r, name, value) {
		r.Missing = false
		return
	}
	if setProgress(r, name, value) {
		return
	}
	if step, ok := strings.CutPrefix(name, stepField); ok {
		if r.Steps == nil {
			r.Steps = make(map[string][]byte)
		}
		r.Steps[step] = []byte(value)
		return
	}
	if r.Extra == nil {
		r.Extra = make(map[string]string)
	}
	r.Extra[name] = value
}

// setProduced sets the fields that the producer writes.
func setProduced(r *storage.Record, name, value string) bool {
	switch name {
	case "name":
		r.Name = value
	case "data":
		r.Data = []byte(value)
	case "opts":
		r.Opts = []byte(value)
	case "timestamp":
		r.Timestamp = parseTime(value)
	case "delay":
		r.Delay = parseDelay(value)
	case "priority":
		r.Priority = parseInt(value)
	case "parentKey":
		r.ParentKey = value
	case "parent":
		r.Parent = []byte(value)
	case "rjk":
		r.ScheduleID = value
	case "deid":
		r.DedupID = value
	default:
		return false
	}
	return true
}

// setProgress sets the fields that come while a job is worked.
func setProgress(r *storage.Record, name, value string) bool {
	switch name {
	case "atm":
		// The old name of the same counter, where a job has it, comes first.
		if r.AttemptsMade == 0 {
			r.AttemptsMade = parseInt(value)
		}
	case "attemptsMade":
		if n := parseInt(value); n != 0 {
			r.AttemptsMade = n
		}
	case "ats":
		r.AttemptsStarted = parseInt(value)
	case "stc":
		r.StalledCount = parseInt(value)
	case "processedOn":
		r.ProcessedOn = parseTime(value)
	case "finishedOn":
		r.FinishedOn = parseTime(value)
	case "pb":
		r.ProcessedBy = value
	case "progress":
		r.Progress = []byte(value)
	case "returnvalue":
		r.ReturnValue = []byte(value)
	case "failedReason":
		r.FailedReason = value
	case "stacktrace":
		r.Stack = []byte(value)
	case "defa":
		r.Deferred = value
	default:
		return false
	}
	return true
}

// parseTime reads milliseconds since 1970; what is no number, or zero, is no time.
func parseTime(s string) time.Time {
	ms := parseInt64(s)
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// parseDelay reads milliseconds. What does not fit a Duration is cut to the longest one.
func parseDelay(s string) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(max(-most, min(most, parseInt64(s)))) * time.Millisecond
}

// parseInt is parseInt64 for what fits an int, or the nearest that does.
func parseInt(s string) int { return int(max(math.MinInt, min(math.MaxInt, parseInt64(s)))) }

// parseInt64 reads an integer as peers do: a fraction is dropped, what is no number is zero.
func parseInt64(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err == nil {
		return n
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != f {
		return 0
	}
	const most = 1 << 53 // beyond it, peers do not hold whole numbers either
	return int64(max(-most, min(most, f)))
}
