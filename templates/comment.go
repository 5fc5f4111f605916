package templates

import (
	"fmt"
	"go/doc"
	"go/doc/comment"
	"regexp"
	"strings"
)

// width is how wide comments become, without the slashes.
const width = 77

// prose returns the lines of a comment: the given sentences as one paragraph,
// then what the user wrote about the declaration.
func prose(sentences, users string) []string {
	text := sentences + "\n"
	if users = strings.TrimSpace(users); users != "" {
		text += "\n" + users + "\n"
	}
	var parser comment.Parser
	printer := comment.Printer{TextWidth: width}
	var lines []string
	for line := range strings.Lines(string(printer.Text(parser.Parse(text)))) {
		line = strings.TrimRight(line, "\n")
		if line != "" && !strings.HasPrefix(line, "\t") {
			line = " " + line
		}
		lines = append(lines, "//"+line)
	}
	return lines
}

// sentence is the first sentence of a doc comment, or "".
func sentence(users string) string { return new(doc.Package).Synopsis(users) }

var plain = regexp.MustCompile(`^[\pL\pN][\pL\pN._/-]*$`)

// called is a name as it stands in a sentence: in quotes if it has to.
func called(name string) string {
	if plain.MatchString(name) {
		return name
	}
	return fmt.Sprintf("%q", name)
}
