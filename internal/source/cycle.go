package source

import (
	"go/build"
	"path/filepath"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// reportCycle reports an import of p that leads to its own output, which
// imports p. It reads import declarations itself, since the output may not be
// there yet, and then the go command sees no cycle.
func reportCycle(imports *importer, p *model.Package, o *model.Output, l *diag.List) {
	for _, i := range p.Imports {
		if chain := imports.path(i.Path, o.Path, map[string]bool{p.Path: true}); chain != nil {
			way := ""
			if len(chain) > 1 {
				way = " (through " + strings.Join(chain[:len(chain)-1], ", ") + ")"
			}
			l.Errorf(i.Pos, "import cycle: package %s imports its own output %s%s, which imports it: move the annotated types to a package of their own", p.Path, o.Path, way)
			return
		}
	}
}

// importer follows imports within one module; the zero value follows none.
type importer struct {
	module  Module
	context build.Context
	known   map[string][]string
}

// path returns the packages on the way from one to another, the ends
// included, or nil.
func (i *importer) path(from, to string, seen map[string]bool) []string {
	if from == to {
		return []string{to}
	}
	if seen[from] {
		return nil
	}
	seen[from] = true
	for _, next := range i.imports(from) {
		if chain := i.path(next, to, seen); chain != nil {
			return append([]string{from}, chain...)
		}
	}
	return nil
}

// imports are the packages that the one at path imports; none for packages of
// other modules, which cannot import the output.
func (i *importer) imports(path string) []string {
	rel, ok := strings.CutPrefix(path+"/", i.module.Path+"/")
	if !ok || i.module.Dir == "" {
		return nil
	}
	if known, ok := i.known[path]; ok {
		return known
	}
	dir := filepath.Join(i.module.Dir, filepath.FromSlash(rel))
	found, err := i.context.ImportDir(dir, 0)
	if found == nil || err != nil && len(found.Imports) == 0 {
		found = &build.Package{}
	}
	i.known[path] = found.Imports
	return found.Imports
}
