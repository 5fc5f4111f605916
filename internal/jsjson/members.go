package jsjson

import (
	"reflect"

	"github.com/bullmq-gen/bullmq-gen/internal/jsonfield"
)

// Member is a member of the JSON object that a struct is encoded as.
type Member struct {
	jsonfield.Member
	Type reflect.Type
}

// Members returns what encoding/json encodes of a struct, in its order. Fields
// that claim one name with equal right are left out.
func Members(t reflect.Type) []*Member {
	var members []*Member
	for _, m := range jsonfield.Of(t) {
		members = append(members, &Member{m, t.FieldByIndex(m.Index).Type})
	}
	return members
}

// visible is true for exported fields, and for embedded structs even when they
// are not, for their exported fields.
func visible(f reflect.StructField) bool {
	if f.IsExported() || !f.Anonymous {
		return f.IsExported()
	}
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}
