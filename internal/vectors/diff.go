package vectors

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ttlSlack is how far, in milliseconds, an expiry may be from the recorded one.
const ttlSlack = 1500

// Option changes how Diff compares.
type Option int

// TrimmedStreams lets a stream be only the end of the one wanted: for a server
// that trims to the exact length where others trim about.
const TrimmedStreams Option = iota + 1

// Diff says in which ways a state is not the one wanted; empty: in none.
func Diff(want, got Keyspace, opts ...Option) []string {
	var out []string
	for _, key := range sortedKeys(want) {
		g, ok := got[key]
		if !ok {
			out = append(out, fmt.Sprintf("%s: missing, want %s", key, want[key]))
			continue
		}
		for _, d := range diffEntry(key, want[key], g, opts) {
			out = append(out, key+": "+d)
		}
	}
	for _, key := range sortedKeys(got) {
		if _, ok := want[key]; !ok {
			out = append(out, fmt.Sprintf("%s: unwanted, have %s", key, got[key]))
		}
	}
	return out
}

func diffEntry(key string, want, got Entry, opts []Option) []string {
	if want.Type != got.Type {
		return []string{fmt.Sprintf("want %s, have %s", want, got)}
	}
	var out []string
	switch want.Type {
	case "string":
		if !sameText(want.Text, got.Text) {
			out = append(out, fmt.Sprintf("want %q, have %q", want.Text, got.Text))
		}
	case "list":
		if !slices.Equal(want.List, got.List) {
			out = append(out, fmt.Sprintf("want %q, have %q", want.List, got.List))
		}
	case "set":
		w, g := slices.Sorted(slices.Values(want.Set)), slices.Sorted(slices.Values(got.Set))
		if !slices.Equal(w, g) {
			out = append(out, fmt.Sprintf("want %q, have %q", w, g))
		}
	case "zset":
		if !slices.Equal(want.Sorted, got.Sorted) {
			out = append(out, fmt.Sprintf("want %s, have %s", want, got))
		}
	case "hash":
		out = diffHash(want.Hash, got.Hash, strings.HasSuffix(key, ":processed"))
	case "stream":
		out = diffStream(want.Stream, got.Stream, slices.Contains(opts, TrimmedStreams))
	}
	return append(out, diffTTL(want.TTL, got.TTL)...)
}

func diffTTL(want, got *int64) []string {
	switch {
	case want == nil && got == nil:
		return nil
	case want == nil:
		return []string{fmt.Sprintf("expires in %d ms, want it to stay", *got)}
	case got == nil:
		return []string{fmt.Sprintf("does not expire, want %d ms", *want)}
	case *want-*got > ttlSlack || *got-*want > ttlSlack:
		return []string{fmt.Sprintf("expires in %d ms, want %d ms", *got, *want)}
	}
	return nil
}

// diffHash compares hashes; where allJSON is set, every value is JSON.
func diffHash(want, got map[string]string, allJSON bool) []string {
	var out []string
	for _, f := range sortedKeys(want) {
		g, ok := got[f]
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("field %s missing, want %q", f, want[f]))
		case !sameField(f, want[f], g) && (!allJSON || !sameJSON(want[f], g)):
			out = append(out, fmt.Sprintf("field %s: want %q, have %q", f, want[f], g))
		}
	}
	for _, f := range sortedKeys(got) {
		if _, ok := want[f]; !ok {
			out = append(out, fmt.Sprintf("field %s unwanted, have %q", f, got[f]))
		}
	}
	return out
}

func diffStream(want, got []StreamEntry, trimmed bool) []string {
	if trimmed && len(got) < len(want) && (len(got) > 0 || len(want) == 0) {
		want = want[len(want)-len(got):]
	}
	if len(want) != len(got) {
		return []string{fmt.Sprintf("want %d entries, have %d\n      want %s\n      have %s",
			len(want), len(got), entries(want), entries(got))}
	}
	for i := range want {
		if d := diffHash(want[i].Fields, got[i].Fields, false); d != nil {
			return []string{fmt.Sprintf("entry %d: %s\n      want %s\n      have %s",
				i, strings.Join(d, "; "), entries(want), entries(got))}
		}
	}
	return nil
}

// String shows a value in one line.
func (e Entry) String() string {
	switch e.Type {
	case "string":
		return fmt.Sprintf("%q", e.Text)
	case "list":
		return fmt.Sprintf("list %q", e.List)
	case "set":
		return fmt.Sprintf("set %q", e.Set)
	case "hash":
		return "hash " + fields(e.Hash)
	case "zset":
		parts := make([]string, len(e.Sorted))
		for i, m := range e.Sorted {
			parts[i] = fmt.Sprintf("%q:%s", m.Name, strconv.FormatFloat(m.Score, 'f', -1, 64))
		}
		return "zset [" + strings.Join(parts, " ") + "]"
	case "stream":
		return "stream " + entries(e.Stream)
	}
	return e.Type
}

func entries(list []StreamEntry) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = fields(s.Fields)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

func fields(m map[string]string) string {
	parts := make([]string, 0, len(m))
	for _, f := range sortedKeys(m) {
		parts = append(parts, fmt.Sprintf("%s=%q", f, m[f]))
	}
	return "{" + strings.Join(parts, " ") + "}"
}
