package manifest

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// defs begins references to definitions. They are JSON pointers in URIs, and names
// of Go types may have any letters.
const defs = "#/$defs/"

var pointer = strings.NewReplacer("~", "~0", "/", "~1")

func reference(key string) string { return defs + url.PathEscape(pointer.Replace(key)) }

// referred is the definition that a reference names, or "".
func referred(ref string) string {
	key, err := url.PathUnescape(strings.TrimPrefix(ref, defs))
	if err != nil || !strings.HasPrefix(ref, defs) {
		return ""
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
}

// In memory each schema has its own definitions. In a file they stand once, for
// all schemas together.

// shared is the document as it is written.
func (d *Document) shared() *Document {
	out := *d
	out.Defs = map[string]*Schema{}
	texts := map[string]string{}
	out.Packages = slices.Clone(d.Packages)
	for i, p := range out.Packages {
		out.Packages[i] = p.with(func(s *Schema) *Schema { return out.share(s, texts) })
	}
	return &out
}

// mark separates the name of a definition from the number that tells it from
// another one of that name. Different types have one only when the manifest
// describes a package as it was before another one changed.
const mark = "@"

// share moves the definitions of a schema to those of the document.
func (d *Document) share(s *Schema, texts map[string]string) *Schema {
	for n := 1; ; n++ {
		rename := func(key string) string {
			if n > 1 {
				return key + mark + strconv.Itoa(n)
			}
			return key
		}
		mine, free := map[string]string{}, true
		for key, def := range s.Defs {
			text, _ := json.Marshal(def.renamed(rename)) // a schema has always a form
			mine[rename(key)] = string(text)
			if other, taken := texts[rename(key)]; taken && other != string(text) {
				free = false
			}
		}
		if !free {
			continue
		}
		maps.Copy(texts, mine)
		for key, def := range s.Defs {
			d.Defs[rename(key)] = def.renamed(rename)
		}
		out := s.renamed(rename)
		out.Defs = nil
		return out
	}
}

// own gives each schema its own definitions again.
func (d *Document) own() {
	original := func(key string) string {
		key, _, _ = strings.Cut(key, mark)
		return key
	}
	for i, p := range d.Packages {
		d.Packages[i] = p.with(func(s *Schema) *Schema {
			needed := map[string]*Schema{}
			d.collect(s, needed)
			out := s.renamed(original)
			for key, def := range needed {
				if out.Defs == nil {
					out.Defs = map[string]*Schema{}
				}
				out.Defs[original(key)] = def.renamed(original)
			}
			return out
		})
	}
	d.Defs = nil
}

// collect finds the definitions that a schema needs.
func (d *Document) collect(s *Schema, needed map[string]*Schema) {
	s.renamed(func(key string) string {
		if def := d.Defs[key]; def != nil && needed[key] == nil {
			needed[key] = def
			d.collect(def, needed)
		}
		return key
	})
}

// with is the package with other schemas.
func (p *Package) with(change func(*Schema) *Schema) *Package {
	out := *p
	out.Queues = slices.Clone(p.Queues)
	for i, q := range out.Queues {
		queue := *q
		queue.Tasks = slices.Clone(q.Tasks)
		for i, t := range queue.Tasks {
			task := *t
			task.Data = change(orAny(t.Data))
			if t.Result != nil {
				task.Result = change(t.Result)
			}
			task.Upgrades = slices.Clone(t.Upgrades)
			for i, u := range task.Upgrades {
				upgrade := *u
				upgrade.Data = change(orAny(u.Data))
				task.Upgrades[i] = &upgrade
			}
			queue.Tasks[i] = &task
		}
		out.Queues[i] = &queue
	}
	return &out
}

// orAny is the schema, or one that takes anything for one that is missing.
func orAny(s *Schema) *Schema {
	if s == nil {
		return &Schema{}
	}
	return s
}

// renamed is a copy of the schema, without its definitions, whose references name
// others.
func (s *Schema) renamed(rename func(key string) string) *Schema {
	if s == nil {
		return nil
	}
	out := *s
	out.Defs = nil
	if s.Ref != "" {
		out.Ref = reference(rename(referred(s.Ref)))
	}
	out.AnyOf = nil
	for _, one := range s.AnyOf {
		out.AnyOf = append(out.AnyOf, one.renamed(rename))
	}
	out.Items, out.Names, out.Additional = s.Items.renamed(rename), s.Names.renamed(rename), s.Additional.renamed(rename)
	if s.Properties != nil {
		out.Properties = map[string]*Schema{}
		for name, one := range s.Properties {
			out.Properties[name] = one.renamed(rename)
		}
	}
	return &out
}
