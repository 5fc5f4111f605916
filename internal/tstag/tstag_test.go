package tstag

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATagTakesNullWhenItNamesItOutsideOfQuotes(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]bool{
		"string": false, "": false, `"null"`: false, "'a' | 'null'": false, "nullable": false, "Nullable<string>": false, "not_null": false,
		"null": true, "string | null": true, "string|null": true, "(number | null)[]": true, "unknown": true, "any": true,
		`"a" | null`: true, "{ a: null }": true, "é | null": true,
	} {
		require.Equal(t, want, TakesNull(tag), tag)
	}
}
