package naming

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSlot(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		"Pages": "pages", "Logo": "logo", "URL": "url", "URLs": "urls", "HTMLPages": "htmlPages", "A": "a",
		"PagesOfBook": "pagesOfBook", "X2": "x2", "HTTP2": "http2", "A_B": "a_B", "Type": "type", "AB": "ab", "ABc": "aBc",
	} {
		require.Equal(t, want, Slot(field), field)
		require.True(t, SlotName(Slot(field)), field)
	}
	for _, field := range []string{"Größe", "Éa", "Über"} {
		require.False(t, SlotName(Slot(field)), field)
	}
}
