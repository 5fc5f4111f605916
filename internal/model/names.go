package model

import (
	"strconv"
	"strings"
	"unicode"
)

// TypeNames gives declared types names for other languages: identifiers that
// differ for different types. The zero value is ready for use.
type TypeNames struct {
	names map[*Type]string
	taken map[string]bool
}

// Take reserves a name.
func (n *TypeNames) Take(name string) {
	if n.taken == nil {
		n.taken, n.names = map[string]bool{}, map[*Type]string{}
	}
	n.taken[name] = true
}

// Free reserves a name, with a number behind it if others have that already.
func (n *TypeNames) Free(wish string) string {
	name := wish
	for i := 2; n.taken[name]; i++ {
		name = wish + strconv.Itoa(i)
	}
	n.Take(name)
	return name
}

// Of is the name of the declared type: its own if that is free, or else with
// its package before it, and then with a number behind it.
func (n *TypeNames) Of(t *Type) string {
	t = t.Actual()
	if name, ok := n.names[t]; ok {
		return name
	}
	own := identifier(t)
	name := own
	for i := 1; n.taken[name]; i++ {
		name = upperFirst(t.Package) + own
		if i > 1 {
			name += strconv.Itoa(i)
		}
	}
	n.Take(name)
	n.names[t] = name
	return name
}

// identifier is the name of a type with its type arguments: Page[User] is
// PageOfUser.
func identifier(t *Type) string {
	var b strings.Builder
	b.WriteString(upperFirst(t.Name))
	for i, a := range t.Args {
		b.WriteString([]string{"Of", "And"}[min(i, 1)])
		b.WriteString(argument(a))
	}
	return b.String()
}

func argument(t *Type) string {
	t = t.Actual()
	switch {
	case t.Name != "":
		return identifier(t)
	case t.Kind == Pointer:
		return argument(t.Elem)
	case t.Kind == Slice || t.Kind == Array:
		return "ListOf" + argument(t.Elem)
	case t.Kind == Map:
		return "MapOf" + argument(t.Elem)
	case t.Basic != "":
		return upperFirst(t.Basic)
	}
	return "Struct"
}

func upperFirst(name string) string {
	for i, r := range name {
		return string(unicode.ToUpper(r)) + name[i+len(string(r)):]
	}
	return name
}
