package tstag

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The depths are those at which the tag takes null, of 0 to 3.
func TestATagTakesNullWhereItNamesItOutsideOfQuotes(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string][]int{
		"string": {}, "": {}, `"null"`: {}, "'a' | 'null'": {}, "nullable": {}, "Nullable<string>": {}, "not_null": {},
		"null": {0}, "string | null": {0}, "string|null": {0}, `"a" | null`: {0}, "é | null": {0}, "(string | null)": {0},
		"unknown": {0, 1, 2, 3}, "any": {0, 1, 2, 3}, "any[]": {1, 2, 3}, "string[] | null": {0},
		"(number | null)[]": {1}, "( number | null ) [ ] []": {2}, "null[]": {1}, "(string | null)[] | null": {0, 1},
		"Array<string | null>": {1}, "Record<string, (number | null)[]>": {2}, "[string, null]": {1},
		"{ a: null }": {1}, "{ [key: string]: string | null } | null": {0, 1}, "(a: string) => string | null": {0},
		"{ [key: string]: string }[]": {}, "(string | 'null]')[]": {}, ")": {}, "(": {},
	} {
		got := []int{}
		for depth := range 4 {
			if TakesNull(tag, depth) {
				got = append(got, depth)
			}
		}
		require.Equal(t, want, got, tag)
	}
}
