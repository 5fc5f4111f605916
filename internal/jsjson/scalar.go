package jsjson

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

func boolean(s *state, v reflect.Value) error {
	s.text = strconv.AppendBool(s.text, v.Bool())
	return nil
}

// maxSafe is the largest integer that JavaScript counts to.
const maxSafe = 1<<53 - 1

func signed(s *state, v reflect.Value) error {
	n := v.Int()
	if n > maxSafe || n < -maxSafe {
		return rounded(strconv.FormatInt(n, 10))
	}
	s.text = strconv.AppendInt(s.text, n, 10)
	return nil
}

func unsigned(s *state, v reflect.Value) error {
	n := v.Uint()
	if n > maxSafe {
		return rounded(strconv.FormatUint(n, 10))
	}
	s.text = strconv.AppendUint(s.text, n, 10)
	return nil
}

func bigInt(s *state, v reflect.Value) error {
	n := addressable(v).Addr().Interface().(*big.Int)
	if n.BitLen() > 53 {
		return rounded(n.String())
	}
	s.text = n.Append(s.text, 10)
	return nil
}

// rounded is the error for an integer that JavaScript does not hold exactly.
func rounded(n string) error {
	return fmt.Errorf("integer %s is beyond 2^53 and Node peers would round it: send it as text, for a field with the tag `json:\",string\"`", n)
}

func float32s(s *state, v reflect.Value) error { return s.float(v.Float(), 32) }

func float64s(s *state, v reflect.Value) error { return s.float(v.Float(), 64) }

func (s *state) float(f float64, bits int) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%v has no form in JSON", f)
	}
	s.text = appendFloat(s.text, f, bits)
	return nil
}

// appendFloat appends a number as JavaScript's Number.prototype.toString does.
func appendFloat(b []byte, f float64, bits int) []byte {
	abs := math.Abs(f)
	switch {
	case f == 0: // or -0
		return append(b, '0')
	case bits == 64 && (abs < 1e-6 || abs >= 1e21), bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21):
		b = strconv.AppendFloat(b, f, 'e', -1, bits)
		if n := len(b); b[n-4] == 'e' && b[n-2] == '0' { // e-07
			b[n-2] = b[n-1]
			b = b[:n-1]
		}
		return b
	}
	return strconv.AppendFloat(b, f, 'f', -1, bits)
}

// number encodes a json.Number.
func number(s *state, v reflect.Value) error {
	n, err := numberText(v)
	if err == nil {
		err = changed(n)
	}
	s.text = append(s.text, n...)
	return err
}

// numberText is the text of a json.Number. The zero value is 0, as in encoding/json.
func numberText(v reflect.Value) (string, error) {
	n := v.String()
	if n == "" {
		return "0", nil
	}
	if numberEnd(n, 0) != len(n) {
		return "", fmt.Errorf("json.Number %q is not a number", n)
	}
	return n, nil
}

// numberEnd is the place after the JSON number that begins at a place, or -1.
func numberEnd[T string | []byte](text T, at int) int {
	digits := func() bool {
		from := at
		for at < len(text) && text[at] >= '0' && text[at] <= '9' {
			at++
		}
		return at > from
	}
	if at < len(text) && text[at] == '-' {
		at++
	}
	if at < len(text) && text[at] == '0' {
		at++
	} else if !digits() {
		return -1
	}
	if at < len(text) && text[at] == '.' {
		if at++; !digits() {
			return -1
		}
	}
	if at < len(text) && (text[at] == 'e' || text[at] == 'E') {
		at++
		if at < len(text) && (text[at] == '+' || text[at] == '-') {
			at++
		}
		if !digits() {
			return -1
		}
	}
	return at
}

var errTooLarge = errors.New("is beyond what a float64 holds")

// changed reports a number in JSON text that JavaScript would make another one
// of: one beyond 2^53 that is neither the value of a float64 nor what JavaScript
// writes for one. Digits after the point are rounded everywhere.
func changed(text string) error {
	if len(text) <= 15 && !strings.ContainsAny(text, "eE") {
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("number %s %w: send it as text", text, errTooLarge)
	}
	if math.Abs(f) <= maxSafe {
		return nil
	}
	want, ok := new(big.Rat).SetString(text)
	if ok && want.Cmp(new(big.Rat).SetFloat64(f)) == 0 {
		return nil
	}
	if shown, ok2 := new(big.Rat).SetString(string(appendFloat(nil, f, 64))); ok && ok2 && want.Cmp(shown) == 0 {
		return nil
	}
	return fmt.Errorf("number %s is beyond 2^53 and Node peers would round it to %s: send it as text", text, appendFloat(nil, f, 64))
}

func text(s *state, v reflect.Value) error {
	str := v.String()
	if !utf8.ValidString(str) {
		return errUTF8
	}
	s.text = appendString(s.text, str)
	return nil
}

func base64Text(s *state, v reflect.Value) error {
	if v.IsNil() {
		s.text = append(s.text, "null"...)
		return nil
	}
	s.text = append(s.text, '"')
	s.text = base64.StdEncoding.AppendEncode(s.text, v.Bytes())
	s.text = append(s.text, '"')
	return nil
}
