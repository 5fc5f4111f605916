package check

import (
	"go/token"
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/directive"
	"github.com/bullmq-gen/bullmq-gen/internal/jsjson"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// walk follows everything that JSON makes of a type and reports what does not
// survive the way to a peer and back.
type walk struct {
	l        *diag.List
	payloads map[*model.Type]bool
	// typescript asks for a TypeScript type of everything.
	typescript bool
	// old is true for a payload that is read and never written.
	old  bool
	seen map[visit]bool
}

// visit is a type that is met at a place. A type of a foreign package is
// reported again at each place from where it is reached.
type visit struct {
	t   *model.Type
	pos token.Position
}

// at is where the walk is: what led there, and the nearest place in the
// user's source.
type at struct {
	path string
	pos  token.Position
	// quoted is true below the option ",string".
	quoted bool
	// nested is true below a field, element below a slice or map.
	nested, element bool
	// typed is true below a field whose tag tells its TypeScript type.
	typed bool
}

func (a at) into(suffix string) at {
	a.path += suffix
	a.quoted, a.element = false, true
	return a
}

// payload checks the type that a task directive stands above.
func payload(t *model.Task, w *walk, l *diag.List) {
	p, actual := t.Payload, t.Payload.Actual()
	refuse := func(format string, args ...any) {
		l.Errorf(t.TypePos, "payload %s "+format, append([]any{t.GoName}, args...)...)
	}
	switch {
	case p.Params > 0:
		refuse("is a generic type without type arguments: annotate an instance instead, type %sOfItem = %s[Item]", t.GoName, t.GoName)
		return
	case actual.Kind == model.Pointer:
		refuse("is a pointer: annotate the type that it points to")
		return
	case p.Raw:
		refuse("is a copy of json.RawMessage that lacks its methods, and would be written as base64: write type %s = json.RawMessage", t.GoName)
		return
	}
	if lock := actual.Lock; lock != "" && actual.Kind != model.Struct {
		refuse("contains %s, which must not be copied: keep it out of the payload", lock)
	}
	for _, f := range actual.Fields {
		if f.Type == nil || f.Type.Actual().Lock == "" {
			continue
		}
		pos := t.TypePos
		if f.Source {
			pos = f.Pos
		}
		l.Errorf(pos, "%s.%s contains %s, which must not be copied, and payloads are passed by value: keep it out of the payload", t.GoName, f.Name, f.Type.Actual().Lock)
	}
	w.value(p, at{path: t.GoName, pos: t.TypePos})
}

// result checks the type that result= names.
func result(t *model.Task, w *walk, l *diag.List) {
	if t.Result.Params > 0 {
		l.Errorf(t.ResultPos, "result %s is a generic type without type arguments: write %s[T]", t.Result, t.Result)
		return
	}
	path := "result"
	if t.Result.Name != "" {
		path += " " + t.Result.String()
	}
	if lock := t.Result.Actual().Lock; lock != "" {
		l.Errorf(t.ResultPos, "%s contains %s, which must not be copied, and results are passed by value: keep it out of the result, or return a pointer, result=*T", path, lock)
		return
	}
	w.value(t.Result, at{path: path, pos: t.ResultPos})
}

func (w *walk) value(t *model.Type, a at) {
	actual := t.Actual()
	if v := (visit{actual, a.pos}); w.seen[v] {
		return
	} else {
		w.seen[v] = true
	}
	switch {
	case actual.Is("time", "Duration"):
		w.refuse(t, a, "is a time.Duration, which JSON writes in nanoseconds and Node reads as milliseconds: use bullmq.Millis, or an int field named in its unit")
		return
	case actual.Is(model.RuntimePath, "Millis"):
		return
	case w.hidden(t, a), w.oneSided(t, a, false):
		return
	case actual.JSON():
		w.untyped(t, a)
		return
	case actual.Text():
		return
	}
	w.kind(t, actual, a)
}

// hidden reports a struct that encodes itself by the methods of a type that it
// embeds, and so without its other fields.
func (w *walk) hidden(t *model.Type, a at) bool {
	actual := t.Actual()
	if actual.Kind == model.Pointer && actual.Name == "" {
		return w.hidden(actual.Elem, a)
	}
	from := actual.HiddenBy()
	if from == nil {
		return false
	}
	if from.Source {
		a.pos = from.Pos
	}
	w.l.Errorf(a.pos, "%s embeds %s, whose JSON methods become its own, so that all other fields are lost: give the field a name", described(t, a), from.Type)
	return true
}

// described is the path to a type, and its name when the path does not end in it.
func described(t *model.Type, a at) string {
	if t.Name == "" && !a.element || strings.HasSuffix(a.path, t.Name) && !a.nested && !a.element {
		return a.path
	}
	return a.path + " (" + t.String() + ")"
}

// oneSided reports a type that is not read as it is written. Of the types of
// payloads that are only read it wants the methods that read.
func (w *walk) oneSided(t *model.Type, a at, key bool) bool {
	m := t.Actual().Methods
	methods := jsjson.Methods{
		MarshalJSON: m.MarshalJSON || w.old && m.UnmarshalJSON, UnmarshalJSON: m.UnmarshalJSON,
		MarshalText: m.MarshalText || w.old && m.UnmarshalText, UnmarshalText: m.UnmarshalText,
		MarshalJSONTo: m.MarshalJSONTo, UnmarshalJSONFrom: m.UnmarshalJSONFrom,
	}
	if t.Is("encoding/json", "Number") { // has methods from Go 1.27, and the same JSON
		return false
	}
	err := methods.Problem(described(t, a), key)
	if err != nil {
		w.l.Errorf(a.pos, "%v", err)
	}
	return err != nil
}

func (w *walk) kind(t, actual *model.Type, a at) {
	switch actual.Kind {
	case model.Invalid:
		w.refuse(t, a, "has a type that does not compile: "+actual.Why)
	case model.Int:
		w.integer(t, actual, a)
	case model.Complex, model.Chan, model.Func, model.UnsafePointer:
		w.refuse(t, a, "is %s, which JSON cannot hold: leave it out with `json:\"-\"`, or send what it is made from")
	case model.Interface:
		w.refuse(t, a, "is %s, an interface, and nothing says which type to decode: use a concrete type, or json.RawMessage for any JSON")
	case model.Pointer:
		if actual.Endless() {
			w.refuse(t, a, "is %s, a pointer type that leads to itself and has no end: declare the struct, and point to it where it is used, as in type Node struct{ Next *Node }")
			return
		}
		w.value(actual.Elem, at{path: a.path, pos: a.pos, quoted: a.quoted, nested: a.nested, typed: a.typed})
	case model.Slice, model.Array:
		if actual.Kind == model.Array || !actual.Bytes() { // bytes are base64
			w.value(actual.Elem, a.into("[]"))
		}
	case model.Map:
		w.key(actual.Key, a)
		w.value(actual.Elem, a.into("[]"))
	case model.Struct:
		w.fields(actual, a)
	}
}

// refuse reports a type. The first %s of the message is the type.
func (w *walk) refuse(t *model.Type, a at, message string) {
	message = strings.Replace(message, "%s", t.Describe(), 1)
	w.l.Errorf(a.pos, "%s %s", a.path, message)
}

// integer warns of integers that JavaScript rounds.
func (w *walk) integer(t, actual *model.Type, a at) {
	if w.old || a.quoted || actual.Basic != "int64" && actual.Basic != "uint64" {
		return
	}
	cure := "with `json:\",string\"`"
	if a.element {
		cure = "in strings"
	}
	w.l.Warnf(a.pos, "%s is %s, and adding a value over 2^53 is an error, since Node would round it: use %s if it stays below, or write it as text %s",
		a.path, t.Describe(), strings.TrimSuffix(actual.Basic, "64"), cure)
}

// key checks the key type of a map.
func (w *walk) key(t *model.Type, a at) {
	actual := t.Actual()
	switch {
	case actual.Is("time", "Duration"):
		w.refuse(t, a.into("[key]"), "is a time.Duration, which JSON writes in nanoseconds: use a string or bullmq.Millis")
	case actual.Kind == model.Pointer:
		w.refuse(t, a.into("[key]"), "is %s, and a pointer cannot be the key of a JSON object: use what it points to")
	case actual.Text():
		if inner := a.into("[key]"); !w.hidden(t, inner) {
			w.oneSided(t, inner, true)
		}
	case actual.Kind == model.String, actual.Kind == model.Int:
	case actual.Kind == model.Invalid:
		w.refuse(t, a.into("[key]"), "has a type that does not compile: "+actual.Why)
	default:
		w.refuse(t, a.into("[key]"), "is %s, which cannot be the key of a JSON object: use a string, an integer, or a type with MarshalText and UnmarshalText")
	}
}

// fields follows the members that JSON writes of a struct.
func (w *walk) fields(t *model.Type, a at) {
	members, dropped := t.Members()
	for _, group := range dropped {
		w.dropped(group, a)
	}
	w.tags(t, a)
	if len(members)+len(dropped) == 0 && t.Forgotten() {
		w.forgotten(t, a)
	}
	for _, m := range members {
		f := m.Field()
		if f.Type == nil {
			continue
		}
		next := at{path: a.path, pos: a.pos, quoted: m.Quoted, nested: true, typed: a.typed || f.TypeScript() != ""}
		for _, f := range m.Path {
			next.path += "." + f.Name
		}
		if f.Source {
			next.pos = f.Pos
		}
		w.embeddedPointers(m, next)
		w.value(f.Type, next)
	}
}

// forgotten reports a struct of which JSON sees nothing. It is an error where the
// user can change the struct.
func (w *walk) forgotten(t *model.Type, a at) {
	if t.Fields[0].Source {
		w.l.Errorf(a.pos, "%s has no exported fields, and is written as {}: export them, or leave them out with `json:\"-\"`", described(t, a))
		return
	}
	w.l.Warnf(a.pos, "%s has no exported fields, and is written as {}, so that what it holds is lost: send what you need of it", described(t, a))
}

// dropped warns of fields that JSON leaves out because they share a name.
func (w *walk) dropped(group []*model.Member, a at) {
	first, second := group[0].Field(), group[1].Field()
	pos := a.pos
	if first.Source {
		pos = first.Pos
	}
	if !second.Source || second == first {
		w.l.Warnf(pos, "%s has two fields that JSON calls %q, and leaves out both: rename one in its json tag", a.path, group[0].Name)
		return
	}
	w.l.Warnf(pos, "%s has two fields that JSON calls %q, and leaves out both: rename one in its json tag; the other is at %v", a.path, group[0].Name, second.Pos)
}

// embeddedPointers refuses members that can be written but never read.
func (w *walk) embeddedPointers(m *model.Member, a at) {
	for _, f := range m.Path[:len(m.Path)-1] {
		if !f.Exported && f.Type.Actual().Kind == model.Pointer {
			w.l.Errorf(a.pos, "%s cannot be decoded: it sits in an embedded pointer to the unexported type %s; embed it by value", a.path, f.Type.Actual().Elem)
		}
	}
}

// tags checks how the struct tags of t and of what it embeds are written, and
// that ours stand where they work.
func (w *walk) tags(t *model.Type, a at, above ...*model.Type) {
	for _, f := range t.Fields {
		if _, err := directive.ParseTag(f.Tag); f.Source && err != nil {
			w.l.Errorf(f.TagPos, "%s.%s: %v", a.path, f.Name, err)
		}
		w.jsonTag(f, a)
		w.typeTag(f, a.path)
		if a.nested && f.Source && !w.payloads[t] {
			for _, word := range f.Words {
				w.l.Warnf(word.Pos, "the tag %q has no effect here: it works on fields of a payload itself and of structs that the payload embeds", word.Text)
			}
		}
		if inner := f.EmbeddedStruct(); inner != nil && inner != t && !slices.Contains(above, inner) {
			w.tags(inner, a, append(slices.Clone(above), t)...)
		}
	}
}
