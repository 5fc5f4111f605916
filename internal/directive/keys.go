package directive

import (
	"go/token"
	"maps"
	"slices"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/naming"
)

// setters say what to do with the value of each key. A key that takes no
// value has a nil reader in flags instead.
type setters struct {
	values map[string]func(value string) error
	flags  map[string]*bool
	// place takes an argument that is no key; nil: there must be none.
	place func(a Arg)
}

// read gives every argument to its setter and reports those that have none.
// It returns where each key was written, and whether all was well.
func (d *Directive) read(s setters, l *diag.List) (places model.Places, ok bool) {
	errors := l.Errors()
	places = model.Places{"": d.Pos}
	for _, a := range d.Args {
		key := a.Key
		if key == "" && (s.flags[a.Text] != nil || s.values[a.Text] != nil) {
			key = a.Text
		}
		if key == "" {
			d.positional(s, a, l)
			continue
		}
		if places.Has(key) {
			l.Errorf(a.Pos, "%s has %s twice", d, key)
			continue
		}
		places[key] = a.Pos
		d.set(s, key, a, l)
	}
	return places, l.Errors() == errors
}

func (d *Directive) set(s setters, key string, a Arg, l *diag.List) {
	flag, set := s.flags[key], s.values[key]
	switch {
	case flag != nil && a.Key != "":
		l.Errorf(a.Pos, "%s in %s takes no value: write %s, or leave it out", key, d, key)
	case flag != nil:
		*flag = true
	case set == nil:
		d.unknown(key, a.Pos, l)
	case a.Key == "":
		l.Errorf(a.Pos, "%s in %s needs a value: write %s=...", key, d, key)
	default:
		if err := set(a.Value); err != nil {
			l.Errorf(a.ValuePos, "%s in %s: %v", key, d, err)
		}
	}
}

func (d *Directive) positional(s setters, a Arg, l *diag.List) {
	if s.place != nil {
		s.place(a)
		return
	}
	if d.reject(a.Text, a.Pos, l) {
		return
	}
	l.Errorf(a.Pos, "unexpected %q in %s%s", a.Text, d, naming.DidYouMean(a.Text, words[d.Name]))
	l.Suggest(a.Text, naming.Nearest(a.Text, words[d.Name]))
}

func (d *Directive) unknown(key string, pos token.Position, l *diag.List) {
	if d.reject(key, pos, l) {
		return
	}
	if naming.Nearest(key, words[d.Name]) == "" {
		for _, name := range slices.Sorted(maps.Keys(words)) {
			if near := naming.Nearest(key, words[name]); near != "" {
				l.Errorf(pos, "unknown key %q in %s; did you mean %q, which is a key of //%s:%s?", key, d, near, Tool, name)
				return
			}
		}
	}
	l.Errorf(pos, "unknown key %q in %s%s", key, d, naming.DidYouMean(key, words[d.Name]))
	l.Suggest(key, naming.Nearest(key, words[d.Name]))
}

// reject explains a key that exists, but not here.
func (d *Directive) reject(key string, pos token.Position, l *diag.List) bool {
	owner := ownerOf(key)
	if owner == "" {
		return false
	}
	l.Errorf(pos, "%s is not a key of %s: write it in a line of its own, //%s:%s", key, d, Tool, owner)
	return true
}
