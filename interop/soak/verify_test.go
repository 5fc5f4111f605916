package soak

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/runtime/redisq/audit"
)

// figures are what a run has shown.
type figures struct {
	Seed, Seconds int
	Faults        int
	// Acknowledged, Uncertain and Refused count the jobs by the last answer to
	// the producer. Of the uncertain ones, Stored were.
	Acknowledged, Uncertain, Stored, Refused int
	// Runs counts runs of handlers; Again those that recovery made necessary.
	Runs, Again int
	Completed   int
	Failed      int
	// What Node did: jobs that it reported as added and did not store, runs that it
	// ended and repeated, jobs that it failed although their handlers had returned.
	NodeMissing, NodeRepeats, NodeFailed int
}

// verify checks that every job is accounted for.
func (f *fleet) verify(b *book) figures {
	f.Helper()
	var out figures
	for _, n := range f.faults {
		out.Faults += n
	}
	var wrong []string
	for _, a := range b.accounts {
		if a.By == "" {
			continue // of the schedule
		}
		if problem := a.check(&out, b); problem != "" {
			wrong = append(wrong, fmt.Sprintf("%s: %s\n%s", a.Key, problem, a.history(f.timeline)))
		}
	}
	slices.Sort(wrong)
	require.Empty(f, wrong, "%d jobs: %s\nfaults: %v", len(wrong), strings.Join(wrong[:min(len(wrong), 10)], "\n"), f.faults)
	for name, n := range b.leaks {
		require.LessOrEqual(f, n, 0, "goroutines that %s left", name)
	}
	f.verifyLimits(b)
	report, err := audit.Run(f.ctx, f.rdb)
	require.NoError(f, err)
	require.Empty(f, report.Findings)
	require.Positive(f, out.Acknowledged)
	require.Positive(f, out.Runs)
	return out
}

// check returns what is wrong with a job, or "".
func (a *account) check(out *figures, b *book) string {
	out.Runs += a.Runs
	switch {
	case a.Acknowledged:
		out.Acknowledged++
		if len(a.Stored) != 1 {
			return fmt.Sprintf("acknowledged, and stored %d times", len(a.Stored))
		}
	case a.Missing:
		out.NodeMissing++
		if len(a.Stored) != 0 {
			return "was not there after it was added, and is stored"
		}
	case a.Unsure:
		out.Uncertain++
		out.Stored += len(a.Stored)
		if len(a.Stored) > 1 {
			return fmt.Sprintf("stored %d times", len(a.Stored))
		}
	case a.Refused:
		out.Refused++
		if len(a.Stored) != 0 {
			return "certainly refused, and stored"
		}
	}
	if len(a.Stored) == 0 {
		return ""
	}
	return a.checkEnd(out, b)
}

// checkEnd compares how a job ended, and how often its handler ran, with what
// was asked for. Recovery may run a handler again: once for each time that the
// job was found stalled, or given back by a worker that stopped.
func (a *account) checkEnd(out *figures, b *book) string {
	r := a.Stored[0].Record
	attempts := max(1, attemptsOf(r.Opts))
	again := a.Runs - min(a.Fails+1, attempts)
	repeats := a.nodeRepeats(b)
	out.Again += max(0, again)
	out.NodeRepeats += max(0, min(repeats, again-r.StalledCount-a.Cuts))
	if again > r.StalledCount+a.Cuts+repeats {
		return fmt.Sprintf("ran %d times more than asked for: %d stalls, %d cuts, %d repeated by Node", again, r.StalledCount, a.Cuts, repeats)
	}
	if a.Fails >= attempts {
		out.Failed++
		if r.FailedReason != "fails on purpose" {
			return "should have failed on purpose, and its reason is " + r.FailedReason
		}
		return ""
	}
	if len(r.ReturnValue) == 0 && a.failedByNode(b) {
		out.NodeFailed++
		return ""
	}
	out.Completed++
	if r.FinishedOn.IsZero() || len(r.ReturnValue) == 0 {
		return "should be completed, and failed: " + r.FailedReason
	}
	var result struct {
		Value int `json:"value"`
	}
	if err := json.Unmarshal(r.ReturnValue, &result); err != nil {
		return err.Error()
	}
	if want := a.result(b); result.Value != want {
		return fmt.Sprintf("the result is %d, not %d", result.Value, want)
	}
	return ""
}

// failedByNode reports whether a Node worker has failed the job, or a child of
// it, although the handler returned.
func (a *account) failedByNode(b *book) bool {
	if a.endedOnNode(b) {
		return true
	}
	for _, child := range a.children(b) {
		if len(child.Stored) == 1 && len(child.Stored[0].Record.ReturnValue) == 0 && child.failedByNode(b) {
			return true
		}
	}
	return false
}

// children returns the jobs below a parent.
func (a *account) children(b *book) []*account {
	if a.Stored[0].Queue != "soak-parents" {
		return nil
	}
	var out []*account
	for i := 0; ; i++ {
		child := b.accounts[fmt.Sprintf("%s-%d", a.Key, i)]
		if child == nil {
			return out
		}
		out = append(out, child)
	}
}

// result is what the job must have returned: for a parent the sum over its children.
func (a *account) result(b *book) int {
	sum := 2 * a.Value
	for _, child := range a.children(b) {
		if !child.Missing {
			sum += 2 * child.Value
		}
	}
	return sum
}

func attemptsOf(opts []byte) int {
	var o struct {
		Attempts int `json:"attempts"`
	}
	if json.Unmarshal(opts, &o) != nil {
		return 0
	}
	return o.Attempts
}
