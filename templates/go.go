// Package templates writes what is generated: package model in, bytes out.
//
// Each kind of declaration has a function of its own. None of them decides
// anything at run time of the generated program: what needs an "if" there
// belongs in package runtime.
package templates

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// Header is the first line of every generated file.
const Header = model.Header

// sourceLine begins the line that names the package a file is generated from.
const sourceLine = "// Source: "

// handshake is the constant of the runtime that generated code refers to. A
// runtime that is older than the generator lacks it.
const handshake = "IsAtLeastV0_1"

// Options change what is generated.
type Options struct {
	// NoGuard leaves out the declarations that keep stale code from compiling.
	NoGuard bool
}

// file is one file while it is made up.
type file struct {
	*jen.File
	out     *model.Output
	pkg     *model.Package
	names   *Names
	options Options
	// guarded are types that have a guard by now, or get one as payloads of tasks.
	guarded map[*model.Type]bool
}

// Go returns the Go file of package p, which is one of o.
func Go(o *model.Output, p *model.Package, names *Names, options Options) ([]byte, error) {
	f := &file{jen.NewFilePathName(o.Path, o.Name), o, p, names, options, payloadTypes(p)}
	f.HeaderComment(Header)
	f.HeaderComment("//")
	f.HeaderComment(sourceLine + p.Path)
	if p.Constraint != "" {
		f.HeaderComment("//go:build " + p.Constraint)
	}
	if slices.ContainsFunc(p.Tasks, deprecated) {
		f.HeaderComment("//lint:file-ignore SA1019 Deprecated tasks stay until their last jobs are gone.")
	}
	f.PackageComment(fmt.Sprintf("// Package %s is the typed client and worker API of package %s.", o.Name, p.Name))
	names.declare(f.File)

	f.handshake()
	for _, q := range p.Queues {
		f.queue(q)
		for _, t := range q.Tasks {
			f.task(q, t)
		}
		if len(q.Tasks) > 0 {
			f.handler(q)
		}
	}
	f.schedules()
	var out bytes.Buffer
	if err := f.Render(&out); err != nil {
		return nil, fmt.Errorf("generated code of package %s is not valid Go, which is a fault of bullmq-gen: %w", p.Path, err)
	}
	return tidy(out.Bytes()), nil
}

// deprecated is true when generated code names something that its package
// calls deprecated because of the task.
func deprecated(t *model.Task) bool {
	return model.Deprecation(t.Doc) != "" ||
		slices.ContainsFunc(t.Upgrades, func(u *model.Upgrade) bool { return model.Deprecation(u.Old.Doc) != "" })
}

// tidy puts the imports of the standard library apart from others, as people
// do, and directives apart from the header, and ends the file with a newline.
func tidy(code []byte) []byte {
	code = append(bytes.TrimRight(code, "\n"), '\n')
	for _, directive := range []string{"\n//go:build", "\n//lint:file-ignore"} {
		code = bytes.Replace(code, []byte(directive), []byte("\n"+directive), 1)
	}
	const open, end = "import (\n", ")\n"
	head, rest, ok := bytes.Cut(code, []byte(open))
	if !ok {
		return code
	}
	block, rest, _ := bytes.Cut(rest, []byte(end))
	var std, others []byte
	for line := range bytes.Lines(block) {
		path := line[bytes.IndexByte(line, '"')+1:]
		if first, _, _ := bytes.Cut(path, []byte("/")); bytes.Contains(first, []byte(".")) {
			others = append(others, line...)
		} else {
			std = append(std, line...)
		}
	}
	if len(std) > 0 && len(others) > 0 {
		std = append(std, '\n')
	}
	return slices.Concat(head, []byte(open), std, others, []byte(end), rest)
}

func (f *file) handshake() {
	f.Comment("// Does not compile? The runtime in go.mod is older than the generator: update it.")
	f.Const().Id("_").Op("=").Add(runtime(handshake))
	f.Line()
}

// runtime is a name of package runtime.
func runtime(name string) *jen.Statement { return jen.Qual(model.RuntimePath, name) }

// say writes a comment.
func (f *file) say(lines []string) {
	for _, c := range lines {
		f.Comment(c)
	}
}
