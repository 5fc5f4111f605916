package directive

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// Pair is one key:"value" of a struct tag.
type Pair struct {
	Key, Value string
	// Offset is where the value begins in the tag, behind its quote.
	Offset int
}

// ParseTag splits a struct tag. Where reflect gives up without a word, it
// returns an error.
func ParseTag(tag string) ([]Pair, error) {
	var pairs []Pair
	for at := 0; ; {
		for at < len(tag) && tag[at] == ' ' {
			at++
		}
		if at == len(tag) {
			return pairs, nil
		}
		n := keyLength(tag[at:])
		key := tag[at : at+n]
		switch rest := tag[at+n:]; {
		case key == "":
			return pairs, fmt.Errorf("the struct tag is malformed at %q: write key:\"value\"", clip(tag[at:]))
		case !strings.HasPrefix(rest, ":"):
			return pairs, fmt.Errorf("the struct tag lacks a colon after %q: write %s:\"value\"", key, key)
		case !strings.HasPrefix(rest, `:"`):
			return pairs, fmt.Errorf("the struct tag lacks a quote after %q: write %s:\"value\", without a space", key+":", key)
		}
		at += n + 1
		quoted, err := strconv.QuotedPrefix(tag[at:])
		if err != nil {
			return pairs, fmt.Errorf("the struct tag has no closing quote for %q", key)
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return pairs, errors.New("the struct tag has a value that is not a Go string")
		}
		pairs = append(pairs, Pair{key, value, at + 1})
		at += len(quoted)
	}
}

// keyLength is how many bytes of tag are a key by the rules of package reflect.
func keyLength(tag string) int {
	n := 0
	for n < len(tag) && tag[n] > ' ' && tag[n] != ':' && tag[n] != '"' && tag[n] != 0x7f {
		n++
	}
	return n
}

func clip(s string) string {
	if len(s) > 20 {
		return s[:20] + "..."
	}
	return s
}

// TagWords are the words of a "bullmq" struct tag.
var TagWords = []string{model.WordDedup, model.WordPriority, model.WordDelay, model.WordJobID}
