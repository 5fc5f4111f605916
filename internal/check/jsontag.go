package check

import (
	"reflect"

	"github.com/bullmq-gen/bullmq-gen/internal/jsjson"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// jsonTag reports a json tag that does not mean the same with every Go version.
func (w *walk) jsonTag(f *model.Field, a at) {
	if !f.Exported && !f.Embedded {
		return
	}
	pos := a.pos
	if f.Source {
		pos = f.TagPos
	}
	if err := jsjson.CheckTag(reflect.StructTag(f.Tag).Get("json")); err != nil {
		w.l.Errorf(pos, "%s.%s: %v", a.path, f.Name, err)
	}
}
