package check

import (
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// foreign checks slots for tasks of other packages: the parent's output
// imports that of the children.
func foreign(outputs []*model.Output, l *diag.List) {
	imports := map[*model.Output][]*model.Slot{}
	for _, o := range outputs {
		for _, p := range slices.Concat(o.Packages, o.Children) {
			for _, t := range p.Tasks {
				for _, s := range t.Slots {
					if to := s.Package.Output; to != nil && to != o { // nil: reported already
						imports[o] = append(imports[o], s)
						reachableChild(o, to, s, l)
					}
				}
			}
		}
	}
	importCycles(outputs, imports, l)
}

// reachableChild reports a slot whose children, or their results, cannot be
// named in the parent's output.
func reachableChild(o, to *model.Output, s *model.Slot, l *diag.List) {
	if !model.Visible(to.Path, o.Path) {
		l.Errorf(s.Pos, "slot %s is for jobs of %s, whose generated package %s is internal and cannot be imported from %s: choose other outputs with -out", s.Field.Name, s.Type, to.Path, o.Path)
		return
	}
	var unseen diag.List
	if r := s.Task.Result; r != nil && unreachable(r, o, s.Pos, &unseen) && !unreachable(r, to, s.Pos, &unseen) {
		l.Errorf(s.Pos, "slot %s is for jobs of %s, whose result %s is in an internal package that the output %s cannot import: choose another output with -out, or result=T with a type that can be imported", s.Field.Name, s.Type, r, o.Path)
	}
}

// importCycles reports outputs that would import each other.
func importCycles(outputs []*model.Output, imports map[*model.Output][]*model.Slot, l *diag.List) {
	var path []*model.Output
	done := map[*model.Output]bool{}
	var visit func(o *model.Output)
	visit = func(o *model.Output) {
		path = append(path, o)
		for _, s := range imports[o] {
			to := s.Package.Output
			if at := slices.Index(path, to); at >= 0 {
				var names []string
				for _, o := range path[at:] {
					names = append(names, o.Path)
				}
				l.Errorf(s.Pos, "slot %s makes the generated packages import each other (%s -> %s): give their sources one output with -out, or move the tasks into one package", s.Field.Name, strings.Join(names, " -> "), to.Path)
			} else if !done[to] {
				visit(to)
			}
		}
		path = path[:len(path)-1]
		done[o] = true
	}
	for _, o := range outputs {
		if !done[o] {
			visit(o)
		}
	}
}
