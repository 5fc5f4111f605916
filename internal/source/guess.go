package source

import (
	"context"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"
)

// guess is a load of types that begins before the go command has said which
// packages there are: the two questions to it then take the time of one. It
// counts only if it turns out to be right.
type guess struct {
	dirs []string
	// more are packages of the same modules that those in dirs import. They may
	// declare types of payloads, whose comments and constants are needed.
	more   []string
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
			g.more = c.importsOf(g.dirs)
			found, err = c.loadTypes(ctx, slices.Concat(g.dirs, g.more))
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
	return found, err, slices.Equal(dirs, g.dirs) && len(found) == len(dirs)+len(g.more)
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

// importsOf are the packages that the files with directives in the folders import
// from their own modules, without those that are in the folders themselves.
func (c *Config) importsOf(dirs []string) []string {
	var more []string
	for _, dir := range dirs {
		module := moduleOf(dir)
		if module.Path == "" {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*.go")) // of an odd folder name there are none
		for _, file := range files {
			if ok, _ := c.mentions(file); !ok {
				continue
			}
			syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				continue
			}
			for _, s := range syntax.Imports {
				path, _ := strconv.Unquote(s.Path.Value)
				rel, ok := strings.CutPrefix(path, module.Path+"/")
				at := filepath.Join(module.Dir, filepath.FromSlash(rel))
				if ok && !slices.Contains(dirs, at) && !slices.Contains(more, path) && ModuleDir(at) == module.Dir {
					more = append(more, path)
				}
			}
		}
	}
	return more
}

// moduleOf is the module of a folder, as its go.mod has it.
func moduleOf(dir string) Module {
	root := ModuleDir(dir)
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if root == "" || err != nil {
		return Module{}
	}
	return Module{Path: modfile.ModulePath(text), Dir: root}
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
