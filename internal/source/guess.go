package source

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"
)

// guess is a load of types that begins before the go command has said which
// packages there are: the two questions to it then take the time of one. It
// counts only if it turns out to be right.
type guess struct {
	dirs   []string
	cancel context.CancelFunc
	result func() ([]*packages.Package, error)
}

// guess begins to load what looks like the annotated packages of the patterns.
func (c *Config) guess(ctx context.Context) *guess {
	ctx, cancel := context.WithCancel(ctx)
	g := &guess{cancel: cancel}
	done := make(chan struct{})
	var found []*packages.Package
	var err error
	go func() {
		defer close(done)
		if g.dirs = c.guessDirs(); len(g.dirs) > 0 {
			found, err = c.loadTypes(ctx, g.dirs)
		}
	}()
	g.result = func() ([]*packages.Package, error) {
		<-done
		return found, err
	}
	return g
}

// take returns the packages if they are those in dirs, sorted, and gives up
// the guess otherwise.
func (g *guess) take(dirs []string) ([]*packages.Package, error, bool) {
	defer g.cancel()
	found, err := g.result()
	return found, err, slices.Equal(dirs, g.dirs) && len(found) == len(dirs)
}

// guessDirs are the folders below the patterns that have a file with a
// directive, sorted. Patterns that are no folders give none.
func (c *Config) guessDirs() []string {
	var dirs []string
	for _, p := range c.Patterns {
		root, all := strings.CutSuffix(filepath.FromSlash(p), string(filepath.Separator)+"...")
		if !filepath.IsAbs(root) && root != "." && root != ".." && !strings.HasPrefix(p, "./") && !strings.HasPrefix(p, "../") {
			return nil
		}
		if !filepath.IsAbs(root) {
			root = filepath.Join(c.Dir, root)
		}
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || d.Type().IsRegular() && !isSource(d.Name()):
				return nil // the go command will say so
			case d.IsDir() && path != root && (!all || ignored(d.Name())):
				return filepath.SkipDir
			case d.Type().IsRegular():
				if ok, _ := c.mentions(path); ok && !slices.Contains(dirs, filepath.Dir(path)) {
					dirs = append(dirs, filepath.Dir(path))
				}
			}
			return nil
		})
	}
	slices.Sort(dirs)
	return dirs
}

// ignored is true for folders that the pattern ... leaves out.
func ignored(name string) bool {
	return name[0] == '.' || name[0] == '_' || name == "testdata" || name == "vendor"
}

// texts remembers which files mention a directive, since both questions ask.
type texts struct{ sync.Map }

// mentions is true for a file that may have a directive.
func (c *Config) mentions(file string) (bool, error) {
	type answer struct {
		ok  bool
		err error
	}
	once, _ := c.texts.LoadOrStore(file, sync.OnceValue(func() answer {
		ok, err := mentions(file)
		return answer{ok, err}
	}))
	a := once.(func() answer)()
	return a.ok, a.err
}
