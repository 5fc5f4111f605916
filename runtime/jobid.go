package bullmq

import (
	"strconv"
	"strings"
)

// checkJobID refuses custom ids that peers refuse, or that would not be told
// from ids that the queue gives itself.
func checkJobID(id string, p *problems) {
	switch {
	case id == "":
	case id == "0" || strings.HasPrefix(id, "0:"):
		p.add("job id %q must not be 0 or start with 0:, which means a marker to old peers", id)
	case reservedIDs[id]:
		p.add("job id %q is the name of one of the queue's own keys; put a letter before it, as in %q", id, "job-"+id)
	case isInteger(id):
		p.add("job id %q must not be an integer: those are given by the queue; put a letter before it, as in %q", id, "job-"+id)
	case strings.Contains(id, ":") && strings.Count(id, ":") != 2:
		p.add("job id %q must not contain a colon; use another separator, as in %q", id, strings.ReplaceAll(id, ":", "-"))
	}
}

// reservedIDs are what stands in the place of a job's id in keys of the queue
// itself. Peers take such an id, and then a job and that key are one.
var reservedIDs = map[string]bool{
	"id": true, "meta": true, "wait": true, "paused": true, "active": true, "prioritized": true, "pc": true,
	"delayed": true, "waiting-children": true, "completed": true, "failed": true, "stalled": true,
	"stalled-check": true, "limiter": true, "marker": true, "events": true, "repeat": true, "priority": true,
	"delay": true, "metrics": true, "de": true, "dn": true, "gen": true,
}

// isInteger is true for the decimal text of an integer, however large.
func isInteger(id string) bool {
	digits := strings.TrimPrefix(id, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	n, err := strconv.ParseInt(id, 10, 64)
	return err != nil || strconv.FormatInt(n, 10) == id
}
