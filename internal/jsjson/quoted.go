package jsjson

import (
	"reflect"
	"strconv"
)

// quoted is the encoder of a scalar, or of a pointer to one, below the option
// ",string": its text is a string. Types that encode themselves ignore it.
func quoted(t reflect.Type) encoder {
	if has(t, jsonMarshaler) || has(t, textMarshaler) {
		return inner(t)
	}
	switch k := t.Kind(); {
	case k == reflect.Pointer:
		return orNull(quoted(t.Elem()))
	case t == numberType:
		return quotedNumber
	case k == reflect.String:
		return quotedText
	case k >= reflect.Int && k <= reflect.Int64:
		return inQuotes(func(s *state, v reflect.Value) error {
			s.text = strconv.AppendInt(s.text, v.Int(), 10)
			return nil
		})
	case k >= reflect.Uint && k <= reflect.Uintptr:
		return inQuotes(func(s *state, v reflect.Value) error {
			s.text = strconv.AppendUint(s.text, v.Uint(), 10)
			return nil
		})
	}
	return inQuotes(kind(t))
}

func inQuotes(encode encoder) encoder {
	return func(s *state, v reflect.Value) error {
		s.text = append(s.text, '"')
		err := encode(s, v)
		s.text = append(s.text, '"')
		return err
	}
}

// quotedNumber encodes a json.Number of any size.
func quotedNumber(s *state, v reflect.Value) error {
	n, err := numberText(v)
	s.text = append(append(append(s.text, '"'), n...), '"')
	return err
}

// quotedText encodes a string as the JSON of a string in a string, as
// encoding/json does.
func quotedText(s *state, v reflect.Value) error {
	start := len(s.text)
	if err := text(s, v); err != nil {
		return err
	}
	inside := string(s.text[start:])
	s.text = appendString(s.text[:start], inside)
	return nil
}
