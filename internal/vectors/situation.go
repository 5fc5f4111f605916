package vectors

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// What conditions read of a record.

// given are the arguments of a record that conditions look at. One that an
// operation does not have, or has in another form, is zero.
type given struct {
	JobID     string  `json:"jobId"`
	JobKey    string  `json:"jobKey"`
	ParentKey string  `json:"parentKey"`
	Action    string  `json:"action"`
	EmitEvent *bool   `json:"emitEvent"`
	FetchNext bool    `json:"fetchNext"`
	State     string  `json:"state"`
	Timestamp float64 `json:"timestamp"`
	Delay     float64 `json:"delay"`
	Limit     int     `json:"limit"`
	Count     int     `json:"count"`
	Opts      struct {
		Delay float64 `json:"delay"`
		Dedup *struct {
			ID         string `json:"id"`
			Replace    bool   `json:"replace"`
			Reschedule bool   `json:"reschedule"`
		} `json:"de"`
	} `json:"opts"`

	States     []string `json:"states"`
	Priorities []int    `json:"priorities"`
	Start      int      `json:"start"`
	End        int      `json:"end"`
	Asc        bool     `json:"asc"`
}

func (r *Record) given() given {
	var g given
	_ = json.Unmarshal(r.Args, &g) // what does not fit is left out
	return g
}

// was is what a key of the record's queue held before, is what it held after.
func (r *Record) was(key string) Entry { return r.Before[r.Base()+key] }
func (r *Record) is(key string) Entry  { return r.After[r.Base()+key] }

// refused reports whether the reply is one of the codes for "not done".
func (r *Record) refused() bool { return strings.HasPrefix(string(r.Reply), "-") }

// happened are the events that the operation added to a stream.
func (r *Record) happened(stream string) []map[string]string {
	old := map[string]bool{}
	for _, s := range r.Before[stream].Stream {
		old[s.ID] = true
	}
	var out []map[string]string
	for _, s := range r.After[stream].Stream {
		if !old[s.ID] {
			out = append(out, s.Fields)
		}
	}
	return out
}

// has reports whether a list, set or sorted set has a member.
func (e Entry) has(name string) bool {
	return slices.Contains(e.List, name) || slices.Contains(e.Set, name) ||
		slices.ContainsFunc(e.Sorted, func(m Member) bool { return m.Name == name })
}

// names are the members of a list or sorted set, in order.
func (e Entry) names() []string {
	out := slices.Clone(e.List)
	for _, m := range e.Sorted {
		out = append(out, m.Name)
	}
	return out
}

// gone are the members before that are not there after.
func gone(before, after Entry) []string {
	return slices.DeleteFunc(before.names(), after.has)
}

// number is a hash field as a number; one that is not there, or is none, is 0.
func (e Entry) number(field string) float64 {
	n, _ := strconv.ParseFloat(e.Hash[field], 64)
	return n
}

// paused and maxed are the two reasons for which no job may be taken after the
// operation.
func (r *Record) paused() bool { return r.is("meta").Hash["paused"] != "" }

func (r *Record) maxed() bool {
	meta := r.is("meta")
	return meta.Hash["concurrency"] != "" && float64(len(r.is("active").List)) >= meta.number("concurrency")
}

// isLegacy reports whether an entry of a list is a marker of BullMQ 4 and no job.
func isLegacy(id string) bool { return strings.HasPrefix(id, "0:") }

// marked reports whether such a marker stands at the right end of a list.
func marked(list []string) bool { return len(list) > 0 && isLegacy(list[len(list)-1]) }

// jobs is the number of entries without that marker.
func jobs(list []string) int {
	if marked(list) {
		return len(list) - 1
	}
	return len(list)
}

// splitKey cuts a job's key into the base of its queue and its id.
func splitKey(key string) (base, id string) {
	i := strings.LastIndexByte(key, ':') + 1
	return key[:i], key[i:]
}

// awaited reports whether a job is the next one of a scheduler.
func (r *Record) awaited(id string) bool {
	rest, ok := strings.CutPrefix(id, "repeat:")
	i := strings.LastIndexByte(rest, ':')
	if !ok || i < 0 {
		return false
	}
	return slices.ContainsFunc(r.was("repeat").Sorted, func(m Member) bool {
		return m.Name == rest[:i] && strconv.FormatFloat(m.Score, 'f', -1, 64) == rest[i+1:]
	})
}
