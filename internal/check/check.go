// Package check says what is wrong with annotated packages. It works on the
// model alone.
package check

import (
	"go/token"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// Options change what is checked.
type Options struct {
	// TypeScript asks for a TypeScript type of everything.
	TypeScript bool
	// Alone is true when there may be tasks in other packages, of which nothing
	// is known, so that their types may stand in slots.
	Alone bool
}

// Packages puts the tasks of each package to their queues and the tasks of
// children into the slots of their parents, and checks them. Of the packages that
// are there for their tasks in slots alone, it reports what is wrong with flows.
func Packages(packages, others []*model.Package, o Options, l *diag.List) {
	payloads := payloadTypes(packages)
	for _, p := range packages {
		join(p, l)
	}
	of := &diag.List{Base: l.Base} // the others
	for _, p := range others {
		join(p, of)
	}
	children(packages, others, o, l, of)
	l.JoinErrors(of)
	for _, p := range packages {
		for _, t := range p.Tasks {
			task(t, payloads, o, l)
		}
		upgrades(p, payloads, o, l)
		tasksOfQueue(p, l)
		for _, q := range p.Queues {
			group(q, l)
		}
	}
	scheduleIDs(packages, l)
}

// payloadTypes are the types in which tags make options of some task's jobs: its
// payload, and the structs that lead from there to a tagged field, also those that
// JSON has under a name of their own.
func payloadTypes(packages []*model.Package) map[*model.Type]bool {
	all := map[*model.Type]bool{}
	for _, p := range packages {
		for _, t := range p.Tasks {
			all[t.Payload.Actual()] = true
			for _, k := range t.Keys() {
				for _, f := range k.Path[:len(k.Path)-1] {
					all[f.EmbeddedStruct()] = true
				}
			}
		}
	}
	return all
}

func task(t *model.Task, payloads map[*model.Type]bool, o Options, l *diag.List) {
	retry(t, l)
	dedup(t, l)
	aliases(t, l)
	schedules(t, l)
	if !token.IsExported(t.GoName) {
		l.Errorf(t.TypePos, "type %s is not exported, so the generated package cannot name it: begin its name with a capital letter", t.GoName)
	}
	if t.Broken {
		return
	}
	w := &walk{l: l, payloads: payloads, typescript: o.TypeScript, seen: map[visit]bool{}}
	payload(t, w, l)
	keys(t, l)
	zeroPayloads(t, l)
	withoutDedup(t, l)
	if t.Result != nil {
		result(t, w, l)
	}
}
