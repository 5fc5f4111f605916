package check

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/jsjson"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// jsonTag reports a json tag that does not mean the same with every Go version,
// and options that have no effect on the field.
func (w *walk) jsonTag(f *model.Field, a at) {
	if !f.Exported && !f.Embedded {
		return
	}
	pos := a.pos
	if f.Source {
		pos = f.TagPos
	}
	tag := reflect.StructTag(f.Tag).Get("json")
	if err := jsjson.CheckTag(tag); err != nil {
		w.l.Errorf(pos, "%s.%s: %v", a.path, f.Name, err)
		return
	}
	_, list, _ := strings.Cut(tag, ",")
	if options := strings.Split(list, ","); f.Source && f.Type != nil {
		for _, problem := range withoutEffect(f.Type, options) {
			w.l.Warnf(pos, "%s.%s: %s", a.path, f.Name, problem)
		}
	}
}

// withoutEffect says which options of a json tag do nothing for a type.
func withoutEffect(t *model.Type, options []string) (problems []string) {
	actual := t.Actual()
	if slices.Contains(options, "string") && (!t.Quotable() || actual.SelfMade()) {
		problems = append(problems, fmt.Sprintf("the option \"string\" has no effect on %s: it is for numbers, bool and string", t.Describe()))
	}
	if slices.Contains(options, "omitempty") && !slices.Contains(options, "omitzero") &&
		(actual.Kind == model.Struct || actual.Kind == model.Array && actual.Len > 0) {
		problems = append(problems, fmt.Sprintf("\"omitempty\" has no effect on %s, which is never empty: write \"omitzero\", or use a pointer", t.Describe()))
	}
	return problems
}
