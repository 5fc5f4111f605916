package source

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// leftover is what a package that once had tasks has left of them, such as a
// struct tag, and what may be meant as a directive.
var leftover = regexp.MustCompile(`(?im)bullmq[ \t]*:|^[ \t]*//[ \t]?[a-z-]+:(task|queue|retry|dedup|alias|schedule|upgrade)\b`)

// Doubt says why it is not certain that the package has no declarations of ours,
// although none was found, and where; "" when it is certain.
func (p *Listed) Doubt() (pos token.Position, why string) {
	if p.Problem != "" {
		return pos, "the package does not load (" + p.Problem + ")"
	}
	files, err := filepath.Glob(filepath.Join(escape(p.Dir), "*.go"))
	if err != nil {
		return pos, err.Error()
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return pos, err.Error()
		}
		if at := leftover.FindIndex(text); at != nil {
			line := 1 + strings.Count(string(text[:at[0]]), "\n")
			what := "this line looks as if there were one"
			if p.Hidden {
				what = "build constraints leave out a file that has directives; choose it with -tags or GOOS"
			}
			return position(file, line, 1), what
		}
		if _, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution); err != nil {
			return position(file, 1, 1), fmt.Sprintf("a file of it has a syntax error (%v)", err)
		}
	}
	return pos, ""
}

// escape is the folder as a pattern that matches it alone.
func escape(dir string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(dir)
}
