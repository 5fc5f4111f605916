package source

import (
	"go/types"
	"strings"
)

// lockIn says what makes copying a value of t wrong, as go vet sees it.
func (r *typeReader) lockIn(t types.Type) string {
	lock, known := r.locks[t]
	if !known {
		r.locks[t] = "" // for types that the type checker refused, since they contain themselves
		lock = r.findLock(t)
		r.locks[t] = lock
	}
	return lock
}

func (r *typeReader) findLock(t types.Type) string {
	switch u := t.Underlying().(type) {
	case *types.Array:
		return r.lockIn(u.Elem())
	case *types.Struct:
		if isLock(t) {
			return types.TypeString(t, (*types.Package).Name)
		}
		for f := range u.Fields() {
			lock := r.lockIn(f.Type())
			if lock == "" {
				continue
			}
			if name := types.TypeString(t, (*types.Package).Name); strings.HasSuffix(lock, ".noCopy") {
				return name // the type that uses it, such as atomic.Int64
			}
			return lock
		}
	}
	return ""
}

// isLock is true when a pointer to t can be locked and t itself cannot.
func isLock(t types.Type) bool {
	return hasLockMethods(types.NewPointer(t)) && !hasLockMethods(t)
}

func hasLockMethods(t types.Type) bool {
	set := types.NewMethodSet(t)
	for _, name := range []string{"Lock", "Unlock"} {
		m := set.Lookup(nil, name)
		if m == nil {
			return false
		}
		if f, ok := m.Obj().(*types.Func); !ok || f.Signature().Params().Len()+f.Signature().Results().Len() > 0 {
			return false
		}
	}
	return true
}
