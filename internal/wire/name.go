package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckQueue reports what is wrong with the name of a queue.
func CheckQueue(name string) error {
	switch {
	case name == "":
		return errors.New("the queue's name is empty")
	case strings.Contains(name, ":"):
		return fmt.Errorf("queue name %q must not contain a colon, which separates the parts of its keys; write %q", name, strings.ReplaceAll(name, ":", "-"))
	}
	return nil
}

// CheckName reports what is wrong with the name of a job. What says what kind of
// name it is.
func CheckName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the %s of a task must not be empty", what)
	case len(name) > MaxName:
		return fmt.Errorf("%s %.20q... has %d bytes, more than %d", what, name, len(name), MaxName)
	case strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name):
		return fmt.Errorf("%s %q must be valid UTF-8 without control characters and outer spaces", what, name)
	}
	return nil
}

// CheckID reports what is wrong with an id that a producer chose for a job: peers
// refuse it, or could not tell it from one that the queue gives itself. An empty id
// means that the queue gives one.
func CheckID(id string) error {
	if err := CheckStoredID(id); err != nil {
		return err
	}
	switch {
	case isInteger(id):
		return fmt.Errorf("job id %q must not be an integer: those are given by the queue; put a letter before it, as in %q", id, "job-"+id)
	case strings.Contains(id, ":") && strings.Count(id, ":") != 2:
		return fmt.Errorf("job id %q must not contain a colon; use another separator, as in %q", id, strings.ReplaceAll(id, ":", "-"))
	}
	return nil
}

// CheckStoredID reports why no job may have an id, whoever chose it: the job would
// damage the queue.
func CheckStoredID(id string) error {
	switch {
	case IsMarker(id):
		return fmt.Errorf("job id %q must not be 0 or start with 0:, which means a marker to old peers", id)
	case Reserved(id):
		return fmt.Errorf("job id %q is the name of one of the queue's own keys; put a letter before it, as in %q", id, "job-"+id)
	}
	return nil
}

// isInteger reports whether an id is the decimal text of an integer, however large.
func isInteger(id string) bool {
	digits := strings.TrimPrefix(id, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	n, err := strconv.ParseInt(id, 10, 64)
	return err != nil || strconv.FormatInt(n, 10) == id
}
