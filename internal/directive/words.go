package directive

import (
	"maps"
	"slices"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/naming"
)

// words are the directives and the keys that each takes.
var words = map[string][]string{
	"task":     {"result", "children", "codec", "lifo", "size-limit", "timeout", "ttl", "keep-completed", "keep-failed"},
	"retry":    {"attempts", "backoff", "jitter", "max"},
	"dedup":    {"ttl", "extend", "replace", "keep-last", "reschedule"},
	"alias":    nil,
	"schedule": {"every", "offset", "id", "tz", "limit", "start", "end", "payload"},
	"upgrade":  {"from"},
	"queue":    {"limit", "group", "concurrency", "keep-completed", "keep-failed"},
}

// Known reports a directive that there is none of.
func (d *Directive) Known(l *diag.List) bool {
	if _, ok := words[d.Name]; ok {
		return true
	}
	names := slices.Sorted(maps.Keys(words))
	if owner := ownerOf(d.Name); owner != "" {
		l.Errorf(d.Pos, "unknown directive %s: %s is a key of //%s:%s", d, d.Name, Tool, owner)
		return false
	}
	l.Errorf(d.Pos, "unknown directive %s%s", d, naming.DidYouMean(d.Name, names))
	if near := naming.Nearest(d.Name, names); near != "" {
		l.Suggest(d.String(), (&Directive{Name: near}).String())
	}
	return false
}

// ownerOf returns the directive that takes the key.
func ownerOf(key string) string {
	for _, name := range slices.Sorted(maps.Keys(words)) {
		if slices.Contains(words[name], key) {
			return name
		}
	}
	return ""
}
