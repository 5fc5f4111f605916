package bullmq

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// jsNumber is the number that JavaScript makes of a value where it needs one, such
// as 3 of "3", " 3 ", "0x3" and [3]. It is 0 where that is NaN, and an error for
// an object, which is no attempt to write a number.
func jsNumber(raw json.RawMessage) (float64, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return 0, nil
	}
	switch raw[0] {
	case '{':
		return 0, fmt.Errorf("%.40q is not a number", raw)
	case '[':
		return jsListNumber(raw)
	case 't':
		return 1, nil
	case 'f', 'n':
		return 0, nil
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return 0, err
		}
		return jsTextNumber(text), nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, err
	}
	return f, nil
}

// jsListNumber is the number of the text of a list: that of its only element. (A list
// in a list counts as 0: nobody writes one.)
func jsListNumber(raw json.RawMessage) (float64, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return 0, err
	}
	if len(list) != 1 || list[0][0] == 't' || list[0][0] == '[' {
		return 0, nil
	}
	return jsNumber(list[0])
}

func jsTextNumber(text string) float64 {
	text = strings.TrimSpace(text)
	for prefix, base := range map[string]int{"0x": 16, "0o": 8, "0b": 2} {
		if digits, ok := strings.CutPrefix(strings.ToLower(text), prefix); ok {
			n, err := strconv.ParseUint(digits, base, 64)
			if err != nil {
				return 0
			}
			return float64(n)
		}
	}
	switch strings.TrimLeft(text, "+-") {
	case "Infinity":
		if text[0] == '-' {
			return math.Inf(-1)
		}
		return math.Inf(1)
	}
	if strings.Trim(text, "0123456789.eE+-") != "" {
		return 0
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0
	}
	return f
}

// jsOptional is jsNumber of a member that may be missing or of no use.
func jsOptional(raw json.RawMessage) float64 {
	f, _ := jsNumber(raw)
	return f
}

// jsTruth reports whether JavaScript takes a value for true: any text but the
// empty one, any number but zero, lists and objects.
func jsTruth(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return false
	}
	switch raw[0] {
	case 'f', 'n':
		return false
	case 't', '{', '[':
		return true
	case '"':
		return string(raw) != `""`
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return err != nil || f != 0
}

// orNull is a member's JSON text, or null if it is missing.
func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}
