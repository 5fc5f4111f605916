package source

import "go/types"

// instance is a generic type with arguments.
type instance struct {
	depth int // how deep the arguments are nested
	grown int // how many instances in a row, up to this one, were nested deeper
}

// maxGrown ends types that grow with each level, such as
// type T[P any] struct{ Next *T[*P] }. The go command refuses them too, but the
// type checker still makes instances of them for whoever asks.
const maxGrown = 16

// enter notes that t is looked at, until leave is called. Ends is false when t is
// one of a row of instances that grow without end.
func (r *typeReader) enter(t types.Type) (leave func(), ends bool) {
	n, ok := t.(*types.Named)
	if !ok || n.TypeArgs().Len() == 0 {
		return func() {}, true
	}
	origin := n.Origin().Obj()
	before := r.instances[origin]
	now := instance{depth: nesting(n)}
	if len(before) > 0 && before[len(before)-1].depth < now.depth {
		now.grown = before[len(before)-1].grown + 1
	}
	r.instances[origin] = append(before, now)
	return func() { r.instances[origin] = before }, now.grown <= maxGrown
}

// nesting is how deep the arguments of a type are nested.
func nesting(t types.Type) int {
	deepest := 0
	switch t := t.(type) {
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			deepest = max(deepest, 1+nesting(arg))
		}
	case *types.Alias:
		return nesting(types.Unalias(t))
	case *types.Map:
		return 1 + max(nesting(t.Key()), nesting(t.Elem()))
	case *types.Struct:
		for f := range t.Fields() {
			deepest = max(deepest, 1+nesting(f.Type()))
		}
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		return 1 + nesting(t.Elem())
	}
	return deepest
}
