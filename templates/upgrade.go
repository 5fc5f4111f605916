package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// upgrades sets what converts payloads of earlier names. The types are written
// out, so that a function that changes does not compile here any more.
func (f *file) upgrades(t *model.Task, l *literal) {
	if len(t.Upgrades) == 0 {
		return
	}
	entries := make([]jen.Code, len(t.Upgrades))
	for i, u := range t.Upgrades {
		convert := jen.Qual(f.pkg.Path, u.GoName)
		if !u.Fails {
			convert = runtime("NoError").Call(convert)
		}
		entries[i] = runtime("UpgradeFrom").Types(f.typ(u.Old), f.payload(t)).Call(jen.Lit(u.From), convert)
	}
	l.set("Upgrades", jen.Index().Add(runtime("Upgrade")).Custom(members, entries...))
}

// guardOld writes guards of the payloads that upgrades of the task take, each
// once, and none for those that are guarded as payloads of tasks.
func (f *file) guardOld(t *model.Task) {
	for _, u := range t.Upgrades {
		if u.Old.Name == "" || f.guarded[u.Old.Actual()] {
			continue
		}
		f.guarded[u.Old.Actual()] = true
		f.guard(u.Old, u.Old.Name, f.typ(u.Old))
	}
}

// payloadTypes are the types of the payloads of a package's tasks.
func payloadTypes(p *model.Package) map[*model.Type]bool {
	types := map[*model.Type]bool{}
	for _, t := range p.Tasks {
		types[t.Payload.Actual()] = true
	}
	return types
}
