package model

import "strings"

// Deprecation is the paragraph of a doc comment that says so, or "".
func Deprecation(doc string) string {
	for paragraph := range strings.SplitSeq(doc, "\n\n") {
		if strings.HasPrefix(paragraph, "Deprecated: ") {
			return paragraph
		}
	}
	return ""
}
