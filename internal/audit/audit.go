// Package audit checks what must hold, at any time between two calls, of all
// keys of all queues: each job is in one state, what names a job or a parent
// names one that exists, scores and counters agree with the jobs, workers that
// wait are woken for what there is, and no key belongs to nothing.
//
// [Check] reads a server, [Keyspace] looks at a state that was read before.
package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
)

// Rule is what was broken, in one word; tests tell rules apart by it.
type Rule string

// The rules, in the order of the files that check them.
const (
	RuleKey       Rule = "key"       // a key has a name and a type that a queue's keys have
	RuleOrphan    Rule = "orphan"    // what belongs to a job belongs to one that exists
	RuleHash      Rule = "hash"      // a job has its fields, in their form
	RuleState     Rule = "state"     // a job is in exactly one state, once
	RuleGhost     Rule = "ghost"     // what is in a state is a job
	RuleFinish    Rule = "finish"    // finished jobs, and they alone, say how they ended
	RuleActive    Rule = "active"    // a job that is or was worked on says when
	RuleLock      Rule = "lock"      // a lock is that of an active job, and ends
	RuleStalled   Rule = "stalled"   // a job that may have stalled was started
	RulePriority  Rule = "priority"  // scores of prioritized jobs are those of their priority
	RuleDelay     Rule = "delay"     // scores of delayed jobs are not before their time
	RuleID        Rule = "id"        // no number of the counter is taken
	RuleWake      Rule = "wake"      // a worker is woken for what waits, and in time for what is delayed
	RuleMarker    Rule = "marker"    // the marker has its two members and no others
	RuleDedup     Rule = "dedup"     // a deduplication id is held by a job that is not finished, or for a time
	RuleNext      Rule = "next"      // a job that is kept to follow another has one to follow
	RuleParent    Rule = "parent"    // what a job says of its parent agrees in itself
	RulePending   Rule = "pending"   // a parent waits for children that exist, are its own and are not done
	RuleUnawaited Rule = "unawaited" // a child that is not done is waited for
	RuleReleased  Rule = "released"  // a parent that waits for children has some, and none that makes it fail
	RuleFailed    Rule = "failed"    // a child that makes its parent fail has failed
	RuleMeta      Rule = "meta"      // settings are in their form
	RuleMetrics   Rule = "metrics"   // counts of finished jobs agree
	RuleLimiter   Rule = "limiter"   // a rate limit ends
	RuleEvent     Rule = "event"     // events can be read by every peer
	RuleScheduler Rule = "scheduler" // a scheduler has its settings and its next job
)

// Problem is something that does not hold.
type Problem struct {
	Rule Rule
	Key  string // where
	Text string // what
}

// String is the problem in one line.
func (p Problem) String() string { return fmt.Sprintf("%s: %s (%s)", p.Key, p.Text, p.Rule) }

// Option tells what cannot be seen in the keys.
type Option func(*auditor)

// Looking says that a worker of the queue took the marker and is about to look
// for jobs, or to do so when a rate limit ends: nobody else needs to be woken.
func Looking(queue string) Option {
	return func(a *auditor) { a.looking[queue] = true }
}

// KnowsOf says that a worker of the queue will look for jobs at a time by
// itself, because it knows of a job that is due then.
func KnowsOf(queue string, due time.Time) Option {
	return func(a *auditor) { a.knows[queue] = due }
}

// Check reads all keys of a server, or of one database, and returns what does
// not hold of those under a prefix. Nothing else should be at work meanwhile.
func Check(ctx context.Context, c redis.UniversalClient, prefix string, opts ...Option) ([]Problem, error) {
	state, err := vectors.Snapshot(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	return Keyspace(state, prefix, opts...), nil
}

// Keyspace returns what does not hold of the keys under a prefix.
func Keyspace(state vectors.Keyspace, prefix string, opts ...Option) []Problem {
	a := &auditor{state: state, queues: map[string]*queue{}, looking: map[string]bool{}, knows: map[string]time.Time{}}
	for _, o := range opts {
		o(a)
	}
	a.sort(prefix)
	for _, name := range slices.Sorted(maps.Keys(a.queues)) {
		q := a.queues[name]
		a.orphans(q)
		a.jobs(q)
		a.places(q)
		a.wake(q)
		a.dedup(q)
		a.family(q)
		a.settings(q)
	}
	a.owners(prefix)
	slices.SortStableFunc(a.problems, func(x, y Problem) int { return cmp.Compare(x.Key, y.Key) })
	return a.problems
}

type auditor struct {
	state    vectors.Keyspace
	queues   map[string]*queue // by base
	problems []Problem
	looking  map[string]bool
	knows    map[string]time.Time
}

func (a *auditor) report(rule Rule, key, format string, args ...any) {
	a.problems = append(a.problems, Problem{rule, key, fmt.Sprintf(format, args...)})
}

// job finds a job by its key.
func (a *auditor) job(key string) *job {
	i := strings.LastIndexByte(key, ':')
	if q := a.queues[key[:i+1]]; q != nil {
		return q.jobs[key[i+1:]]
	}
	return nil
}
