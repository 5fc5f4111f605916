package naming

import (
	"go/token"
	"strconv"
)

// Scope holds the names that are taken in a package or a file, each with
// whoever took it.
type Scope[Owner any] struct{ taken map[string]Owner }

// Take gives the name to owner, unless it is taken; then it returns who has it.
func (s *Scope[Owner]) Take(name string, owner Owner) (holder Owner, ok bool) {
	if s.taken == nil {
		s.taken = map[string]Owner{}
	}
	if holder, taken := s.taken[name]; taken {
		return holder, false
	}
	s.taken[name] = owner
	return owner, true
}

// Has is true when the name is taken.
func (s *Scope[Owner]) Has(name string) bool {
	_, taken := s.taken[name]
	return taken
}

// Free takes the first name that is free, no keyword and not predeclared: the
// wish itself, the wish with the suffix, and then with a number too.
func (s *Scope[Owner]) Free(wish, suffix string, owner Owner) string {
	name := wish
	for n := 1; token.IsKeyword(name) || Predeclared(name) || s.Has(name); n++ {
		name = wish + suffix
		if n > 1 {
			name += strconv.Itoa(n)
		}
	}
	s.Take(name, owner)
	return name
}
