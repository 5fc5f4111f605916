package agreement

import (
	"encoding/json"
	"regexp"
	"strings"
)

// decoderAlone are the values that the decoder refuses and a JSON Schema cannot
// describe.
var decoderAlone = []struct {
	problem *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`: it does not fit `), "a method of the type refuses it"},
	{regexp.MustCompile(`: the key does not fit (netip.Addr|tasks.Level)`), "a method of the key's type refuses it"},
	{regexp.MustCompile(`\["-?\d+"\]: the key does not fit u?int\d*$`), "the size of a number in a key"},
	{regexp.MustCompile(`: the string "-?\d+" does not fit .*,string$`), "the size of an integer in a string"},
	{regexp.MustCompile(`: the string "[^"]*" does not fit float\d\d,string$`), "the size of a number in a string"},
	{regexp.MustCompile(`: the number 1e400 does not fit (float64|big.Int)`), "JSON of Node has no such numbers"},
	{regexp.MustCompile(`half of a surrogate pair`), "schemas read it as U+FFFD"},
}

func onlyTheDecoderKnows(problem string) bool {
	for _, d := range decoderAlone {
		if d.problem.MatchString(problem) {
			return true
		}
	}
	return false
}

// typeScript is what TypeScript can express of a schema. Each rule is a difference
// that is allowed between the two.
func typeScript(schema map[string]any) map[string]any {
	description, _ := schema["description"].(string)
	if text, ok := strings.CutPrefix(description, "ts: "); ok {
		var written map[string]any // the user has said what the type is
		if err := json.Unmarshal([]byte(text), &written); err != nil {
			panic(err)
		}
		return written
	}
	out := map[string]any{}
	for key, v := range schema {
		switch key {
		case "minimum", "maximum", "pattern", "format", "contentEncoding", "propertyNames":
			// a number or string is just that
		case "minItems", "maxItems":
			if n, _ := v.(float64); n <= 8 { // a tuple
				out[key] = v
			}
		case "examples": // the constants of a string type, which has other values in Go
			out["enum"] = v
		case "type":
			out[key] = numbers(v)
		case "items", "additionalProperties":
			out[key] = typeScript(v.(map[string]any))
		case "properties", "$defs":
			all := map[string]any{}
			for name, one := range v.(map[string]any) {
				all[name] = typeScript(one.(map[string]any))
			}
			out[key] = all
		case "anyOf":
			var all []any
			for _, one := range v.([]any) {
				all = append(all, typeScript(one.(map[string]any)))
			}
			out[key] = all
		default:
			out[key] = v
		}
	}
	if constants, ok := out["enum"].([]any); ok {
		if types, _ := schema["type"].([]any); len(types) > 0 {
			out["enum"] = append(constants, nil)
		}
	}
	_, properties := out["properties"].(map[string]any)
	_, additional := out["additionalProperties"]
	switch {
	case additional || !properties && !isObject(schema["type"]):
	case !properties:
		out["additionalProperties"] = false // a struct without members takes none
	case out["required"] == nil: // an object of which no member is known is a mistake
		known := []any{map[string]any{"maxProperties": 0}, map[string]any{"not": map[string]any{"type": "object"}}}
		for name := range out["properties"].(map[string]any) {
			known = append(known, map[string]any{"required": []any{name}})
		}
		out["allOf"] = []any{map[string]any{"anyOf": known}}
	}
	return out
}

func isObject(types any) bool {
	text, _ := json.Marshal(types)
	return strings.Contains(string(text), `"object"`) && !strings.Contains(string(text), `"array"`)
}

// numbers are types of JSON Schema of which TypeScript does not know integers.
func numbers(types any) any {
	switch v := types.(type) {
	case string:
		if v == "integer" {
			return "number"
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	}
	return types
}
