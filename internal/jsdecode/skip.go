package jsdecode

// next skips white space and returns the byte there, or 0 at the end.
func (r *reader) next() byte {
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// skip goes to the end of the next value. It is false where there is none.
func (r *reader) skip() bool {
	switch c := r.next(); c {
	case 0, ',', ':', '}', ']':
		return false
	case '"':
		r.at = stringEnd(r.text, r.at)
	case '{', '[':
		if end, ok := r.ends[r.at]; ok {
			r.at = end
			return true
		}
		return r.skipContainer()
	default:
		for r.at < len(r.text) && !endsLiteral(r.text[r.at]) {
			r.at++
		}
	}
	return true
}

func endsLiteral(c byte) bool {
	switch c {
	case ',', ':', '}', ']', '{', '[', '"', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

// skipContainer goes to the end of an object or array. Which bracket closes
// which is left to encoding/json.
func (r *reader) skipContainer() bool {
	depth := 0
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			r.at = stringEnd(r.text, r.at) - 1
		}
		r.at++
		if depth == 0 {
			return true
		}
	}
	return false
}

// containerEnds returns the end of each object and array by where it begins. It
// is false when some have none.
func containerEnds(text []byte) (map[int]int, bool) {
	ends := map[int]int{}
	var open []int
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			open = append(open, i)
		case '}', ']':
			if len(open) == 0 {
				return nil, false
			}
			ends[open[len(open)-1]] = i + 1
			open = open[:len(open)-1]
		case '"':
			i = stringEnd(text, i) - 1
		}
	}
	return ends, len(open) == 0
}
