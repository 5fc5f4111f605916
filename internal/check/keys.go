package check

import (
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/directive"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/naming"
)

// keyRule says which types a word of the tag takes.
type keyRule struct {
	takes func(t *model.Type) bool
	// wants are those types in words, with the cure.
	wants string
	// several fields may have the word.
	several bool
}

var keyRules = map[string]keyRule{
	model.WordDedup: keyParts,
	model.WordJobID: keyParts,
	model.WordPriority: {
		takes: func(t *model.Type) bool { return t.Kind == model.Int },
		wants: "an integer: 1 is the most urgent, 2097151 the least, and 0 means none",
	},
	model.WordDelay: {
		takes: func(t *model.Type) bool {
			return t.Is(model.RuntimePath, "Millis") || t.Is("time", "Time")
		},
		wants: "a bullmq.Millis, how long to wait, or a time.Time, when to run",
	},
}

// keyParts are the fields of which an id is made.
var keyParts = keyRule{
	takes: func(t *model.Type) bool {
		if t.Kind == model.Pointer {
			t = t.Elem.Actual()
		}
		return isPlain(t) || t.Is("time", "Time")
	},
	wants:   "a string, bool, integer, float or time.Time, a type declared as one of them, or a pointer to one",
	several: true,
}

// isPlain is true for types whose equal values always look equal.
func isPlain(t *model.Type) bool {
	switch t.Kind {
	case model.Bool, model.Int, model.Float, model.String:
		return true
	}
	return false
}

// keys checks the tagged fields of a payload.
func keys(t *model.Task, l *diag.List) {
	first := map[string]model.Key{}
	for _, k := range t.Keys() {
		if strings.HasPrefix(k.Word.Text, model.WordScope) {
			scope(t, k, l)
			continue
		}
		rule, known := keyRules[k.Word.Text]
		if !known {
			unknownWord(k, l)
			continue
		}
		if before, again := first[k.Word.Text]; again && (!rule.several || before.Field() == k.Field()) {
			l.Errorf(k.Word.Pos, "%s has the tag %q twice: the other is at %v", t.GoName, k.Word.Text, before.Word.Pos)
			continue
		}
		first[k.Word.Text] = k
		key(t, k, rule, l)
	}
	if _, tagged := first[model.WordDedup]; t.Dedup != nil && !tagged {
		l.Errorf(t.Dedup.At(), "//bullmq:dedup needs to know what two equal jobs have in common: tag one or more fields of %s with `bullmq:\"dedup\"`", t.GoName)
	}
}

// scope checks a word such as scope=orders.
func scope(t *model.Task, k model.Key, l *diag.List) {
	name := strings.TrimPrefix(k.Word.Text, model.WordScope)
	if err := directive.NameProblem(name, "scope"); err != nil {
		l.Errorf(k.Word.Pos, "the tag %q: %v", k.Word.Text, err)
		return
	}
	if !k.Has(model.WordJobID) && !k.Has(model.WordDedup) {
		l.Errorf(k.Word.Pos, "the tag %q says whose keys an id is among, and field %s is part of none: write it beside %s or %s", k.Word.Text, k.Field().Name, model.WordJobID, model.WordDedup)
		return
	}
	for _, word := range []string{model.WordJobID, model.WordDedup} {
		if other := t.Scope(word); k.Has(word) && other != name {
			l.Errorf(k.Word.Pos, "the tag %q: the %s of %s has the scope %q already; write one", k.Word.Text, word, t.GoName, other)
		}
	}
}

func unknownWord(k model.Key, l *diag.List) {
	word := k.Word.Text
	if strings.HasPrefix(word, model.WordOnFail) {
		l.Errorf(k.Word.Pos, "the tag %q is for slots: it belongs to a field of a struct that children= names", word)
		return
	}
	if word == strings.TrimSuffix(model.WordScope, "=") {
		l.Errorf(k.Word.Pos, "the tag %q needs a name: write scope=NAME", word)
		return
	}
	l.Errorf(k.Word.Pos, "unknown word %q in the bullmq tag of field %s%s", word, k.Field().Name, naming.DidYouMean(word, directive.TagWords))
	l.Suggest(word, naming.Nearest(word, directive.TagWords))
}

// key checks one tagged field.
func key(t *model.Task, k model.Key, rule keyRule, l *diag.List) {
	f := k.Field()
	if !f.Exported {
		l.Errorf(k.Word.Pos, "field %s is not exported, so the generated package cannot read it: begin its name with a capital letter", f.Name)
		return
	}
	for _, e := range k.Path[:len(k.Path)-1] {
		if !e.Exported {
			l.Errorf(k.Word.Pos, "%s embeds the unexported type %s, so the generated package cannot read this field: export that type, or tag a field of %s itself", t.GoName, e.Name, t.GoName)
			return
		}
		if e.Type.Actual().Kind == model.Pointer {
			l.Errorf(k.Word.Pos, "%s embeds a pointer to %s, which may be nil: embed it by value, or tag a field of %s itself", t.GoName, e.Name, t.GoName)
			return
		}
	}
	if actual := f.Type.Actual(); actual.Kind != model.Invalid && !rule.takes(actual) {
		l.Errorf(k.Word.Pos, "field %s has type %s, but the tag %q takes %s", f.Name, f.Type, k.Word.Text, rule.wants)
	}
}
