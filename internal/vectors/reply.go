package vectors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// NoReply is returned by a replay whose reply says nothing that the recorded
// one could be compared with.
var NoReply noReply

type noReply struct{}

// Near is a remaining time in milliseconds: compared within 1.5 seconds.
// Negative ones are codes and exact.
type Near int64

// Hash is compared with an array of alternating field and value.
type Hash map[string]string

// Set is compared with an array in any order.
type Set []string

// Code is the number by which peers report an error; false: none does.
func Code(err error) (int, bool) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{storage.ErrJobNotFound, -1},
		{storage.ErrLockLost, -2},
		{storage.ErrNotInState, -3},
		{storage.ErrPendingChildren, -4},
		{storage.ErrNoParent, -5},
		{storage.ErrLockMismatch, -6},
		{storage.ErrOtherParent, -7},
		{storage.ErrScheduled, -8},
		{storage.ErrFailedChildren, -9},
		{storage.ErrNotPaused, -1},
		{storage.ErrActiveJobs, -2},
	} {
		if errors.Is(err, c.err) {
			return c.code, true
		}
	}
	return 0, false
}

// DiffReply says in which ways an answer is not the recorded reply. An error
// is compared by its code, or with a recorded error by its presence alone.
//
// Besides JSON-like values, got may be or contain NoReply, Near, Hash, Set and
// Job; []byte and json.RawMessage are JSON text.
func DiffReply(want json.RawMessage, got any, err error) []string {
	w, ok := parse(string(want))
	if !ok {
		return []string{fmt.Sprintf("the recorded reply is not JSON: %s", want)}
	}
	m, _ := w.(map[string]any)
	_, wantErr := m["error"]
	switch {
	case wantErr && err == nil:
		return []string{fmt.Sprintf("reply: want an error (%s), have %v", m["error"], got)}
	case wantErr:
		return nil
	case err != nil:
		if code, ok := Code(err); ok {
			return diffReply("reply", w, code)
		}
		return []string{fmt.Sprintf("reply: want %s, have the error %q", want, err)}
	}
	return diffReply("reply", w, got)
}

func diffReply(path string, want, got any) []string {
	switch g := got.(type) {
	case noReply:
		return nil
	case Near:
		return diffNear(path, want, int64(g))
	case Hash:
		return diffPairs(path, want, g, diffHash)
	case Job:
		return diffPairs(path, want, g, diffJob)
	case Set:
		return diffSet(path, want, g)
	case []byte:
		return diffJSONText(path, want, string(g))
	case json.RawMessage:
		return diffJSONText(path, want, string(g))
	case json.Number, string, bool, nil:
		return diffScalar(path, want, g)
	}
	switch v := reflect.ValueOf(got); v.Kind() {
	case reflect.Slice, reflect.Array:
		return diffArray(path, want, v)
	case reflect.Map:
		return diffMap(path, want, v)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return diffScalar(path, want, nil)
		}
		return diffReply(path, want, v.Elem().Interface())
	case reflect.Struct:
		b, err := json.Marshal(got)
		if err != nil {
			return []string{fmt.Sprintf("%s: %v", path, err)}
		}
		return diffJSONText(path, want, string(b))
	}
	return diffScalar(path, want, got)
}

func differ(path string, want, got any) []string {
	w, _ := json.Marshal(want)
	g, err := json.Marshal(got)
	if err != nil {
		g = fmt.Append(nil, got)
	}
	return []string{fmt.Sprintf("%s: want %s, have %s", path, w, g)}
}

func diffScalar(path string, want, got any) []string {
	if want == nil || got == nil {
		if want == nil && got == nil {
			return nil
		}
		return differ(path, want, got)
	}
	w, g := fmt.Sprint(want), fmt.Sprint(got)
	if f, ok := got.(float64); ok {
		g = strconv.FormatFloat(f, 'f', -1, 64)
	}
	switch want.(type) {
	case []any, map[string]any:
		return differ(path, want, got)
	}
	if sameText(w, g) || len(w) > 1 && (w[0] == '{' || w[0] == '[') && sameJSON(w, g) {
		return nil
	}
	return differ(path, want, got)
}

func diffNear(path string, want any, got int64) []string {
	n, ok := want.(json.Number)
	if !ok {
		return differ(path, want, got)
	}
	w, err := n.Float64()
	if err != nil || (w < 0 || got < 0) && w != float64(got) || math.Abs(w-float64(got)) > ttlSlack {
		return differ(path, want, got)
	}
	return nil
}

