package check

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// untyped reports a type that writes its own JSON, unless it is known what
// that looks like, or a tag says so.
func (w *walk) untyped(t *model.Type, a at) {
	actual := t.Writer()
	known := actual.Is("time", "Time") || actual.Is("encoding/json", "RawMessage") || actual.Is("math/big", "Int")
	if !w.typescript || known || a.typed {
		return
	}
	cure := "add a tag such as `ts:\"string\"`"
	if !a.nested {
		cure = "put it into a field with a tag such as `ts:\"string\"`"
	}
	w.l.Errorf(a.pos, "%s (%s) writes its own JSON, and nothing tells Node programs what it looks like: %s, or leave the type declarations out with -ts=false", a.path, t, cure)
}

// typeTag checks the TypeScript type that a field's tag tells.
func (w *walk) typeTag(f *model.Field, path string) {
	text, written := reflect.StructTag(f.Tag).Lookup("ts")
	if !written || !f.Source || !w.typescript {
		return
	}
	if err := typeProblem(text); err != nil {
		w.l.Errorf(f.TagPos, "%s.%s: the tag ts:%q %v", path, f.Name, text, err)
	}
}

// typeProblem says what is wrong with the text of a TypeScript type, as far as
// it would break the file that it is written to; nil: nothing.
func typeProblem(text string) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("is empty: write a TypeScript type, such as string")
	}
	var open []rune
	var quote rune
	for _, r := range text {
		switch {
		case r < ' ':
			return fmt.Errorf("has a control character: write the type in one line")
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'' || r == '`':
			quote = r
		case r == ';' && len(open) == 0:
			return fmt.Errorf("has a semicolon: write one type")
		case strings.ContainsRune("([{", r):
			open = append(open, r)
		case strings.ContainsRune(")]}", r):
			if n := len(open); n == 0 || !strings.Contains("() [] {}", string(open[n-1])+string(r)) {
				return fmt.Errorf("has a bracket %c too many", r)
			}
			open = open[:len(open)-1]
		}
	}
	if quote != 0 || len(open) > 0 {
		return fmt.Errorf("is cut off: a quote or bracket is not closed")
	}
	return nil
}
