package audit

import (
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/wire"
)

// Containers are the keys that hold ids; each of them is a state.
var Containers = []string{"wait", "paused", "active", "prioritized", "delayed", "waiting-children", "completed", "failed"}

// OwnTypes are the types of the keys that a queue has by itself.
var OwnTypes = wire.Own

// PartTypes are the types of the keys that belong to a job, by what follows its id.
var PartTypes = wire.Parts

// Kind is what a key of a queue is.
type Kind int

// The kinds of keys.
const (
	KindOwn       Kind = iota // the queue's own, see OwnTypes
	KindJob                   // a job's hash, if it is one
	KindPart                  // a part of a job, see PartTypes
	KindDedup                 // de: the holder of a deduplication id
	KindNext                  // dn: a job that is kept to follow another
	KindScheduler             // the settings of a schedule
	KindExtra                 // of this module alone, below "gen:"
)

// Classify returns what a key is, by what follows the queue's base in it: the
// name is the deduplication id, the id of a job or of a schedule; part is the
// part of the job. Scheduled reports whether the queue has a schedule with the id.
func Classify(suffix string, scheduled func(id string) bool) (kind Kind, name, part string) {
	if _, ok := OwnTypes[suffix]; ok {
		return KindOwn, suffix, ""
	}
	head, rest, _ := strings.Cut(suffix, ":")
	i := strings.LastIndexByte(suffix, ':')
	switch {
	case head == wire.ExtraPrefix:
		return KindExtra, rest, ""
	case head == "de" && rest != "":
		return KindDedup, rest, ""
	case head == "dn" && rest != "":
		return KindNext, rest, ""
	case head == "repeat" && scheduled(rest):
		return KindScheduler, rest, ""
	case i > 0 && PartTypes[suffix[i+1:]] != "":
		return KindPart, suffix[:i], suffix[i+1:]
	}
	return KindJob, suffix, ""
}

// IsLegacy reports whether an entry of a list is a marker of BullMQ 4 and no job.
func IsLegacy(id string) bool { return strings.HasPrefix(id, "0:") }