// diffJSONText compares JSON text with a text of the same meaning, or with the value itself.
func diffJSONText(path string, want any, got string) []string {
	if w, ok := want.(string); ok && (w == got || sameJSON(w, got)) {
		return nil
	}
	if g, ok := parse(got); ok && sameTree(want, g) {
		return nil
	}
	if want == nil && got == "" {
		return nil
	}
	return differ(path, want, got)
}

func diffSet(path string, want any, got Set) []string {
	list, ok := want.([]any)
	if !ok || len(list) != len(got) {
		return differ(path, want, got)
	}
	count := map[string]int{}
	for _, w := range list {
		count[fmt.Sprint(w)]++
	}
	for _, g := range got {
		if count[g]--; count[g] < 0 {
			return differ(path, want, got)
		}
	}
	return nil
}

// diffPairs compares a hash with an array of alternating field and value, or an object.
func diffPairs(path string, want any, got map[string]string, diff func(want, got map[string]string, allJSON bool) []string) []string {
	w, ok := pairs(want)
	if !ok {
		return differ(path, want, got)
	}
	var out []string
	for _, d := range diff(w, got, false) {
		out = append(out, path+": "+d)
	}
	return out
}

func pairs(v any) (map[string]string, bool) {
	out := map[string]string{}
	switch v := v.(type) {
	case []any:
		if len(v)%2 != 0 {
			return nil, false
		}
		for i := 0; i < len(v); i += 2 {
			out[fmt.Sprint(v[i])] = fmt.Sprint(v[i+1])
		}
		return out, true
	case map[string]any:
		for k, x := range v {
			out[k] = fmt.Sprint(x)
		}
		return out, true
	}
	return nil, false
}

func diffArray(path string, want any, got reflect.Value) []string {
	list, ok := want.([]any)
	if m, isMap := want.(map[string]any); isMap && len(m) == 0 && got.Len() == 0 {
		return nil // an empty table of a script
	}
	if !ok || len(list) != got.Len() {
		return differ(path, want, got.Interface())
	}
	var out []string
	for i := range list {
		out = append(out, diffReply(fmt.Sprintf("%s[%d]", path, i), list[i], got.Index(i).Interface())...)
	}
	return out
}

func diffMap(path string, want any, got reflect.Value) []string {
	m, ok := want.(map[string]any)
	if !ok || len(m) != got.Len() {
		return differ(path, want, got.Interface())
	}
	var out []string
	for _, k := range got.MapKeys() {
		w, ok := m[k.String()]
		if !ok {
			out = append(out, fmt.Sprintf("%s: %q unwanted", path, k.String()))
			continue
		}
		out = append(out, diffReply(path+"."+k.String(), w, got.MapIndex(k).Interface())...)
	}
	return out
}

// Job is a job's stored fields, compared with an array of alternating field
// and value; a field that is absent on one side may be zero or empty on the other.
type Job map[string]string

// JobOf gives the stored fields of a job that was read.
func JobOf(r *storage.Record) Job {
	j := Job{
		"name": r.Name, "data": string(r.Data), "opts": string(r.Opts),
		"timestamp": ms(r.Timestamp.UnixMilli()), "delay": ms(r.Delay.Milliseconds()),
		"priority": strconv.Itoa(r.Priority),
		"atm":      strconv.Itoa(r.AttemptsMade), "ats": strconv.Itoa(r.AttemptsStarted),
		"stc": strconv.Itoa(r.StalledCount), "pb": r.ProcessedBy,
		"progress": string(r.Progress), "returnvalue": string(r.ReturnValue),
		"failedReason": r.FailedReason, "stacktrace": string(r.Stack), "defa": r.Deferred,
		"parentKey": r.ParentKey, "parent": string(r.Parent), "rjk": r.ScheduleID, "deid": r.DedupID,
	}
	if !r.ProcessedOn.IsZero() {
		j["processedOn"] = ms(r.ProcessedOn.UnixMilli())
	}
	if !r.FinishedOn.IsZero() {
		j["finishedOn"] = ms(r.FinishedOn.UnixMilli())
	}
	if r.Timestamp.IsZero() {
		delete(j, "timestamp")
	}
	for f, v := range r.Extra {
		j[f] = v
	}
	return j
}

func ms(n int64) string { return strconv.FormatInt(n, 10) }

func diffJob(want, got map[string]string, _ bool) []string {
	w, g := map[string]string{}, map[string]string{}
	for f, v := range want {
		if g[f] = got[f]; !zero(v) || !zero(g[f]) {
			w[f] = v
		} else {
			delete(g, f)
		}
	}
	for f, v := range got {
		if _, ok := want[f]; !ok && !zero(v) {
			g[f] = v
		}
	}
	return diffHash(w, g, false)
}

func zero(text string) bool {
	return text == "" || text == "0" || bytes.Equal([]byte(text), []byte("[]"))
}
