package bullmqgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/manifest"
)

// git asks the git command about the repository that a folder is in.
type git struct {
	dir string
	// top is the root of the work tree, once base was called.
	top string
}

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

// base is the commit at which the present branch left the revision. What was
// changed there since is no change of this branch.
func (g *git) base(ctx context.Context, revision string) (string, error) {
	if strings.TrimSpace(revision) == "" || strings.HasPrefix(revision, "-") {
		return "", fmt.Errorf("%q is not a git revision: name a branch, a tag or a commit, such as origin/main", revision)
	}
	top, err := g.run(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", err
	}
	g.top = realPath(filepath.FromSlash(strings.TrimSpace(string(top))))
	if _, err := g.run(ctx, "rev-parse", "--verify", "--end-of-options", revision+"^{commit}"); err != nil {
		return "", fmt.Errorf("%q: %w: fetch it first if it is a branch; clones in CI often have a single commit", revision, err)
	}
	base, err := g.run(ctx, "merge-base", revision, "HEAD")
	if err != nil {
		return "", fmt.Errorf("%s and HEAD have no commit in common here: fetch more of the history, as git fetch --unshallow does", revision)
	}
	return strings.TrimSpace(string(base)), nil
}

// name is how a file is called in revisions.
func (g *git) name(file string) string {
	rel, err := filepath.Rel(g.top, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

// manifestsOf are the manifests of a commit.
func (g *git) manifestsOf(ctx context.Context, commit string) ([]manifest.Located, error) {
	list, err := g.run(ctx, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	var found []manifest.Located
	for _, name := range manifestNames(list) {
		text, err := g.run(ctx, "show", commit+":"+name)
		if err != nil {
			return nil, err
		}
		d, err := parseManifest(name+" of "+commit, text)
		if err != nil {
			return nil, err
		}
		if d != nil {
			found = append(found, manifest.Located{Document: d, Path: name})
		}
	}
	return found, nil
}

// manifestsOnDisk are the paths of manifests in the work tree, without those that
// git ignores. Some may not exist any more.
func (g *git) manifestsOnDisk(ctx context.Context) ([]string, error) {
	at := &git{dir: g.top}
	list, err := at.run(ctx, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ":(glob)**/"+manifest.FileName)
	if err != nil {
		return nil, errors.Join(errors.New("the manifests of the repository cannot be listed"), err)
	}
	var found []string
	for _, name := range manifestNames(list) {
		found = append(found, filepath.Join(g.top, filepath.FromSlash(name)))
	}
	return found, nil
}

// manifestNames are the manifests in a list of names.
func manifestNames(list []byte) []string {
	var names []string
	for name := range strings.SplitSeq(string(list), "\x00") {
		if path.Base(name) == manifest.FileName {
			names = append(names, name)
		}
	}
	return names
}
