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
func planManifests(loaded *source.Loaded, outputs []*model.Output, planned []File, c Config) (manifests, gone []File, err error) {
	byDir := map[string]*model.Output{}
	dirs := outputDirs(loaded, c.Out)
	for _, o := range outputs {
		byDir[o.Dir] = o
		dirs = append(dirs, o.Dir)
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		path := filepath.Join(dir, manifest.FileName)
		disk, err := readManifest(path)
		if err != nil {
			return nil, nil, err
		}
		o := byDir[dir]
		if c.NoManifest {
			o = nil
		}
		if o == nil && disk == nil {
			continue
		}
		kept := disk.without(func(p *manifest.Package) bool { return abandonedIn(loaded, planned, p.Path, dir) })
		switch f := manifestFile(path, o, kept); {
		case o != nil, len(kept) > 0:
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

// abandonedIn is true for packages whose description is not to be kept: this
// run makes a new one, or there is nothing to describe.
func abandonedIn(loaded *source.Loaded, planned []File, path, dir string) bool {
	for _, f := range planned {
		if f.Source == path && filepath.Dir(f.Path) == dir {
			return true
		}
	}
	return abandoned(loaded, planned, path, dir)
}

// manifestFile is the manifest of the output, which may be nil, and of the
// packages that are kept.
func manifestFile(path string, o *model.Output, kept []*manifest.Package) File {
	f := File{Path: path, ours: func(text []byte) bool { return manifest.Ours(templates.Normal(text)) }}
	if o != nil {
		f.Source, f.pos = o.Path, check.Position(o.Packages[0])
	}
	f.content = func() ([]byte, error) {
		packages := slices.Clone(kept)
		if o != nil {
			for _, p := range o.Packages {
				packages = append(packages, manifest.Of(o, p))
			}
		}
		return manifest.New(packages).Bytes()
	}
	return f
}

// onDisk is a manifest that is there.
type onDisk struct {
	text []byte
	doc  *manifest.Document
}

func (d *onDisk) without(drop func(*manifest.Package) bool) []*manifest.Package {
	if d == nil || d.doc == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(d.doc.Packages), drop)
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
