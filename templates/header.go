package templates

import (
	"bytes"
	"strings"
)

// Normal is the text of a file without what an editor or a checkout may have
// put in: a byte order mark and carriage returns.
func Normal(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}

// Ours is true for a file that this program wrote, whole or only in part, and
// for an empty one.
func Ours(text []byte) bool {
	text = Normal(text)
	if trimmed := strings.TrimSpace(string(text)); strings.HasPrefix(Header, trimmed) {
		return true
	}
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimSpace(line); {
		case line == Header:
			return true
		case strings.HasPrefix(line, "package "):
			return false
		}
	}
	return false
}

// SourceOf returns the import path of the package that a file of ours is
// generated from, or "" for other files.
func SourceOf(text []byte) string {
	if !Ours(text) {
		return ""
	}
	for line := range strings.Lines(string(Normal(text))) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), sourceLine); ok {
			return path
		}
		if strings.HasPrefix(line, "package ") {
			break
		}
	}
	return ""
}
