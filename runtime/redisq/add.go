package redisq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// A call adds at most so many jobs and about so many bytes: one of plain jobs
// holds the server for about two milliseconds, and more at once is not faster.
const (
	addJobs  = 200
	addBytes = 1 << 20
)

// intake is a job to be added, with what only flows and schedulers ask for.
type intake struct {
	*storage.NewJob
	waits     bool   // for its children
	flow      bool   // its parent is released when the whole flow is stored
	once      bool   // nothing below it is added if it is there already
	scheduler string // that made it, or empty
}

// Add stores jobs in the order given. Up to 200 jobs, or 1 MB, are one atomic
// step; more are stored in several, other calls in between. When a step fails,
// the jobs of the steps before it are stored: the answers say so, with Err set
// for all others, and the error is returned too. What many goroutines add at
// the same time to one queue goes in common calls, at most 200 jobs each; the
// answers and the end of a context are each one's own.
func (s *Store) Add(ctx context.Context, queue string, jobs []storage.NewJob) ([]storage.Added, error) {
	list := make([]intake, len(jobs))
	for i := range jobs {
		list[i].NewJob = &jobs[i]
	}
	if err := s.checkAdd(queue, list); err != nil {
		return nil, err
	}
	if joins(list) {
		return s.gatherOf(queue).add(ctx, list)
	}
	return s.add(ctx, queue, list)
}

// add stores jobs that were checked.
func (s *Store) add(ctx context.Context, queue string, jobs []intake) ([]storage.Added, error) {
	added := make([]storage.Added, len(jobs))
	for from := 0; from < len(jobs); {
		to := from + step(jobs[from:])
		if err := s.addStep(ctx, queue, jobs[from:to], added[from:to]); err != nil {
			if from == 0 && to == len(jobs) {
				return nil, err
			}
			fail(added[from:to], err)
			fail(added[to:], notSent(err))
			return added, err
		}
		from = to
	}
	return added, nil
}

func fail(added []storage.Added, err error) {
	for i := range added {
		added[i] = storage.Added{Err: err}
	}
}

// notSent is the error of jobs that were not sent because of the error of those
// before them. It is never storage.ErrUncertain.
func notSent(err error) error {
	var f *fault
	if errors.As(err, &f) {
		err = f.err
	}
	return fmt.Errorf("bullmq: not added, since jobs before it in the same call were not: %w", err)
}

// step is how many jobs, at least one, go into one call.
func step(jobs []intake) int {
	size := 0
	for i, j := range jobs {
		size += len(j.Name) + len(j.Data) + len(j.Opts)
		if i == addJobs || i > 0 && size > addBytes {
			return i
		}
	}
	return len(jobs)
}

// addStep adds jobs in one call of the script.
func (s *Store) addStep(ctx context.Context, queue string, jobs []intake, added []storage.Added) error {
	cmd, err := runWith(ctx, s, redis.NewStringSliceCmd, "add", queue, addArgs(jobs))
	if err != nil {
		return err
	}
	reply := cmd.Val()
	if len(reply) < len(jobs) || (len(reply)-len(jobs))%2 != 0 {
		return fmt.Errorf("bullmq: add on queue %q: the reply has %d elements for %d jobs", queue, len(reply), len(jobs))
	}
	for i := range jobs {
		added[i].ID = reply[i]
	}
	for notes := reply[len(jobs):]; len(notes) > 0; notes = notes[2:] {
		if err := note(queue, jobs, added, notes[0], notes[1]); err != nil {
			return err
		}
	}
	return nil
}

// note enters what the script said of one job: it was there already, or was refused.
func note(queue string, jobs []intake, added []storage.Added, place, code string) error {
	n, err := strconv.Atoi(place)
	if err != nil || n < 1 || n > len(jobs) {
		return fmt.Errorf("bullmq: add on queue %q: the reply speaks of job %q of %d", queue, place, len(jobs))
	}
	c, err := strconv.ParseInt(code, 10, 64)
	if err != nil {
		return fmt.Errorf("bullmq: add on queue %q: the reply has the code %q", queue, code)
	}
	if c == 1 {
		added[n-1].Existing = true
		return nil
	}
	added[n-1].Err = refused("add", queue, jobs[n-1].ID, codeError(c))
	return nil
}

