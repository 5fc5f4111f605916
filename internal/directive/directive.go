// Package directive reads the //bullmq: lines and the bullmq struct tags of a
// program: their grammar, their closed set of words, and the values that the
// words take.
package directive

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
)

// Tool is what directives begin with, and the key of struct tags.
const Tool = "bullmq"

// Directive is one line such as //bullmq:retry attempts=5.
type Directive struct {
	Name string
	Pos  token.Position // of the "//"
	Args []Arg
}

// Arg is one argument: a word, or key=value.
type Arg struct {
	Text       string
	Key, Value string // when it has the form key=value
	Pos        token.Position
	ValuePos   token.Position
}

// String is the directive as one refers to it.
func (d *Directive) String() string { return "//" + Tool + ":" + d.Name }

var (
	keyValue = regexp.MustCompile(`^([A-Za-z][A-Za-z_-]*)=`)
	nearMiss = regexp.MustCompile(`(?i)^//\s*bullmq\s*:\s*([a-z]+)\b`)
)

// Parse reads a comment. It returns nil for what is not a directive of ours,
// and reports comments that look like one but are not.
func Parse(fset *token.FileSet, c *ast.Comment, l *diag.List) *Directive {
	pos := fset.Position(c.Slash)
	line, ok := ast.ParseDirective(c.Slash, c.Text)
	if !ok || line.Tool != Tool {
		warnNearMiss(pos, c.Text, l)
		return nil
	}
	d := &Directive{Name: line.Name, Pos: pos}
	args, err := line.ParseArgs()
	if err != nil {
		l.Errorf(fset.Position(line.ArgsPos), "%s: %v; quote a whole argument, as in \"a b\", or leave the quotes out", d, err)
		return nil
	}
	end := 0 // of what was read
	for _, a := range args {
		at := int(a.Pos - c.Slash)
		if at < end {
			continue // it is part of the value before
		}
		arg := Arg{Text: a.Arg, Pos: fset.Position(a.Pos)}
		arg.ValuePos = arg.Pos
		if m := keyValue.FindStringSubmatch(a.Arg); m != nil {
			arg.Key, arg.Value = m[1], a.Arg[len(m[0]):]
			before := len(m[0])
			if value, after, ok := unquote(c.Text, at+before); ok {
				arg.Value, end = value, after
				before++
			} else if quoted(c.Text, at) {
				before++
			}
			arg.ValuePos.Column += before
			arg.ValuePos.Offset += before
		}
		d.Args = append(d.Args, arg)
	}
	return d
}

// unquote reads a value that is in quotes as a whole, as in id="hourly", and
// says where it ends.
func unquote(text string, at int) (value string, end int, ok bool) {
	if !quoted(text, at) {
		return "", 0, false
	}
	whole, err := strconv.QuotedPrefix(text[at:])
	if end = at + len(whole); err != nil || end < len(text) && text[end] != ' ' && text[end] != '\t' {
		return "", 0, false
	}
	value, err = strconv.Unquote(whole)
	return value, end, err == nil
}

func quoted(text string, at int) bool {
	return at >= 0 && at < len(text) && (text[at] == '"' || text[at] == '`')
}

func warnNearMiss(pos token.Position, text string, l *diag.List) {
	m := nearMiss.FindStringSubmatch(text)
	if m == nil {
		return
	}
	word := strings.ToLower(m[1])
	if _, known := words[word]; known {
		l.Warnf(pos, "this is a comment, not a directive: write //%s:%s, without spaces and in lower case", Tool, word)
		l.Suggest(m[0], "//"+Tool+":"+word)
	}
}
