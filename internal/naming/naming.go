// Package naming makes Go identifiers out of names that were not made for it.
package naming

import (
	"go/build"
	"go/token"
	"go/types"
	"io"
	"strings"
	"unicode"
)

// Exported returns an exported identifier for a free text such as the name of
// a queue: "send-email" is SendEmail. It returns "" when there is none, as for
// "2fa" or a text in a script without upper case.
func Exported(text string) string {
	var b strings.Builder
	up := true
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			up = true
			continue
		case up:
			r = unicode.ToUpper(r)
		}
		up = false
		b.WriteRune(r)
	}
	if name := b.String(); token.IsExported(name) && token.IsIdentifier(name) {
		return name
	}
	return ""
}

// Package returns a package name for a folder's name, or "" when there is
// none: "my-gen" is mygen.
func Package(folder string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, folder)
	if name == "_" || name == "main" || !token.IsIdentifier(name) {
		return ""
	}
	return name
}

// File returns the name of the file that is generated for a package. The go
// command must read it everywhere, so its name means no operating system and
// no architecture.
func File(pkg string) string {
	if strings.HasPrefix(pkg, "_") {
		pkg = "x" + pkg
	}
	if !Portable(pkg + ".gen.go") {
		pkg += "_"
	}
	return pkg + ".gen.go"
}

// Declarations returns the name of the file with the type declarations of a
// package, beside that of its Go code.
func Declarations(pkg string) string {
	return strings.TrimSuffix(File(pkg), ".go") + ".d.ts"
}

// Module returns the name of the module for Node programs of a package, beside its
// declarations.
func Module(pkg string) string {
	return strings.TrimSuffix(File(pkg), ".go") + ".js"
}

// Portable is false for names of files that the go command reads only for some
// operating system or architecture, such as disk_windows.go.
func Portable(file string) bool {
	nowhere := build.Context{
		GOOS: "none", GOARCH: "none", Compiler: "gc",
		OpenFile: func(string) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader("package p\n")), nil
		},
	}
	match, err := nowhere.MatchFile("", file)
	return match && err == nil
}

// Predeclared is true for the names that Go itself declares, such as len.
func Predeclared(name string) bool { return types.Universe.Lookup(name) != nil }
