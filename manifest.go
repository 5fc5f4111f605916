package bullmqgen

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/bullmq-gen/bullmq-gen/internal/check"
	"github.com/bullmq-gen/bullmq-gen/internal/manifest"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/source"
	"github.com/bullmq-gen/bullmq-gen/templates"
)

// planManifests plans the manifest of each output, and finds those that have
// nothing left to describe. An output may have packages that this run does not
// look at: what the manifest says of them is kept.
func (j *judge) planManifests(outputs []*model.Output, c Config) (manifests, gone []File, err error) {
	byDir := map[string]*model.Output{}
	dirs := outputDirs(j.loaded, c.Out)
	for _, o := range outputs {
		byDir[o.Dir] = o
		dirs = append(dirs, o.Dir)
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		m := &manifestPlan{path: filepath.Join(dir, manifest.FileName), output: byDir[dir]}
		disk, err := readManifest(m.path)
		if err != nil {
			return nil, nil, err
		}
		if c.NoManifest {
			m.output = nil
		}
		if m.output == nil && disk == nil {
			continue
		}
		if disk != nil && disk.doc == nil && !c.NoManifest {
			j.unreadable(m, dir)
		}
		m.drop = func(p *manifest.Package) bool { return c.NoManifest || j.described(p.Path, dir) || j.renamed(p, dir) }
		switch f := m.file(disk); {
		case m.output != nil, len(m.kept(disk)) > 0:
			manifests = append(manifests, f)
		default:
			f.State, f.disk, f.why = Orphan, disk.text, "no package is left to describe"
			if c.NoManifest {
				f.why = "the manifest is switched off"
			}
			gone = append(gone, f)
		}
	}
	return manifests, gone, nil
}

// described is true for packages whose description is not to be kept: this run
// makes a new one, or there is nothing to describe.
func (j *judge) described(path, dir string) bool {
	for _, f := range j.planned {
		if f.Source == path && filepath.Dir(f.Path) == dir {
			return true
		}
	}
	return j.abandoned(path, dir) != ""
}

// renamed is true for a package that has another import path now, as after its
// module was renamed, and for one whose folder is gone.
func (j *judge) renamed(p *manifest.Package, dir string) bool {
	files := p.Files() // all of one folder
	if len(files) == 0 {
		return false
	}
	folder := filepath.Dir(filepath.Join(dir, filepath.FromSlash(files[0])))
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return slices.ContainsFunc(j.loaded.All, func(l *source.Listed) bool { return l.Dir == folder && l.Path != p.Path })
}

// unreadable reports a manifest that cannot be read, as after a merge with
// conflicts, and that describes packages which this run does not look at.
func (j *judge) unreadable(m *manifestPlan, dir string) {
	files, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "*.gen.go")) // the pattern is well-formed
	for _, file := range files {
		text, err := os.ReadFile(file)
		from := templates.SourceOf(text)
		if err == nil && from != "" && !j.described(from, dir) {
			j.l.Errorf(position{}, "%s cannot be read, and it describes package %s too, which is not in this run: run bullmq-gen ./... in the folder of the module", j.l.Short(m.path), from)
			return
		}
	}
}

// manifestPlan is the manifest of an output, or one that has no output any more.
type manifestPlan struct {
	path   string
	output *model.Output // nil: there is none, or no manifest of it is wanted
	// drop is true for packages that are on disk and are not to be kept.
	drop func(*manifest.Package) bool
}

func (m *manifestPlan) kept(disk *onDisk) []*manifest.Package {
	if disk == nil || disk.doc == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(disk.doc.Packages), m.drop)
}

// text is the manifest with what is kept of the one on disk; nil: nothing is left
// to describe.
func (m *manifestPlan) text(disk *onDisk) ([]byte, error) {
	packages := m.kept(disk)
	if m.output != nil {
		for _, p := range m.output.Packages {
			packages = append(packages, manifest.Of(m.output, p))
		}
	}
	if len(packages) == 0 {
		return nil, nil
	}
	return manifest.New(packages).Bytes()
}

func (m *manifestPlan) file(disk *onDisk) File {
	f := File{Path: m.path, ours: func(text []byte) bool { return manifest.Ours(templates.Normal(text)) }}
	if m.output != nil {
		f.Source, f.pos = m.output.Path, check.Position(m.output.Packages[0])
	}
	f.content = func() ([]byte, error) { return m.text(disk) }
	f.again = func() ([]byte, error) {
		disk, err := readManifest(m.path)
		if err != nil {
			return nil, err
		}
		return m.text(disk)
	}
	return f
}

// onDisk is a manifest that is there.
type onDisk struct {
	text []byte
	doc  *manifest.Document
}

// readManifest returns nil when there is no manifest of ours, and one without
// a document when it cannot be read, as after a merge with conflicts.
func readManifest(path string) (*onDisk, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := &onDisk{text: text}
	text = templates.Normal(text)
	if !manifest.Ours(text) {
		return nil, nil
	}
	d.doc, err = manifest.Parse(text)
	if err != nil && !errors.Is(err, manifest.ErrBroken) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}
