package model

import (
	"go/token"
	"strings"
)

// Visible is true when the package at from may import the one at path, by the
// rule of internal packages.
func Visible(path, from string) bool {
	at := strings.LastIndex("/"+path+"/", "/internal/")
	if at < 0 {
		return true
	}
	parent := path[:max(0, at-1)]
	return from == parent || strings.HasPrefix(from, parent+"/")
}

// Nameable is true when the package at from can write the type's name. It does
// not look at type arguments.
func (t *Type) Nameable(from string) bool {
	return t.Name != "" && (t.Path == "" || token.IsExported(t.Name) && Visible(t.Path, from))
}
