package jsjson

import (
	"fmt"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/jsonfield"
)

// CheckTag reports a json tag that encoding/json reads in one way up to Go 1.26
// and in another from Go 1.27, or whose option has no effect.
func CheckTag(tag string) error {
	if tag == "" || tag == "-" {
		return nil
	}
	name, options, _ := strings.Cut(tag, ",")
	if name != "" && !jsonfield.ValidName(name) {
		return fmt.Errorf("the JSON name %q has a character that Go 1.26 and 1.27 treat differently in a json tag: use letters, digits and - _ . : /", name)
	}
	for option := range strings.SplitSeq(options, ",") {
		switch word := leadingWord(strings.TrimSpace(option)); {
		case word == "embed", word == "case", word == "format":
			return fmt.Errorf("the option %q of the json tag is ignored by Go 1.26 and not by Go 1.27: leave it out", option)
		case option == "omitempty", option == "omitzero", option == "string":
		case meant(word) != "":
			return fmt.Errorf("the json tag has no option %q: write %q", option, meant(word))
		}
	}
	return nil
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
