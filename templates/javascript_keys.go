package templates

import (
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// keys sets the functions that take options of a job from its payload.
func (m *module) keys(t *model.Task, o *jsObject) {
	if hidden := hiddenKeys(t); len(hidden) > 0 {
		var names []string
		for _, k := range hidden {
			names = append(names, k.Field().Name)
		}
		o.set("fields", jsTexts(names))
	}
	m.id("jobId", model.WordJobID, t, o)
	m.id("deduplicationId", model.WordDedup, t, o)
	if d := t.Dedup; d != nil {
		var mode jsObject
		mode.millis("ttl", d.TTL)
		mode.flag("extend", d.Extend)
		mode.flag("replace", d.Replace)
		mode.flag("keepLastIfActive", d.KeepLast)
		mode.flag("reschedule", d.Reschedule)
		if len(mode) > 0 {
			o.set("deduplication", mode.inline())
		}
	}
	for _, k := range t.Keys() {
		v := accessTo(t, k)
		switch {
		case k.Word.Text == model.WordPriority:
			o.set("priority", v.function(v.number()))
		case k.Word.Text != model.WordDelay:
		case k.Field().Type.Is("time", "Time"):
			o.set("delay", v.function(m.use("until")+"("+v.expr+")"))
		default:
			o.set("delay", v.function(v.number()))
		}
	}
}

// id sets the function that makes an id of the fields with a word.
func (m *module) id(option, word string, t *model.Task, o *jsObject) {
	args := []string{tsText(t.Scope(word))}
	hidden := false
	for _, k := range t.Keys() {
		if k.Word.Text == word {
			v := accessTo(t, k)
			args = append(args, m.textOf(k.Field().Type, v))
			hidden = hidden || v.hidden
		}
	}
	if len(args) == 1 {
		return
	}
	all := access{hidden: hidden}
	value := all.function(m.use("key") + "(" + strings.Join(args, ", ") + ")")
	if len(value) > 100 {
		value = all.function("key(\n    " + strings.Join(args, ",\n    ") + ",\n  )")
	}
	o.set(option, value)
}

// textOf is the text of a value in a key.
func (m *module) textOf(typ *model.Type, v access) string {
	actual, optional := typ.Actual(), false
	if actual.Kind == model.Pointer {
		actual, optional = actual.Elem.Actual(), true
	}
	of := m.use(textPart(actual, v.quoted))
	if optional {
		return m.use("optional") + "(" + v.expr + ", " + of + ")"
	}
	return of + "(" + v.expr + ")"
}

// textPart is the part that makes the text of a value of the type.
func textPart(t *model.Type, quoted bool) string {
	switch {
	case t.Is("time", "Time"):
		return "time"
	case t.Kind == model.Bool:
		return "bool"
	case t.Kind == model.Int:
		return "integer"
	case t.Basic == "float32":
		return "float32"
	case t.Kind == model.Float:
		return "float"
	case quoted:
		return "quoted"
	}
	return "text"
}

// access is how a function of the module reads the value of a tagged field.
type access struct {
	expr string
	// may be missing, and in a string, as JSON has it.
	optional, quoted bool
	// hidden values are not in the payload's JSON, or in a form that only Go knows:
	// the caller passes them.
	hidden bool
}

// accessTo finds the field in the payload's JSON.
func accessTo(t *model.Task, k model.Key) access {
	v := access{expr: "p"}
	if !v.through(t.Payload, k.Path) {
		return access{expr: "keys" + jsMember(k.Field().Name, false), hidden: true}
	}
	return v
}

// through follows the path from a struct; false: JSON does not show where it leads.
func (v *access) through(t *model.Type, path []*model.Field) bool {
	actual := t.Actual()
	if actual.SelfMade() || actual.Kind != model.Struct {
		return false
	}
	members, _ := actual.Members()
	for _, m := range members {
		n := len(m.Path)
		if n > len(path) || !slices.Equal(m.Path, path[:n]) {
			continue
		}
		v.expr += jsMember(m.Name, v.optional)
		v.optional = v.optional || m.Optional()
		v.quoted = m.Quoted
		if n == len(path) {
			return plainJSON(m.Field().Type)
		}
		return v.through(m.Field().Type, path[n:])
	}
	return false
}

// plainJSON is true for types of key fields whose JSON is the value itself.
func plainJSON(t *model.Type) bool {
	actual := t.Actual()
	if actual.Kind == model.Pointer {
		actual = actual.Elem.Actual()
	}
	return actual.Is("time", "Time") || !actual.SelfMade()
}

func jsMember(name string, optional bool) string {
	switch plain := tsIdentifier.MatchString(name); {
	case plain && optional:
		return "?." + name
	case plain:
		return "." + name
	case optional:
		return "?.[" + tsText(name) + "]"
	}
	return "[" + tsText(name) + "]"
}

// number is the value as a number; 0 when it is missing.
func (v access) number() string {
	expr := v.expr
	if v.optional {
		expr += " ?? 0"
	}
	if v.quoted {
		return "Number(" + expr + ")"
	}
	return expr
}

// function is one that returns the expression, of a payload and of what the caller
// passes in the place of what it does not show.
func (v access) function(expr string) string {
	if v.hidden {
		return "(p, keys) => " + expr
	}
	return "(p) => " + expr
}

// hiddenKeys are the tagged fields that the payload's JSON does not show, each once.
func hiddenKeys(t *model.Task) []model.Key {
	var hidden []model.Key
	for _, k := range t.Keys() {
		known := slices.ContainsFunc(hidden, func(h model.Key) bool { return h.Field() == k.Field() })
		if !strings.HasPrefix(k.Word.Text, model.WordScope) && !known && accessTo(t, k).hidden {
			hidden = append(hidden, k)
		}
	}
	return hidden
}
