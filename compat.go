package bullmqgen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/bullmq-gen/bullmq-gen/internal/manifest"
	"github.com/bullmq-gen/bullmq-gen/templates"
)

// Change is one change to a task, as jobs and programs of the version before
// meet it.
type Change = manifest.Change

// The levels of a Change.
const (
	Safe       = manifest.Safe
	Warning    = manifest.Warning
	NeedsAlias = manifest.Alias
	Breaking   = manifest.Breaking
)

// Breaks is true when a change is neither safe nor only a warning.
func Breaks(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Level == NeedsAlias || c.Level == Breaking })
}

// Compatibility compares the tasks with the manifests that are on disk.
func (r *Result) Compatibility() ([]Change, error) {
	var old, now []manifest.Located
	for _, f := range r.manifests() {
		was, err := parseManifest(r.Relative(f.Path), f.disk)
		if errors.Is(err, manifest.ErrBroken) {
			continue // it is stale, which is told anyway
		}
		if err != nil {
			return nil, err
		}
		is, err := parseManifest(r.Relative(f.Path), f.Content)
		if err != nil {
			return nil, err
		}
		if was != nil { // without one before, nothing has changed
			old, now = append(old, manifest.Located{Document: was, Path: f.Path}), append(now, manifest.Located{Document: is, Path: f.Path})
		}
	}
	return manifest.CompareAll(old, now), nil
}

// CompatibilityWith compares all tasks of the git repository with those that the
// revision had when the present branch left it, which is the revision itself if
// the branch has all of it. Tasks are known by their queues and names: where they
// are declared, and where their manifests are, does not matter. Tasks of outputs
// that are not in the run count as the manifests on disk describe them.
func (r *Result) CompatibilityWith(ctx context.Context, revision string) ([]Change, error) {
	g := &git{dir: r.dir}
	base, err := g.base(ctx, revision)
	if err != nil {
		return nil, err
	}
	old, err := g.manifestsOf(ctx, base)
	if err != nil {
		return nil, err
	}
	if len(old) == 0 {
		return nil, nil // without one before, nothing has changed
	}
	now, err := r.present(ctx, g)
	if err != nil {
		return nil, err
	}
	return manifest.CompareAll(old, now), nil
}

// present are the manifests of the run, and the others that the repository has on
// disk.
func (r *Result) present(ctx context.Context, g *git) ([]manifest.Located, error) {
	var all []manifest.Located
	ours := map[string]bool{}
	for _, f := range r.manifests() {
		path := realPath(f.Path)
		ours[path] = true
		d, err := parseManifest(r.Relative(f.Path), f.Content)
		if err != nil {
			return nil, err
		}
		all = append(all, manifest.Located{Document: d, Path: g.name(path)})
	}
	others, err := g.manifestsOnDisk(ctx)
	if err != nil {
		return nil, err
	}
	for _, path := range others {
		if ours[realPath(path)] {
			continue
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		d, err := parseManifest(r.Relative(path), text)
		if err != nil {
			return nil, err
		}
		if d != nil {
			d.Keep(func(t *manifest.Task) bool { // what was moved away may still be described where it was
				_, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(t.Go.File)))
				return err == nil
			})
		}
		all = append(all, manifest.Located{Document: d, Path: g.name(realPath(path))})
	}
	return all, nil
}

func (r *Result) manifests() []File {
	return slices.DeleteFunc(slices.Clone(r.Files), func(f File) bool { return filepath.Base(f.Path) != manifest.FileName })
}

// parseManifest reads a manifest; it is nil when there is none, or one of somebody
// else.
func parseManifest(name string, text []byte) (*manifest.Document, error) {
	text = templates.Normal(text)
	if len(text) == 0 || !manifest.Ours(text) {
		return nil, nil
	}
	d, err := manifest.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be compared: %w", name, err)
	}
	return d, nil
}

// realPath is the path without symbolic links, as far as it exists.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(realPath(dir), filepath.Base(path))
}
