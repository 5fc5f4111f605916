package source

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/directive"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// readType reads a type with directives.
func (r *reader) readType(s *ast.TypeSpec, doc string, lines []*directive.Directive) {
	r.once(lines)
	t := &model.Task{GoName: s.Name.Name, TypePos: r.position(s.Name.Pos()), Doc: doc}
	var task *directive.Directive
	var payloads []*directive.Arg // of the schedules, as they are written
	for _, d := range lines {
		switch d.Name {
		case "task":
			if task == nil {
				task = d
				result, children, codec := d.ReadTask(t, r.l)
				r.readResult(s, t, result)
				r.readChildren(s, t, children)
				r.readCodec(t, codec)
			}
		case "retry":
			t.Retry = d.ReadRetry(r.l)
		case "dedup":
			t.Dedup = d.ReadDedup(r.l)
		case "alias":
			t.Aliases = append(t.Aliases, d.ReadAlias(r.l)...)
		case "schedule":
			schedule, payload := d.ReadSchedule(r.l)
			t.Schedules = append(t.Schedules, schedule)
			payloads = append(payloads, payload)
		case "queue", "upgrade":
			r.misplaced(d, &above{what: "a type"})
		}
	}
	if task == nil {
		for _, d := range lines {
			if d.Name != "queue" && d.Name != "upgrade" {
				r.l.Errorf(d.Pos, "%s needs a task: write //bullmq:task QUEUE/NAME above it", d)
			}
		}
		return
	}
	if r.readPayload(s, t) {
		r.out.Tasks = append(r.out.Tasks, t)
		r.readSchedules(s, t, payloads)
	}
}

// readPayload describes the annotated type itself.
func (r *reader) readPayload(s *ast.TypeSpec, t *model.Task) bool {
	for _, e := range r.types.errorsIn(s.Pos(), s.End()) {
		r.l.Errorf(r.position(e.Pos), "%s", e.Msg)
		t.Broken = true
	}
	obj := r.unit.Info.Defs[s.Name]
	if obj == nil {
		return false
	}
	t.Payload = r.types.of(obj.Type())
	if tv, ok := r.unit.Info.Types[s.Type]; ok && !s.Assign.IsValid() {
		t.Payload.Raw = isRawMessage(tv.Type)
	}
	return true
}

// isRawMessage reports whether t is json.RawMessage. It is a type of its own up
// to Go 1.26, and from Go 1.27 an alias of jsontext.Value.
func isRawMessage(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return false
	}
	switch n.Obj().Pkg().Path() {
	case "encoding/json":
		return n.Obj().Name() == "RawMessage"
	case "encoding/json/jsontext":
		return n.Obj().Name() == "Value"
	}
	return false
}

// readResult resolves result=T.
func (r *reader) readResult(s *ast.TypeSpec, t *model.Task, arg *directive.Arg) {
	if arg == nil {
		return
	}
	t.ResultPos = arg.ValuePos
	found, failed := r.typeIn(s, arg, "the task has no result")
	if found != nil {
		t.Result = r.types.of(found)
	}
	t.Broken = t.Broken || failed
}

// typeIn resolves key=T as if T stood in the file of the type. It reports what
// is not a type; failed is true when the type checker makes nothing of it.
func (r *reader) typeIn(s *ast.TypeSpec, arg *directive.Arg, without string) (t types.Type, failed bool) {
	if arg.Value == "" {
		r.l.Errorf(arg.Pos, "%s needs a type: write %s=T, or leave it out when %s", arg.Key, arg.Key, without)
		return nil, false
	}
	tv, err := types.Eval(r.unit.Fset, r.unit.Types, s.Pos(), arg.Value)
	if err != nil {
		message := evalMessage(err)
		if strings.HasPrefix(message, "undefined") {
			if name, _, ok := strings.Cut(arg.Value, "."); ok && len(r.types.failedImports(s.Pos(), name)) > 0 {
				message = r.types.undefinedPackage(name, s.Pos())
			} else {
				message += importHint(arg)
			}
		}
		r.l.Errorf(arg.ValuePos, "%s=%s: %s", arg.Key, arg.Value, message)
		return nil, true
	}
	if name, _, ok := strings.Cut(arg.Value, "."); ok && !tv.IsType() {
		if failed := r.types.failedImports(s.Pos(), name); len(failed) > 0 {
			r.l.Errorf(arg.ValuePos, "%s=%s: its package cannot be imported: %s", arg.Key, arg.Value, r.types.whyImport(failed[0]))
			return nil, true
		}
	}
	if !tv.IsType() {
		r.l.Errorf(arg.ValuePos, "%s=%s is not a type", arg.Key, arg.Value)
		return nil, false
	}
	return tv.Type, false
}

// evalMessage is the error without the position in the made-up file.
func evalMessage(err error) string {
	if e, ok := err.(types.Error); ok {
		return e.Msg
	}
	text := err.Error()
	if _, rest, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(text, "eval:") {
		return rest
	}
	return text
}

// importHint says what to do about the type of a package that the file does
// not import, and cannot import for a comment's sake.
func importHint(arg *directive.Arg) string {
	expr := strings.TrimLeft(arg.Value, "*[]")
	if at := strings.IndexByte(expr, '.'); at > 0 && token.IsIdentifier(expr[:at]) {
		name := strings.ToUpper(arg.Key[:1]) + arg.Key[1:]
		return "; for a type of another package declare an alias here, type " + name + " = " + expr + ", and write " + arg.Key + "=" + name
	}
	return "; declare it in this package"
}

// tagWords returns the words of a tag's bullmq key. In a raw literal that
// begins at start each word has a position of its own.
func tagWords(tag string, start token.Position, raw bool) []model.Word {
	pairs, _ := directive.ParseTag(tag) // the error is reported when the tag matters, see package check
	var words []model.Word
	for _, p := range pairs {
		if p.Key != directive.Tool {
			continue
		}
		at := p.Offset
		for text := range strings.SplitSeq(p.Value, ",") {
			pos := start
			if raw {
				pos.Column += at
				pos.Offset += at
			}
			words = append(words, model.Word{Text: strings.TrimSpace(text), Pos: pos})
			at += len(text) + 1
		}
	}
	return words
}
