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
			wrong = append(wrong, fmt.Sprintf("%s: %s: %+v", a.Key, problem, *a))
		}
	}
	slices.Sort(wrong)
	require.Empty(f, wrong, "%d jobs: %s\nfaults: %v", len(wrong), strings.Join(wrong[:min(len(wrong), 10)], "\n"), f.faults)
	for name, n := range b.leaks {
		require.LessOrEqual(f, n, 0, "goroutines that %s left", name)
	}
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
	out.Again += max(0, again)
	if again > r.StalledCount+a.Cuts {
		return fmt.Sprintf("ran %d times more than asked for: %d stalls, %d cuts", again, r.StalledCount, a.Cuts)
	}
	if a.Fails >= attempts {
		out.Failed++
		if r.FailedReason != "fails on purpose" {
			return "should have failed on purpose, and its reason is " + r.FailedReason
		}
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

// result is what the job must have returned: for a parent the sum over its children.
func (a *account) result(b *book) int {
	sum := 2 * a.Value
	if a.Stored[0].Queue != "soak-parents" {
		return sum
	}
	for i := 0; ; i++ {
		child := b.accounts[fmt.Sprintf("%s-%d", a.Key, i)]
		if child == nil {
			return sum
		}
		sum += 2 * child.Value
	}
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
