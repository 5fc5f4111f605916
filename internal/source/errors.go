package source

import (
	"fmt"
	"go/token"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

func position(file string, line, column int) token.Position {
	return token.Position{Filename: file, Line: line, Column: column}
}

// parsePos reads file:line:column as the go command writes it.
func parsePos(text string) (token.Position, bool) {
	var numbers []int
	for len(numbers) < 2 {
		at := strings.LastIndexByte(text, ':')
		if at < 0 {
			break
		}
		n, err := strconv.Atoi(text[at+1:])
		if err != nil {
			break
		}
		numbers, text = append([]int{n}, numbers...), text[:at]
	}
	switch len(numbers) {
	case 1:
		return position(text, numbers[0], 1), true
	case 2:
		return position(text, numbers[0], numbers[1]), true
	}
	return token.Position{}, false
}

// outdated are words of x/tools when it meets export data of a newer Go.
var outdated = []string{
	"without types was imported",
	"unsupported version",
	"export data is newer version",
	"internal error in importing",
	"package requires newer Go version",
	"cannot import", // "cannot import "p" (unknown iexport format version ...)"
}

// tooOld returns a hint when err looks like a generator that was built with an
// x/tools which does not understand the Go toolchain's export data.
func tooOld(text string) string {
	for _, words := range outdated {
		if strings.Contains(text, words) {
			return fmt.Sprintf("bullmq-gen is built with golang.org/x/tools %s and %s, which cannot read what your go command compiles: run go get golang.org/x/tools@latest, or install a newer bullmq-gen", toolsVersion(), runtime.Version())
		}
	}
	return ""
}

func toolsVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "golang.org/x/tools" {
				return m.Version
			}
		}
	}
	return "(version unknown)"
}

// loadError explains why the go command could not be asked.
func loadError(err error) error {
	if hint := tooOld(err.Error()); hint != "" {
		return fmt.Errorf("%w\n%s", err, hint)
	}
	return fmt.Errorf("load packages: %w", err)
}
