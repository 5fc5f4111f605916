package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/interop"
)

// count returns how many cells have a mark.
func (r *release) count(mark string) int {
	n := 0
	for _, c := range r.cells {
		if c.Mark == mark {
			n++
		}
	}
	return n
}

func (r *release) summary() string {
	return fmt.Sprintf("%s: %d passed, %d not in this release, %d differ", r.version, r.count(yes), r.count(notThere), r.count(no))
}

// page is the section on releases.
func page(all []*release) string {
	var b strings.Builder
	b.WriteString("\n## Other releases\n\nThe same scenarios with other published releases, in both directions. \"Not in this release\" is a\n" +
		"call that the release does not have. \"Differ\" is listed below. Written by\n`make compat VERSIONS=\"" + versions(all) + "\"`.\n\n")
	if from := supported(all); from != "" {
		fmt.Fprintf(&b, "Of these, %s and all later ones pass what they know in at least 98 of 100 cases: that is the supported range.\n"+
			"Jobs are added and processed in earlier releases too, but their calls, events and schedules differ in details.\n\n", from)
	}
	b.WriteString("| release | passed | not in this release | differ |\n| --- | ---: | ---: | ---: |\n")
	for _, r := range all {
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", r.version, r.count(yes), r.count(notThere), r.count(no))
	}
	b.WriteString("\nEvery scenario that is not here passed with each of these releases. The first mark is for\nNode to Go, the second for Go to Node.\n\n| |")
	for _, r := range all {
		fmt.Fprintf(&b, " %s |", r.version)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(all)) + "\n")
	for i := 0; i < len(all[0].cells); i += 2 {
		if slices.ContainsFunc(all, func(r *release) bool { return r.row(i) != yes && r.row(i) != nothing }) {
			fmt.Fprintf(&b, "| %s |", all[0].cells[i].Feature)
			for _, r := range all {
				fmt.Fprintf(&b, " %s |", r.row(i))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// supported returns the first release from which on hardly anything differs, in
// the order of the run.
func supported(all []*release) string {
	from := ""
	for _, r := range slices.Backward(all) {
		if r.count(no)*50 > r.count(yes) {
			break
		}
		from = r.version
	}
	return from
}

// row is the text for the two directions of a scenario.
func (r *release) row(i int) string {
	toGo, toNode := r.cells[i].Mark, r.cells[i+1].Mark
	switch {
	case toGo == toNode:
		return toGo
	case toGo == nothing:
		return toNode
	case toNode == nothing:
		return toGo
	}
	return toGo + " / " + toNode
}

func versions(all []*release) string {
	var names []string
	for _, r := range all {
		names = append(names, r.version)
	}
	return strings.Join(names, " ")
}

// write puts the section at the end of the document.
func write(path, section string) error {
	have, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, _, _ := strings.Cut(string(have), interop.ReleasesBegin)
	return os.WriteFile(path, []byte(head+interop.ReleasesBegin+section), 0o644) //nolint:gosec // a document
}
