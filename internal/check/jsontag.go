package check

import (
	"reflect"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// jsonTag reports a json tag that encoding/json reads in one way up to Go 1.26
// and in another from Go 1.27, or that has no effect. One source must give the
// same JSON with every Go version.
func (w *walk) jsonTag(f *model.Field, a at) {
	tag := reflect.StructTag(f.Tag).Get("json")
	if tag == "" || tag == "-" || !f.Exported && !f.Embedded {
		return
	}
	pos := a.pos
	if f.Source {
		pos = f.TagPos
	}
	name, options, _ := strings.Cut(tag, ",")
	if name != "" && !model.ValidName(name) {
		w.l.Errorf(pos, "%s.%s: the JSON name %q has a character that Go 1.26 and 1.27 treat differently in a json tag: use letters, digits and -_./:", a.path, f.Name, name)
	}
	for option := range strings.SplitSeq(options, ",") {
		switch word := leadingWord(strings.TrimSpace(option)); {
		case word == "embed", word == "case", word == "format":
			w.l.Errorf(pos, "%s.%s: Go 1.26 ignores the option %q of the json tag, and Go 1.27 does not: leave it out", a.path, f.Name, option)
		case option == "omitempty", option == "omitzero", option == "string":
		case meant(word) != "":
			w.l.Errorf(pos, "%s.%s: the json tag has no option %q: write %q", a.path, f.Name, option, meant(word))
		}
	}
}

// leadingWord is the identifier that an option begins with.
func leadingWord(option string) string {
	for i, r := range option {
		if r != '_' && !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return option[:i]
		}
	}
	return option
}

// meant is the option that a word stands for in another spelling, or "".
func meant(word string) string {
	switch word = strings.ToLower(strings.ReplaceAll(word, "_", "")); word {
	case "omitempty", "omitzero", "string":
		return word
	}
	return ""
}
