package redisq

import (
	"math"
	"strconv"
)

// replyInt is a whole number of a reply. Some servers and proxies answer numbers as text.
func replyInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	case []byte:
		n, err := strconv.ParseInt(string(v), 10, 64)
		return n, err == nil
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) <= 1<<53
	}
	return 0, false
}

// replyText is a text of a reply, which may be a number too.
func replyText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	}
	return "", false
}
