package bullmqgen

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// findOrphans looks for files that were generated from packages which have no
// tasks any more, or are gone, and for those that are switched off.
func findOrphans(loaded *source.Loaded, planned []File, c Config) ([]File, error) {
	var orphans []File
	for _, dir := range outputDirs(loaded, c.Out) {
		for _, pattern := range []string{"*.gen.go", "*.gen.d.ts"} {
			found, err := filepath.Glob(filepath.Join(escapeGlob(dir), pattern))
			if err != nil {
				return nil, err
			}
			for _, path := range found {
				if isPlanned(planned, path) {
					continue
				}
				text, err := os.ReadFile(path)
				if err != nil {
					return nil, err
				}
				from := templates.SourceOf(text)
				if from != "" && abandoned(loaded, planned, from, dir) {
					why := "package " + from + " has no tasks any more"
					if c.NoTypeScript && pattern == "*.gen.d.ts" {
						why = "type declarations are switched off"
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

// abandoned is true when nothing is generated any more from the package at
// path into dir. Packages that this run does not look at are not judged,
// unless they are gone.
func abandoned(loaded *source.Loaded, planned []File, path, dir string) bool {
	for _, f := range planned {
		if f.Source == path {
			return filepath.Dir(f.Path) == dir // under another name now
		}
	}
	for _, p := range loaded.All {
		if p.Path == path {
			return !p.Hidden
		}
	}
	for _, p := range loaded.All {
		if rel, ok := strings.CutPrefix(path, p.Module.Path+"/"); ok && p.Module.Path != "" {
			return !hasGo(filepath.Join(p.Module.Dir, filepath.FromSlash(rel)))
		}
	}
	return false
}

func hasGo(dir string) bool {
	files, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.go"))
	return err != nil || len(files) > 0
}

var globEscape = strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`)

func escapeGlob(dir string) string { return globEscape.Replace(dir) }
