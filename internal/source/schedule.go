package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/directive"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/naming"
)

// readSchedules completes the schedules of a task: their ids, and where their
// payloads come from.
func (r *reader) readSchedules(s *ast.TypeSpec, t *model.Task, payloads []*directive.Arg) {
	for i, schedule := range t.Schedules {
		if !schedule.Has("id") {
			schedule.ID = t.Name
		}
		if payloads[i] != nil {
			schedule.Payload = r.given(s, t, payloads[i])
			schedule.Broken = schedule.Broken || schedule.Payload == nil
		}
	}
}

// given finds the declaration that payload= names. It returns nil when there
// is none that gives a payload of the task.
func (r *reader) given(s *ast.TypeSpec, t *model.Task, arg *directive.Arg) *model.Given {
	name := arg.Value
	wanted := fmt.Sprintf("declare var %s = %s{...}, or func %s() %s, which may return an error too", wish(name, t), t.GoName, wish(name, t), t.GoName)
	if call := strings.TrimSuffix(name, "()"); call != name && token.IsIdentifier(call) {
		r.l.Errorf(arg.ValuePos, "payload=%s: write the name of the function alone, payload=%s", name, call)
		return nil
	}
	if !token.IsIdentifier(name) {
		r.l.Errorf(arg.ValuePos, "payload=%s is not a name of this package: %s, and write payload=%s", name, wanted, wish(name, t))
		return nil
	}
	scope, payload := r.unit.Types.Scope(), r.unit.Info.Defs[s.Name].Type()
	obj := scope.Lookup(name)
	if obj == nil {
		var near []string
		for _, n := range scope.Names() {
			if givenBy(scope.Lookup(n), payload) != nil {
				near = append(near, n)
			}
		}
		hint, found := ": "+wanted, naming.Nearest(name, near)
		if found != "" {
			hint = "; did you mean \"" + found + "\"?"
		}
		r.l.Errorf(arg.ValuePos, "payload=%s: this package declares no %s%s", name, name, hint)
		r.l.Suggest(name, found)
		return nil
	}
	if !obj.Exported() {
		r.l.Errorf(arg.ValuePos, "payload=%s is not exported, so the generated package cannot name it: begin its name with a capital letter", name)
		return nil
	}
	given := givenBy(obj, payload)
	if given == nil {
		r.l.Errorf(arg.ValuePos, "payload=%s is %s, but a payload of %s comes from a variable or constant of type %s, a func() %s or a func() (%s, error)",
			name, r.describe(obj), t.GoName, t.GoName, t.GoName, t.GoName)
	}
	return given
}

// wish is a name for a declaration: the one that was written, if it can be.
func wish(name string, t *model.Task) string {
	if token.IsIdentifier(name) && token.IsExported(name) {
		return name
	}
	return t.GoName + "Payload"
}

// givenBy is how a declaration gives a value of type t, or nil when it does not.
func givenBy(obj types.Object, t types.Type) *model.Given {
	if !obj.Exported() {
		return nil
	}
	switch obj.(type) {
	case *types.Var, *types.Const:
		if types.Identical(obj.Type(), t) {
			return &model.Given{Name: obj.Name()}
		}
	case *types.Func:
		f := obj.Type().(*types.Signature)
		n := f.Results().Len()
		if f.Params().Len() > 0 || f.TypeParams().Len() > 0 || n < 1 || n > 2 || !types.Identical(f.Results().At(0).Type(), t) {
			return nil
		}
		if n == 2 && !types.Identical(f.Results().At(1).Type(), types.Universe.Lookup("error").Type()) {
			return nil
		}
		return &model.Given{Name: obj.Name(), Call: true, Err: n == 2}
	}
	return nil
}

// describe says what a declaration is.
func (r *reader) describe(obj types.Object) string {
	text := types.TypeString(obj.Type(), func(p *types.Package) string {
		if p == r.unit.Types {
			return ""
		}
		return p.Name()
	})
	switch obj.(type) {
	case *types.Var:
		return "a variable of type " + text
	case *types.Const:
		return "a constant of type " + text
	case *types.Func:
		return "a " + text
	}
	return "a type"
}
