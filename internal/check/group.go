package check

import (
	"maps"
	"slices"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/naming"
)

// group checks the field that says which group a job of the queue is of. Jobs
// of tasks whose payloads lack it have no group, and no limit.
func group(q *model.Queue, l *diag.List) {
	if q.Group == "" {
		return
	}
	pos := q.At("group")
	if !q.Has("limit") {
		l.Errorf(pos, "group=%s says for whom a limit counts, but there is none: add limit=100/1m, or remove group", q.Group)
		return
	}
	found, broken := false, false
	near := map[string]bool{}
	for _, t := range q.Tasks {
		broken = broken || t.Broken
		if path := t.Payload.Find(q.Group); len(path) > 0 {
			found = true
			groupField(q, t, path, l)
		}
		for _, f := range t.Payload.Actual().Fields {
			if f.Exported {
				near[f.Name] = true
			}
		}
	}
	if found || broken { // what is broken is reported already
		return
	}
	hint := ""
	names := slices.Sorted(maps.Keys(near))
	if len(names) > 0 {
		hint = naming.DidYouMean(q.Group, names)
	}
	l.Errorf(pos, "group=%s: no task of queue %q has a field of that name%s", q.Group, q.Name, hint)
	if field := naming.Nearest(q.Group, names); field != "" {
		l.Suggest("group="+q.Group, "group="+field)
	}
}

// groupField checks the field of one task.
func groupField(q *model.Queue, t *model.Task, path []*model.Field, l *diag.List) {
	f := path[len(path)-1]
	refuse := func(format string, args ...any) {
		l.Errorf(q.At("group"), "group=%s: field %s.%s, at %v, "+format, append([]any{q.Group, t.GoName, f.Name, f.Pos}, args...)...)
	}
	switch {
	case !f.Exported:
		refuse("is not exported, so the generated package cannot read it: begin its name with a capital letter")
	case embedsPointer(path):
		refuse("sits in an embedded pointer, which may be nil: embed it by value")
	case !nameable(path):
		refuse("sits in an embedded type that is not exported, so the generated package cannot read it: export that type")
	case f.Type.Actual().Kind == model.Invalid: // reported already
	case !groupType(f.Type.Actual()):
		refuse("has type %s, but a group is a string, an integer or a bool, or a type declared as one of them", f.Type)
	case !written(t, path):
		refuse("is not written to JSON, so that workers do not see it: remove its json tag \"-\", or choose another field")
	}
}

func groupType(t *model.Type) bool {
	return t.Kind == model.String || t.Kind == model.Int || t.Kind == model.Bool
}

func embedsPointer(path []*model.Field) bool {
	return slices.ContainsFunc(path[:len(path)-1], func(f *model.Field) bool {
		return f.Type.Actual().Kind == model.Pointer
	})
}

func nameable(path []*model.Field) bool {
	return !slices.ContainsFunc(path, func(f *model.Field) bool { return !f.Exported })
}

// written is true when the field is a member of the payload's JSON object. A
// payload that writes itself is believed to.
func written(t *model.Task, path []*model.Field) bool {
	if t.Payload.JSON() || t.Payload.Text() {
		return true
	}
	members, _ := t.Payload.Actual().Members()
	return slices.ContainsFunc(members, func(m *model.Member) bool { return slices.Equal(m.Path, path) })
}
