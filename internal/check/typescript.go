package check

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
	before := "" // the last token; "a" for a word or a literal
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		token := rest[:size]
		switch {
		case r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029':
			return fmt.Errorf("has a control character: write the type in one line")
		case r == ' ':
			rest = rest[size:]
			continue
		case strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*"):
			return fmt.Errorf("has a comment: write the type alone, and the comment above the field")
		case strings.HasPrefix(rest, "=>"), strings.HasPrefix(rest, "?."):
			token = rest[:2]
		case strings.ContainsRune("\"'`", r):
			if token = literal(rest, r); token == "" {
				return fmt.Errorf("is cut off: a quote or bracket is not closed")
			}
		case isWord(r):
			token = rest[:len(rest)-len(strings.TrimLeftFunc(rest, isWord))]
		case strings.ContainsRune("([{<", r):
			open = append(open, r)
		case strings.ContainsRune(")]}>", r):
			if n := len(open); n == 0 || !strings.Contains("() [] {} <>", string(open[n-1])+string(r)) {
				return fmt.Errorf("has a bracket %c too many", r)
			}
			open = open[:len(open)-1]
		case (r == ';' || r == ',') && len(open) == 0:
			return fmt.Errorf("has a %q: write one type", r)
		case !strings.ContainsRune("|&.?:;,-+=", r):
			return fmt.Errorf("has a %q, which no type has", r)
		}
		if err := follows(before, token); err != nil {
			return err
		}
		before, rest = token, rest[len(token):]
	}
	if len(open) > 0 {
		return fmt.Errorf("is cut off: a quote or bracket is not closed")
	}
	if slices.Contains(strings.Fields("| & . ? : - + = =>"), before) || operators[before] {
		return fmt.Errorf("is cut off behind %q", before)
	}
	return nil
}

// literal is the text in quotes at the beginning of rest, or "" when it has no end.
func literal(rest string, quote rune) string {
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case byte(quote):
			return rest[:i+1]
		}
	}
	return ""
}

func isWord(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// operators are words that a type follows.
var operators = map[string]bool{
	"keyof": true, "typeof": true, "readonly": true, "unique": true, "infer": true, "extends": true, "is": true,
	"asserts": true, "new": true, "abstract": true, "in": true, "as": true,
}

// follows reports a word behind another one, and an operator behind an operator.
func follows(before, token string) error {
	operand := func(s string) bool {
		r, _ := utf8.DecodeRuneInString(s)
		return s != "" && !operators[s] && (isWord(r) || strings.ContainsRune("\"'`", r))
	}
	switch {
	case operand(before) && operand(token), strings.Contains(")]}>", before) && before != "" && operand(token):
		return fmt.Errorf("has %q behind %q with nothing between them: write one type", token, before)
	case (before == "|" || before == "&") && slices.Contains(strings.Fields("| & . ) ] } > ; , =>"), token):
		return fmt.Errorf("has a %q with no type behind it", before)
	case before == "" && slices.Contains(strings.Fields(". ? : ; , = => +"), token):
		return fmt.Errorf("begins with %q", token)
	}
	return nil
}
