package bullmqgen

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/dirlock"
	"github.com/bullmq-gen/bullmq-gen/internal/textdiff"
	"github.com/bullmq-gen/bullmq-gen/templates"
)

// State says how a generated file stands to what is on disk.
type State string

// The states of a file.
const (
	Fresh  State = "fresh"  // as it is on disk
	Stale  State = "stale"  // other than on disk
	New    State = "new"    // not on disk
	Orphan State = "orphan" // on disk, but there are no tasks for it any more
)

// File is one generated file.
type File struct {
	// Path is absolute.
	Path string
	// Source is the import path of the annotated package; that of the output
	// for a manifest, unless the run knows none of its packages.
	Source string
	// Content is what the file is to hold; nil for an orphan.
	Content []byte
	State   State

	disk []byte // what it holds now
	pos  position
	// content makes up Content.
	content func() ([]byte, error)
	// ours is true for the text of a file that may be overwritten.
	ours func(text []byte) bool
	// again makes up what the file is to hold by what is on disk now, for a file in
	// which others write too: nil when nothing is left. It is nil for other files.
	again func() ([]byte, error)
	// why says why an orphan is one.
	why string
}

func sortFiles(files []File) {
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}

// compare reads what is on disk. A file that somebody else wrote is an error.
func (f *File) compare(l *diag.List) error {
	disk, err := os.ReadFile(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.State = New
		return nil
	case err != nil:
		return err
	case !f.ours(disk):
		l.Errorf(f.pos, "%s was not written by bullmq-gen and would be overwritten: move it away, or choose another folder with -out", l.Short(f.Path))
		return nil
	}
	f.disk, f.State = disk, Stale
	if bytes.Equal(templates.Normal(disk), f.Content) {
		f.State = Fresh
	}
	return nil
}

// Changes are the files that Write would write or remove.
func (r *Result) Changes() []File {
	return slices.DeleteFunc(slices.Clone(r.Files), func(f File) bool { return f.State == Fresh })
}

// Write writes the files that are new or stale and removes orphans. Each file
// is replaced as a whole, so that a program that reads it, or that is killed
// meanwhile, finds the old text or the new one and never a part. Files that
// are as they should be are not touched. Several runs may share an output: what
// one says in the manifest is kept by the others.
func (r *Result) Write() error {
	if r.Failed() {
		return errors.New("there are errors: nothing is written")
	}
	for _, orphans := range []bool{false, true} { // first what is new: a run that is killed loses nothing
		for i := range r.Files {
			if f := &r.Files[i]; f.State != Fresh && (f.State == Orphan) == orphans {
				if err := f.write(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// write writes or removes the file. One that other runs write too is made up anew
// while they wait.
func (f *File) write() error {
	if f.again != nil {
		dir := filepath.Dir(f.Path)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		unlock, err := dirlock.Lock(dir)
		if err != nil {
			return err
		}
		defer unlock()
		if f.Content, err = f.again(); err != nil {
			return err
		}
	}
	if f.Content != nil {
		return replace(f.Path, f.Content)
	}
	if err := os.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// replace puts content at path in one step, through a file beside it.
func replace(path string, content []byte) error {
	dir, base := filepath.Split(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	sweep(dir, base)
	temp, err := os.CreateTemp(dir, tempPrefix(base)+"*")
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	err = errors.Join(err, temp.Chmod(0o644), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

// tempPrefix begins with a dot, so that the go command ignores the file.
func tempPrefix(base string) string { return "." + base + ".tmp" }

// sweep removes what runs that were killed left behind.
func sweep(dir, base string) {
	left, _ := filepath.Glob(filepath.Join(escapeGlob(dir), tempPrefix(base)+"*")) // the pattern is well-formed
	for _, name := range left {
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(name) // another run may have been faster
		}
	}
}

// Diff shows what Write would change, in the unified format; "" when nothing.
func (r *Result) Diff() string {
	var out strings.Builder
	for _, f := range r.Changes() {
		name := r.Relative(f.Path)
		old, new := "a/"+name, "b/"+name
		switch f.State {
		case New:
			old = "/dev/null"
		case Orphan:
			new = "/dev/null"
		}
		out.WriteString(textdiff.Unified(old, new, string(templates.Normal(f.disk)), string(f.Content)))
	}
	return out.String()
}

// Relative is a path as messages name it.
func (r *Result) Relative(path string) string {
	return (&diag.List{Base: r.base}).Short(path)
}