// addArgs are the arguments of the script add, with room for what stands before them.
func addArgs(jobs []intake) []any {
	args := make([]any, headArgs, headArgs+3+4*len(jobs))
	common, parents := jobs[0].Timestamp.UnixMilli(), ""
	for _, j := range jobs {
		if j.Parent != nil {
			parents = "1"
			break
		}
	}
	args = append(args, strconv.Itoa(len(jobs)), strconv.FormatInt(common, 10), parents)
	for _, j := range jobs {
		args = appendJob(args, j, common)
	}
	return args
}

// appendJob appends a job as the script expects it: flags, then the fields that
// all have, then those that the flags announce.
func appendJob(args []any, j intake, common int64) []any {
	var buf [12]byte
	flags, at := buf[:0], len(args)
	args = append(args, "", &j.Name, j.Data, j.Opts)
	field := func(flag byte, values ...any) {
		flags = append(flags, flag)
		args = append(args, values...)
	}
	if j.ID != "" {
		field('i', &j.ID)
	}
	if t := j.Timestamp.UnixMilli(); t != common {
		field('t', t)
	}
	if j.Delay >= time.Millisecond {
		field('d', j.Delay.Milliseconds())
	}
	if j.Priority != 0 {
		field('p', j.Priority)
	}
	if j.Parent != nil {
		field('P', j.Parent.Queue+":"+j.Parent.ID, parentJSON(j.Parent))
	}
	if j.scheduler != "" {
		field('s', j.scheduler)
	}
	if j.Dedup != nil {
		field('D', j.Dedup.ID, j.Dedup.TTL.Milliseconds(), dedupSwitches(j.Dedup))
	}
	for _, f := range []struct {
		flag byte
		on   bool
	}{{'l', j.LIFO}, {'w', j.waits}, {'f', j.flow}, {'o', j.once}} {
		if f.on {
			flags = append(flags, f.flag)
		}
	}
	args[at] = string(flags)
	return args
}

func dedupSwitches(d *storage.Dedup) string {
	b := make([]byte, 0, 4)
	for _, f := range []struct {
		flag byte
		on   bool
	}{{'e', d.Extend}, {'r', d.Replace}, {'k', d.KeepLast}, {'s', d.Reschedule}} {
		if f.on {
			b = append(b, f.flag)
		}
	}
	return string(b)
}

// parentJSON is a parent as it is stored with the child: what happens when the
// child fails is decided from this text alone.
func parentJSON(p *storage.Parent) string {
	var b bytes.Buffer
	b.WriteString(`{"id":`)
	writeString(&b, p.ID)
	b.WriteString(`,"queueKey":`)
	writeString(&b, p.Queue)
	if p.OnFail != storage.OnFailWait {
		b.WriteByte(',')
		writeString(&b, string(p.OnFail))
		b.WriteString(`:true`)
	}
	b.WriteByte('}')
	return b.String()
}

func writeString(b *bytes.Buffer, text string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text)    // a string always encodes
	b.Truncate(b.Len() - 1) // the encoder ends with a new line
}

// checkAdd refuses, before anything is sent, what would damage the queue.
func (s *Store) checkAdd(queue string, jobs []intake) error {
	b, err := s.base(queue)
	if err != nil {
		return err
	}
	for i, j := range jobs {
		if err := s.checkJob(b, j); err != nil {
			return fmt.Errorf("bullmq: add on queue %q: job %d of %d: %w", queue, i+1, len(jobs), err)
		}
	}
	return nil
}

func (s *Store) checkJob(b string, j intake) error {
	switch {
	case j.ID == "0" || strings.HasPrefix(j.ID, "0:"):
		return fmt.Errorf("the id %q is kept for markers: choose another", j.ID)
	case reserved[j.ID]:
		return fmt.Errorf("the id %q is the name of one of the queue's own keys: choose another", j.ID)
	case len(j.Opts) == 0:
		return errors.New(`there are no options: give at least {}`)
	case j.Timestamp.IsZero():
		return errors.New("it has no timestamp")
	case j.Priority < 0 || j.Priority > maxPriority:
		return fmt.Errorf("the priority %d is not one of 0 to %d", j.Priority, maxPriority)
	case j.Dedup != nil && j.Dedup.ID == "":
		return errors.New("deduplication needs an id")
	case j.Parent == nil:
		return nil
	case j.Parent.ID == "" || j.Parent.Queue == "":
		return errors.New("a parent needs an id, and a queue with its prefix")
	case s.cluster && hashTag(j.Parent.Queue+":") != hashTag(b):
		return fmt.Errorf("the parent's queue %q has another hash tag: a prefix with a hash tag, such as {jobs}, puts all queues in one slot: %w", j.Parent.Queue, ErrNoHashTag)
	}
	return nil
}
