package bullmqgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/manifest"
	"github.com/bullmq-gen/bullmq-gen/templates"
)

// Change is one change to a task, as jobs and programs of the version before
// meet it.
type Change = manifest.Change

// The levels of a Change.
const (
	Safe       = manifest.Safe
	NeedsAlias = manifest.Alias
	Breaking   = manifest.Breaking
)

// Breaks is true when a change is not safe.
func Breaks(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Level != Safe })
}

// Compatibility compares the tasks with the manifests that are on disk.
func (r *Result) Compatibility() ([]Change, error) {
	var all []Change
	for _, f := range r.manifests() {
		changes, err := compareTexts(r.Relative(f.Path), f.disk, f.Content)
		if errors.Is(err, manifest.ErrBroken) {
			continue // it is stale, which is told anyway
		}
		if err != nil {
			return nil, err
		}
		all = append(all, changes...)
	}
	return all, nil
}

// CompatibilityWith compares the tasks with the manifests of a git revision.
// Manifests that are there and on disk no more count as empty now.
func (r *Result) CompatibilityWith(ctx context.Context, revision string) ([]Change, error) {
	g := &git{r.dir, revision}
	listed, err := g.manifests(ctx)
	if err != nil {
		return nil, err
	}
	now := map[string][]byte{}
	for _, f := range r.manifests() {
		now[f.Path] = f.Content
	}
	for _, p := range listed {
		if _, err := os.Stat(p); now[p] == nil && errors.Is(err, os.ErrNotExist) {
			now[p] = []byte{}
		}
	}
	var all []Change
	for _, p := range slices.Sorted(maps.Keys(now)) {
		var old []byte
		if slices.Contains(listed, p) {
			if old, err = g.show(ctx, p); err != nil {
				return nil, err
			}
		}
		changes, err := compareTexts(r.Relative(p)+" of "+revision, old, now[p])
		if err != nil {
			return nil, err
		}
		all = append(all, changes...)
	}
	return all, nil
}

func (r *Result) manifests() []File {
	return slices.DeleteFunc(slices.Clone(r.Files), func(f File) bool { return filepath.Base(f.Path) != manifest.FileName })
}

// compareTexts compares two texts of a manifest; an empty one has no tasks.
// When there was none before, nothing has changed.
func compareTexts(name string, old, now []byte) ([]Change, error) {
	old = templates.Normal(old)
	if len(old) == 0 || !manifest.Ours(old) {
		return nil, nil
	}
	was, err := manifest.Parse(old)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be compared: %w", name, err)
	}
	var is *manifest.Document
	if len(now) > 0 {
		if is, err = manifest.Parse(now); err != nil {
			return nil, err
		}
	}
	return manifest.Compare(was, is), nil
}

// git reads files of a revision.
type git struct{ dir, revision string }

func (g *git) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = g.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		text, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		if text == "" {
			text = err.Error()
		}
		return nil, fmt.Errorf("git %s: %s", args[0], text)
	}
	return out.Bytes(), nil
}

// manifests are the paths of the revision's manifests, as they are on disk.
func (g *git) manifests(ctx context.Context) ([]string, error) {
	if strings.HasPrefix(g.revision, "-") || g.revision == "" {
		return nil, fmt.Errorf("%q is not a git revision", g.revision)
	}
	root, err := g.run(ctx, "rev-parse", "--show-cdup")
	if err != nil {
		return nil, err
	}
	top := filepath.Join(g.dir, strings.TrimSpace(string(root)))
	list, err := g.run(ctx, "ls-tree", "-r", "-z", "--name-only", "--full-tree", g.revision)
	if err != nil {
		return nil, fmt.Errorf("%w: fetch it first if it is a branch; clones in CI often have a single commit", err)
	}
	var found []string
	for name := range strings.SplitSeq(string(list), "\x00") {
		if path.Base(name) == manifest.FileName {
			found = append(found, filepath.Join(top, filepath.FromSlash(name)))
		}
	}
	return found, nil
}

func (g *git) show(ctx context.Context, file string) ([]byte, error) {
	rel, err := filepath.Rel(g.dir, file)
	if err != nil {
		return nil, err
	}
	return g.run(ctx, "show", g.revision+":./"+filepath.ToSlash(rel))
}
