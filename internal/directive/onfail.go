package directive

import (
	"slices"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/naming"
)

// OnFail reads a word of a slot's tag. Keyed is true when it is onfail= with
// anything; the policy is "" when there is none of that name.
func OnFail(word string) (policy model.Policy, keyed bool) {
	name, keyed := strings.CutPrefix(word, model.WordOnFail)
	if slices.Contains(model.Policies, name) {
		policy = model.Policy(name)
	}
	return policy, keyed
}

// NearPolicy is the end of a message about an unknown policy.
func NearPolicy(word string) string {
	return naming.DidYouMean(strings.TrimPrefix(word, model.WordOnFail), model.Policies)
}

// NearSlotWord is the end of a message about an unknown word of a slot's tag.
func NearSlotWord(word string) string {
	if slices.Contains(TagWords, word) {
		return ": it is for fields of payloads, and a slot takes " + model.WordOnFail + "POLICY alone"
	}
	key, value, ok := strings.Cut(word, "=")
	if near := naming.Nearest(key, []string{strings.TrimSuffix(model.WordOnFail, "=")}); ok && near != "" {
		if _, known := OnFail(value); !known && slices.Contains(model.Policies, value) {
			return "; did you mean \"" + model.WordOnFail + value + "\"?"
		}
	}
	return ": a slot takes " + model.WordOnFail + "POLICY, with " + strings.Join(model.Policies, ", ")
}
