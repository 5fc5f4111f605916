package directive

import (
	"errors"
	"fmt"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
	"github.com/bullmq-gen/bullmq-gen/internal/wire"
)

var days = regexp.MustCompile(`^([0-9]+)d$`)

func parseDuration(text string) (time.Duration, error) {
	if m := days.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n < 100000 {
			return 0, fmt.Errorf("%q is not a duration: days are written in hours, %dh", text, n*24)
		}
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		if _, numeric := strconv.Atoi(text); numeric == nil {
			return 0, fmt.Errorf("%q lacks a unit: write %sms or %ss", text, text, text)
		}
		return 0, fmt.Errorf("%q is not a duration: write 500ms, 10s, 5m or 24h", text)
	case d < time.Millisecond:
		return 0, fmt.Errorf("%s is too short: the shortest is 1ms", text)
	case d%time.Millisecond != 0:
		return 0, fmt.Errorf("%s is not a whole number of milliseconds", text)
	case d > wire.MaxDuration:
		return 0, fmt.Errorf("%s is longer than 200 years", text)
	}
	return d, nil
}

// parseCount reads an integer from 1.
func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1<<31-1 {
		return 0, fmt.Errorf("%q is not a whole number from 1 to 2147483647", text)
	}
	return n, nil
}

var units = map[string]int{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

func parseSize(text string) (int, error) {
	digits := strings.TrimRightFunc(text, unicode.IsLetter)
	unit := text[len(digits):]
	factor, known := units[unit]
	if near := strings.ToUpper(unit[:min(1, len(unit))]) + "iB"; !known && units[near] > 0 {
		return 0, fmt.Errorf("%q has an unclear unit: write %s%s", text, digits, near)
	}
	n, err := strconv.Atoi(digits)
	if !known || err != nil || n < 1 || n > (1<<31-1)/factor {
		return 0, fmt.Errorf("%q is not a size below 2GiB: write 500B, 64KiB or 1MiB", text)
	}
	return n * factor, nil
}

func parseJitter(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= 1) {
		return 0, fmt.Errorf("%q is not a number from 0 (none) to 1 (the whole wait)", text)
	}
	return f, nil
}

// parseLimit reads 100/1m: at most 100 in a minute.
func parseLimit(text string) (model.RateLimit, error) {
	count, per, ok := strings.Cut(text, "/")
	if !ok {
		return model.RateLimit{}, fmt.Errorf("%q is not a rate limit: write 100/1m for 100 jobs in a minute", text)
	}
	n, err := parseCount(count)
	if err != nil {
		return model.RateLimit{}, err
	}
	if slices.Contains([]string{"ms", "s", "m", "h"}, per) {
		return model.RateLimit{}, fmt.Errorf("%q lacks a number before the unit: write %s/1%s", text, count, per)
	}
	d, err := parseDuration(per)
	return model.RateLimit{Max: n, Per: d}, err
}

// parseField reads the name of a Go field.
func parseField(text string) (string, error) {
	if !token.IsIdentifier(text) {
		return "", fmt.Errorf("%q is not the name of a Go field, such as TenantID", text)
	}
	return text, nil
}

// parseKeep reads what is kept of finished jobs.
func parseKeep(text string) (*model.Retention, error) {
	switch text {
	case "all":
		return &model.Retention{}, nil
	case "none":
		return &model.Retention{None: true}, nil
	case "0":
		return nil, errors.New("to keep no job write none; to keep all write all")
	}
	count, age, both := strings.Cut(text, ",")
	r := &model.Retention{}
	if !both && strings.Trim(text, "0123456789") != "" {
		count, age = "", text
	}
	var countErr, ageErr error
	if count != "" || both {
		r.Count, countErr = parseCount(count)
	}
	if age != "" || both {
		r.Age, ageErr = parseDuration(age)
	}
	switch {
	case ageErr != nil && days.MatchString(age):
		return nil, ageErr
	case countErr != nil || ageErr != nil:
		return nil, fmt.Errorf("%q is none of all, none, a count (1000), an age (168h), and count and age (1000,168h)", text)
	}
	return r, nil
}

// parseBackoff reads fixed:1s, exponential:1s and custom:name.
func parseBackoff(text string, b *model.Backoff) error {
	kind, rest, _ := strings.Cut(text, ":")
	switch kind {
	case "fixed", "exponential":
		d, err := parseDuration(rest)
		if rest == "" {
			err = fmt.Errorf("%s needs a first wait: write %s:1s", kind, kind)
		}
		b.Type, b.Delay = kind, d
		return err
	case "custom":
		b.Type, b.Custom = rest, true
		switch rest {
		case "fixed", "exponential":
			return fmt.Errorf("%s is built in: write %s:1s, or give your strategy another name", rest, rest)
		}
		return NameProblem(rest, "strategy")
	}
	return fmt.Errorf("%q is not a backoff: write fixed:1s, exponential:1s or custom:NAME", text)
}

// NameProblem says what is wrong with a name that goes to the storage and to
// peers, or nil.
func NameProblem(name, what string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("the %s has no name", what)
	case len(name) > wire.MaxName:
		return fmt.Errorf("the name of the %s has %d bytes: %d are allowed", what, len(name), wire.MaxName)
	case !utf8.ValidString(name):
		return fmt.Errorf("the name of the %s %q is not valid UTF-8", what, name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("the name of the %s %q has a control character", what, name)
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("the name of the %s %q begins or ends with a space", what, name)
	case strings.ContainsAny(name, "\"`"), strings.Trim(name, "'") != name:
		return fmt.Errorf("the name of the %s %#q has a quote inside: put quotes around a whole argument or a whole value, or leave them out", what, name)
	case strings.Contains(name, ","):
		return fmt.Errorf("the name of the %s %#q has a comma inside: put blanks between two arguments, or write it without", what, name)
	}
	return nil
}

// QueueProblem says what is wrong with the name of a queue, or nil.
func QueueProblem(name string) error {
	if err := NameProblem(name, "queue"); err != nil {
		return err
	}
	return wire.CheckQueue(name)
}
