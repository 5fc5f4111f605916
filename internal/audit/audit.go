// Package audit holds the invariants of a queue's keys: each job is in exactly
// one state, every reference to a job or a parent leads to one that exists,
// scores and counters agree with the jobs, waiting workers are woken for the
// jobs there are, and no key belongs to nothing.
//
// The rules are methods of [Job], [Parent], [Dedup], [Queue] and so on, which
// hold what was read. They read nothing themselves. [Check] and [Keyspace]
// apply them to a whole database at rest, for tests; package
// runtime/redisq/audit applies them to a queue in use.
package audit

import "fmt"

// Rule names the invariant that is broken.
type Rule string

// The rules, in the order of the files that check them.
const (
	RuleKey       Rule = "key"       // a key has a name and a type that a queue's keys have
	RuleOrphan    Rule = "orphan"    // what belongs to a job belongs to one that exists
	RuleHash      Rule = "hash"      // a job has its fields, in their form
	RuleState     Rule = "state"     // a job is in exactly one state, once
	RuleGhost     Rule = "ghost"     // every id in a state is the id of a job
	RuleFinish    Rule = "finish"    // finished jobs, and only they, say how they ended
	RuleActive    Rule = "active"    // a job that has been started says when
	RuleLock      Rule = "lock"      // a lock is that of an active job, and expires
	RuleStalled   Rule = "stalled"   // a job that may have stalled was started
	RulePriority  Rule = "priority"  // scores of prioritized jobs follow their priority
	RuleDelay     Rule = "delay"     // scores of delayed jobs are not before their time
	RuleID        Rule = "id"        // the counter of ids is beyond every number in use
	RuleWake      Rule = "wake"      // a worker is woken for waiting jobs, and in time for delayed ones
	RuleMarker    Rule = "marker"    // the marker has its two members and no others
	RuleDedup     Rule = "dedup"     // a deduplication id is held by an unfinished job, or expires
	RuleNext      Rule = "next"      // a job that is kept to follow another has one to follow
	RuleParent    Rule = "parent"    // a job's two references to its parent agree
	RulePending   Rule = "pending"   // a parent waits for children that exist, are its own and are not done
	RuleUnawaited Rule = "unawaited" // a parent waits for each child that is not done
	RuleReleased  Rule = "released"  // a parent in waiting-children has something to wait for
	RuleFailed    Rule = "failed"    // a child that makes its parent fail has failed
	RuleMeta      Rule = "meta"      // settings are in their form
	RuleMetrics   Rule = "metrics"   // counts of finished jobs agree
	RuleLimiter   Rule = "limiter"   // a rate limit expires
	RuleEvent     Rule = "event"     // every peer can read the events
	RuleScheduler Rule = "schedule"  // a schedule has its settings and its next job
)

// Rules lists all rules.
var Rules = []Rule{
	RuleKey,
	RuleOrphan,
	RuleHash,
	RuleState,
	RuleGhost,
	RuleFinish,
	RuleActive,
	RuleLock,
	RuleStalled,
	RulePriority,
	RuleDelay,
	RuleID,
	RuleWake,
	RuleMarker,
	RuleDedup,
	RuleNext,
	RuleParent,
	RulePending,
	RuleUnawaited,
	RuleReleased,
	RuleFailed,
	RuleMeta,
	RuleMetrics,
	RuleLimiter,
	RuleEvent,
	RuleScheduler,
}

// Problem is a broken invariant.
type Problem struct {
	Rule Rule
	Key  string // the key that is wrong
	Job  string // the job's id, where the problem is that of a job
	Text string // what is wrong
	Cure string // what to do about it
	Fix  Fix    // the repair that is provably right, if there is one
}

// Fix is an operation of scripts/repair.lua with its arguments. The script
// checks once more that the problem is there. The zero Fix repairs nothing.
type Fix struct {
	Op   string
	Args []string
}

// String returns the problem in one line.
func (p Problem) String() string { return fmt.Sprintf("%s: %s (%s)", p.Key, p.Text, p.Rule) }

// Report receives problems.
type Report func(Problem)

func (r Report) add(rule Rule, key, job, cure string, fix Fix, format string, args ...any) {
	r(Problem{Rule: rule, Key: key, Job: job, Text: fmt.Sprintf(format, args...), Cure: cure, Fix: fix})
}

func fix(op string, args ...string) Fix { return Fix{Op: op, Args: args} }
