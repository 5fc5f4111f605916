// Package textdiff shows how two texts differ, in the unified format.
package textdiff

import (
	"fmt"
	"slices"
	"strings"
)

// context is how many equal lines are shown around a difference.
const context = 3

// edit is a line that is kept (' '), deleted ('-') or inserted ('+').
type edit struct {
	op   byte
	line string
}

// Unified returns the differences from old to new under the two names, or ""
// when there are none.
func Unified(oldName, newName, old, new string) string {
	if old == new {
		return ""
	}
	edits := compare(lines(old), lines(new))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", oldName, newName)
	for start := 0; ; {
		from, to, ok := hunk(edits, start)
		if !ok {
			return out.String()
		}
		writeHunk(&out, edits, from, to)
		start = to
	}
}

// lines splits after each newline. A last line without one says so.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	all := strings.SplitAfter(text, "\n")
	last := len(all) - 1
	if all[last] == "" {
		return all[:last]
	}
	all[last] += "\n\\ No newline at end of file\n"
	return all
}

// hunk finds the next run of differences that lie close together, with the
// lines around it.
func hunk(edits []edit, start int) (from, to int, ok bool) {
	first := start
	for first < len(edits) && edits[first].op == ' ' {
		first++
	}
	if first == len(edits) {
		return 0, 0, false
	}
	last := first
	for i := first; i < len(edits) && i-last <= 2*context; i++ {
		if edits[i].op != ' ' {
			last = i
		}
	}
	return max(start, first-context), min(len(edits), last+1+context), true
}

func writeHunk(out *strings.Builder, edits []edit, from, to int) {
	oldLine, newLine := 1, 1
	for _, e := range edits[:from] {
		if e.op != '+' {
			oldLine++
		}
		if e.op != '-' {
			newLine++
		}
	}
	oldCount, newCount := 0, 0
	for _, e := range edits[from:to] {
		if e.op != '+' {
			oldCount++
		}
		if e.op != '-' {
			newCount++
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(oldLine, oldCount), span(newLine, newCount))
	for _, e := range edits[from:to] {
		out.WriteByte(e.op)
		out.WriteString(e.line)
	}
}

func span(line, count int) string {
	if count == 0 {
		line-- // of an empty span, the line before it
	}
	return fmt.Sprintf("%d,%d", line, count)
}

// maxSteps ends the search for the shortest way between texts that have little
// in common; its memory grows with the square of the steps.
const maxSteps = 1000

// compare finds the shortest way from a to b, by the algorithm of Myers, or
// replaces all when it is long.
func compare(a, b []string) []edit {
	limit := min(len(a)+len(b), maxSteps)
	reach := make([]int, 2*limit+2) // on each diagonal, how far along a one gets
	var before [][]int              // the part of reach that a step starts from
	for d := 0; d <= limit; d++ {
		before = append(before, append([]int(nil), reach[limit-d:limit+d+2]...))
		for k := -d; k <= d; k += 2 {
			x, _ := step(reach[limit-d:], d, k)
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			reach[limit+k] = x
			if x >= len(a) && x-k >= len(b) {
				return trace(a, b, before)
			}
		}
	}
	return replace(a, b)
}

// step returns where the d-th edit enters diagonal k, and from which one.
// Element i of reach belongs to diagonal i-d.
func step(reach []int, d, k int) (x, from int) {
	switch {
	case d == 0:
		return 0, 0
	case k == -d || k != d && reach[k-1+d] < reach[k+1+d]:
		return reach[k+1+d], k + 1 // an insertion
	}
	return reach[k-1+d] + 1, k - 1 // a deletion
}

// trace walks back through the steps.
func trace(a, b []string, before [][]int) []edit {
	var edits []edit
	x, y := len(a), len(b)
	for d := len(before) - 1; d >= 0; d-- {
		k := x - y
		startX, from := step(before[d], d, k)
		for x > startX {
			x, y = x-1, y-1
			edits = append(edits, edit{' ', a[x]})
		}
		switch {
		case d == 0:
		case from > k:
			y--
			edits = append(edits, edit{'+', b[y]})
		default:
			x--
			edits = append(edits, edit{'-', a[x]})
		}
	}
	slices.Reverse(edits)
	return edits
}

func replace(a, b []string) []edit {
	var edits []edit
	for _, line := range a {
		edits = append(edits, edit{'-', line})
	}
	for _, line := range b {
		edits = append(edits, edit{'+', line})
	}
	return edits
}
