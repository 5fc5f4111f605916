package bullmqgen

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/bullmq-gen/bullmq-gen/internal/check"
	"github.com/bullmq-gen/bullmq-gen/internal/diag"
	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/source"
)

const analyzerDoc = `check the directives of BullMQ tasks

The analyzer reports the same mistakes in //bullmq: directives, bullmq struct
tags and payloads as bullmq-gen, with the same messages and positions, without
generating code. It checks one package at a time. Only bullmq-gen checks whether
packages agree with each other and whether generated code is up to date.`

// Analyzer reports what Generate reports, for one package at a time. It is meant
// for editors and linters; command bullmq-vet runs it, standalone or from go vet.
// Its flags "out" and "ts" are those of bullmq-gen, and "warnings=false" omits
// warnings.
//
// It sees only the package and its imports. It does not find conflicts between
// packages that share a queue or an output, import cycles over more than one
// package, and conflicts with files in the output.
var Analyzer = newAnalyzer()

func newAnalyzer() *analysis.Analyzer {
	a := &analysis.Analyzer{
		Name: "bullmq", Doc: analyzerDoc,
		URL:              "https://github.com/bullmq-gen/bullmq-gen/blob/main/docs/directives.md",
		RunDespiteErrors: true, // as Generate does
	}
	v := &vet{}
	a.Flags.StringVar(&v.out, "out", DefaultOut, "folder of the generated package, relative to each annotated package")
	a.Flags.BoolVar(&v.typescript, "ts", true, "generate types for Node programs too")
	a.Flags.BoolVar(&v.warnings, "warnings", true, "report warnings")
	a.Run = v.run
	return a
}

// vet is the analyzer with its flags.
type vet struct {
	out                  string
	typescript, warnings bool
}

func (v *vet) run(pass *analysis.Pass) (any, error) {
	unit := unitOf(pass)
	if unit == nil {
		return nil, nil
	}
	module := source.Module{Dir: source.ModuleDir(unit.Dir)}
	if pass.Module != nil {
		module.Path = pass.Module.Path
	}
	l := &diag.List{Base: module.Dir}
	source.WarnIgnored(pass.IgnoredFiles, l)
	packages := source.Read([]*source.Unit{unit}, l)
	check.Packages(packages, nil, check.Options{TypeScript: v.typescript, Alone: true}, l)
	for _, p := range packages {
		if module.Dir == "" || module.Path == "" {
			continue // some build systems do not tell, and then nothing is known of the output
		}
		if o := source.OutputOf(p, module, v.out, l); o != nil {
			check.Outputs([]*model.Output{o}, l)
		}
	}
	for _, d := range l.Sorted() {
		if d.Severity == diag.Error || v.warnings {
			v.report(pass, l, d)
		}
	}
	return nil, nil
}

// unitOf is the package without its tests, or nil when nothing is left.
func unitOf(pass *analysis.Pass) *source.Unit {
	u := &source.Unit{Fset: pass.Fset, Types: pass.Pkg, Info: pass.TypesInfo, Errors: pass.TypeErrors}
	for _, file := range pass.Files {
		name := nameOf(pass.Fset, file)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		u.Files = append(u.Files, file)
		if base := filepath.Base(name); !strings.HasPrefix(base, "_cgo_") { // what cgo adds is elsewhere
			u.Dir = filepath.Dir(name)
		}
	}
	if len(u.Files) == 0 {
		return nil
	}
	return u
}

// nameOf is the file as the user knows it, and not what cgo made of it.
func nameOf(fset *token.FileSet, file *ast.File) string { return fset.Position(file.Package).Filename }

// report hands a diagnostic to the driver.
func (v *vet) report(pass *analysis.Pass, l *diag.List, d diag.Diagnostic) {
	said := diagnosticOf(d)
	name := filepath.FromSlash(d.Pos.Filename)
	if !filepath.IsAbs(name) {
		name = filepath.Join(l.Base, name)
	}
	said.File = "" // the driver writes where it is
	report := analysis.Diagnostic{Pos: find(pass, name, d.Pos), Category: string(said.Severity), Message: said.String()}
	if d.Old != "" && stands(pass, report.Pos, d.Old) {
		report.End = report.Pos + token.Pos(len(d.Old))
		report.SuggestedFixes = []analysis.SuggestedFix{{
			Message:   "Write " + d.New,
			TextEdits: []analysis.TextEdit{{Pos: report.Pos, End: report.End, NewText: []byte(d.New)}},
		}}
	}
	pass.Report(report)
}

// stands is true when the text stands at pos. It does not when an argument is
// in quotes with escapes, or when cgo has made another file of the user's.
func stands(pass *analysis.Pass, pos token.Pos, text string) bool {
	f := pass.Fset.File(pos)
	content, err := pass.ReadFile(f.Name())
	return err == nil && pass.Fset.Position(pos).Filename == f.Name() &&
		len(content) == f.Size() && strings.HasPrefix(string(content[f.Offset(pos):]), text)
}

// find returns the place as the driver counts places. A file that the driver
// did not parse is added to those that it knows.
func find(pass *analysis.Pass, name string, pos token.Position) token.Pos {
	for _, file := range pass.Files {
		f := pass.Fset.File(file.Package)
		if nameOf(pass.Fset, file) != name {
			continue
		}
		if at := pos.Offset; at <= f.Size() {
			if p := f.Position(f.Pos(at)); p.Line == pos.Line && p.Column == pos.Column {
				return f.Pos(at)
			}
		}
		return file.Package
	}
	text, _ := pass.ReadFile(name)
	if len(text) == 0 { // a file of another package
		return pass.Files[0].Package
	}
	f := pass.Fset.AddFile(name, -1, len(text))
	f.SetLinesForContent(text)
	return f.LineStart(min(max(pos.Line, 1), f.LineCount()))
}
