package bullmqgen

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/source"
	"github.com/bullmq-gen/bullmq-gen/templates"
)

// namesIn are the base names of files of this run in dir.
func namesIn(dir string, lists ...[]File) []string {
	var names []string
	for _, f := range slices.Concat(lists...) {
		if filepath.Dir(f.Path) == dir {
			names = append(names, filepath.Base(f.Path))
		}
	}
	return names
}

// judge tells generated code that is still wanted from code whose source is gone.
// Only what is certain counts: all else is reported, and nothing is removed.
type judge struct {
	loaded  *source.Loaded
	planned []File
	l       *diag.List
	doubted map[string]bool
	// roots are the folders below which the run takes in all packages.
	roots []string
}

// abandoned says why nothing is generated any more from the package at path into
// dir, or "" when that is not so. Packages that this run does not look at are not
// judged, unless they are gone.
func (j *judge) abandoned(path, dir string) (why string) {
	for _, f := range j.planned {
		if f.Source == path {
			if filepath.Dir(f.Path) == dir {
				return "package " + path + " is generated into another file now"
			}
			return ""
		}
	}
	for _, p := range j.loaded.All {
		if p.Path == path {
			return j.without(p)
		}
	}
	for _, p := range j.loaded.All {
		rel, ok := strings.CutPrefix(path, p.Module.Path+"/")
		if !ok || p.Module.Path == "" {
			continue
		}
		folder := filepath.Join(p.Module.Dir, filepath.FromSlash(rel))
		switch entries, err := os.ReadDir(folder); {
		case os.IsNotExist(err):
			return "package " + path + " is gone with its folder"
		case err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return filepath.Ext(e.Name()) == ".go" }):
			return "package " + path + " is gone: there are no Go files in its folder"
		case j.takesIn(folder): // and the go command does not list it
			j.without(&source.Listed{Path: path, Dir: folder, Hidden: true})
		}
		return ""
	}
	return ""
}

// takesIn is true for folders that the patterns of the run take in.
func (j *judge) takesIn(folder string) bool {
	return slices.ContainsFunc(j.roots, func(root string) bool {
		rel, err := filepath.Rel(root, folder)
		return err == nil && filepath.IsLocal(rel) && !strings.Contains(rel, "testdata") && !strings.HasPrefix(rel, "_")
	})
}

// rootsOf are the folders of patterns such as ./..., which take in all below.
func rootsOf(dir string, patterns []string) []string {
	var roots []string
	for _, p := range patterns {
		if root, all := strings.CutSuffix(filepath.FromSlash(p), string(filepath.Separator)+"..."); all {
			if !filepath.IsAbs(root) {
				root = filepath.Join(dir, root)
			}
			roots = append(roots, root)
		}
	}
	return roots
}

// without is for a package that was read and has no tasks.
func (j *judge) without(p *source.Listed) (why string) {
	pos, doubt := p.Doubt()
	if doubt == "" {
		return "package " + p.Path + " has no tasks any more"
	}
	if !j.doubted[p.Path] {
		j.doubted[p.Path] = true
		j.l.Errorf(pos, "no task is found in package %s, from which there is generated code, but %s: nothing is removed; mend that, or remove the generated files yourself", p.Path, doubt)
	}
	return ""
}

// findOrphans looks for files that were generated from packages which have no
// tasks any more, or are gone, and for those that are switched off.
func (j *judge) findOrphans(c Config) ([]File, error) {
	var orphans []File
	for _, dir := range outputDirs(j.loaded, c.Out) {
		for _, pattern := range []string{"*.gen.go", "*.gen.d.ts", "*.gen.js"} {
			found, err := filepath.Glob(filepath.Join(escapeGlob(dir), pattern))
			if err != nil {
				return nil, err
			}
			for _, path := range found {
				if isPlanned(j.planned, path) {
					continue
				}
				text, err := os.ReadFile(path)
				if err != nil {
					return nil, err
				}
				from := templates.SourceOf(text)
				if from == "" {
					continue
				}
				if why := j.abandoned(from, dir); why != "" {
					if c.NoTypeScript && pattern != "*.gen.go" {
						why = "what is for Node programs is switched off"
					}
					orphans = append(orphans, File{Path: path, Source: from, State: Orphan, disk: text, why: why})
				}
			}
		}
	}
	return orphans, nil
}

func isPlanned(planned []File, path string) bool {
	return slices.ContainsFunc(planned, func(f File) bool { return f.Path == path })
}

// outputDirs are the folders in which there may be files of ours.
func outputDirs(loaded *source.Loaded, out string) []string {
	var dirs []string
	for _, p := range loaded.All {
		if p.Dir != "" {
			dirs = append(dirs, p.Dir, source.OutputDir(p.Dir, out))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Summary says in one line what became of a file.
func (r *Result) Summary(f File) string {
	if f.State == Orphan {
		return fmt.Sprintf("%s: removed, since %s", r.Relative(f.Path), f.why)
	}
	return fmt.Sprintf("%s: %s", r.Relative(f.Path), f.State)
}

var globEscape = strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`)

func escapeGlob(dir string) string { return globEscape.Replace(dir) }
