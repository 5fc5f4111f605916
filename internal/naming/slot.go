package naming

import (
	"regexp"
	"strings"
	"unicode"
)

// Slot returns the name that a field's slot is stored by: "Pages" is pages,
// "URL" is url, "HTMLPages" is htmlPages, "URLs" is urls.
func Slot(field string) string {
	runes := []rune(field)
	capitals := 0
	for capitals < len(runes) && unicode.IsUpper(runes[capitals]) {
		capitals++
	}
	if rest := string(runes[capitals:]); capitals > 1 && rest != "" && rest != "s" && unicode.IsLower(runes[capitals]) {
		capitals-- // the last one begins a word
	}
	return strings.ToLower(string(runes[:capitals])) + string(runes[capitals:])
}

var slotName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// SlotName is true for names of slots that the runtime takes.
func SlotName(name string) bool { return slotName.MatchString(name) }
