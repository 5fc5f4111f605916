package redisq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bullmq-gen/bullmq-gen/internal/jsjson"
	"github.com/bullmq-gen/bullmq-gen/internal/wire"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// A call adds at most so many jobs and about so many bytes: one of plain jobs
// holds the server for about a millisecond, and more at once is hardly faster.
const (
	addJobs  = 125
	addBytes = 1 << 20
)

// intake is a job to be added, with what only flows and schedules ask for.
type intake struct {
	*storage.NewJob
	waits     bool   // for its children
	flow      bool   // its parent is released when the whole flow is stored
	once      bool   // nothing below it is added if it is there already
	scheduler string // that made it, or empty
}

// Add stores jobs in the order given. Up to 125 jobs, or 1 MB, are one atomic
// step; more are stored in several, other calls in between, of which up to 8 are
// under way at once. When a step fails, the first error is returned, and the
// answers say of each job what became of it: the steps before the one that
// failed are stored, those that were sent together with it may be, and nothing
// is sent after them. What many goroutines add at
// the same time to one queue goes in common calls, at most 125 jobs each; the
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
		n, err := s.addSome(ctx, queue, jobs[from:], added[from:])
		if err != nil && step(jobs) == len(jobs) {
			return nil, err
		}
		from += n
		if err != nil {
			fail(added[from:], notSent(err))
			return added, err
		}
	}
	return added, nil
}

// addSome takes the next step, or the next ones, and returns how many of the
// jobs are dealt with, and the first error.
func (s *Store) addSome(ctx context.Context, queue string, jobs []intake, added []storage.Added) (int, error) {
	ends := s.steps(jobs)
	if len(ends) > 1 {
		if n, err := s.addAhead(ctx, queue, jobs, ends, added); n > 0 || err != nil {
			return n, err
		}
	}
	n := ends[0]
	err := s.addStep(ctx, queue, jobs[:n], added[:n])
	if err != nil {
		fail(added[:n], err)
	}
	return n, err
}

func fail(added []storage.Added, err error) {
	for i := range added {
		added[i] = storage.Added{Err: err}
	}
}

// notSent is the error of jobs that were not sent because of the error of those
// before them. It is never storage.ErrUncertain.
func notSent(err error) error {
	kind := storage.Kind(err)
	if kind == storage.ErrUncertain {
		kind = storage.ErrUnavailable
	}
	var f *fault
	if errors.As(err, &f) {
		err = f.err
	}
	err = fmt.Errorf("bullmq: not added, since jobs before it in the same call were not: %w", err)
	if kind == nil || isDone(err) {
		return err
	}
	return storage.OfKind(kind, err)
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
	cmd, err := runWith(ctx, s, redis.NewCmd, "add", queue, addArgs(jobs))
	if err != nil {
		return err
	}
	s.addKnown.Store(true)
	return readStep(ctx, queue, jobs, added, cmd, true)
}

// readAdded reads the reply of the script add: the number before that of the
// first job, and what is to be said of single jobs.
func readAdded(queue string, jobs []intake, added []storage.Added, reply any) error {
	list, _ := reply.([]any)
	if len(list) > 0 {
		reply, list = list[0], list[1:]
	}
	before, ok := replyInt(reply)
	if !ok || len(list)%4 != 0 {
		return fmt.Errorf("the reply begins with %v, and %d elements follow", reply, len(list))
	}
	giveIDs(jobs, added, before)
	for ; len(list) > 0; list = list[4:] {
		n, _ := replyInt(list[0])
		code, isCode := replyInt(list[1])
		id, isID := replyText(list[2])
		name, isName := replyText(list[3])
		switch {
		case n < 1 || n > int64(len(jobs)) || !isCode || !isID || !isName:
			return fmt.Errorf("the reply says %v of %d jobs", list[:4], len(jobs))
		case code == 0 || code == 1:
			added[n-1] = storage.Added{ID: id, Existing: code == 1, Name: name}
		default:
			added[n-1] = storage.Added{Err: refused("add", queue, jobs[n-1].ID, withName(name, codeError(code)))}
		}
	}
	return nil
}

// giveIDs enters the ids of jobs of which nothing else is said: their own, or
// their numbers, which are parts of one text.
func giveIDs(jobs []intake, added []storage.Added, before int64) {
	var digits [20]byte
	var all strings.Builder
	all.Grow(len(jobs) * len(strconv.AppendInt(digits[:0], before+int64(len(jobs)), 10)))
	for i := range jobs {
		if added[i].ID = jobs[i].ID; jobs[i].ID == "" {
			from := all.Len()
			all.Write(strconv.AppendInt(digits[:0], before+int64(i)+1, 10))
			added[i].ID = all.String()[from:]
		}
	}
}

// addArgs are the arguments of the script add, with room for what stands before them.
func addArgs(jobs []intake) []any {
	args := make([]any, headArgs, headArgs+8+len(jobs))
	common, count := jobs[0].Timestamp.UnixMilli(), len(jobs)
	for _, j := range jobs {
		if j.Parent != nil {
			count = -count
			break
		}
	}
	args = append(args, strconv.Itoa(count), strconv.FormatInt(common, 10))
	for len(jobs) > 0 {
		n := 1
		for n < len(jobs) && alike(&jobs[0], &jobs[n]) {
			n++
		}
		args = appendRun(args, &jobs[0], n, common)
		for i := range jobs[:n] {
			args = appendJob(args, jobs[i].NewJob)
		}
		jobs = jobs[n:]
	}
	return args
}

// alike tells whether jobs differ in nothing but data and id.
func alike(a, b *intake) bool {
	return a.Name == b.Name && bytes.Equal(a.Opts, b.Opts) && a.Timestamp.UnixMilli() == b.Timestamp.UnixMilli() &&
		a.Delay == b.Delay && a.Priority == b.Priority && a.LIFO == b.LIFO && (a.ID == "") == (b.ID == "") &&
		equal(a.Parent, b.Parent) && equal(a.Dedup, b.Dedup) &&
		slices.Equal(a.Names, b.Names) && a.waits == b.waits && a.flow == b.flow && a.once == b.once && a.scheduler == b.scheduler
}

// equal compares what two pointers point to.
func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// appendRun appends what n jobs have in common, of which j is one: flags, name,
// options, and what the flags announce.
func appendRun(args []any, j *intake, n int, common int64) []any {
	var buf [12]byte
	flags, at := buf[:0], len(args)
	args = append(args, "", &j.Name, (*text)(&j.Opts))
	field := func(flag byte, values ...any) {
		flags = append(flags, flag)
		args = append(args, values...)
	}
	if n > 1 {
		field('*', n)
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
	if len(j.Names) > 0 {
		names, _ := json.Marshal(j.Names) // texts have always a form
		field('N', names)
	}
	for _, f := range []struct {
		flag byte
		on   bool
	}{{'i', j.ID != ""}, {'l', j.LIFO}, {'w', j.waits}, {'f', j.flow}, {'o', j.once}} {
		if f.on {
			flags = append(flags, f.flag)
		}
	}
	args[at] = string(flags)
	return args
}

// appendJob appends what each job of a run has for itself.
func appendJob(args []any, j *storage.NewJob) []any {
	args = append(args, (*text)(&j.Data))
	if j.ID != "" {
		args = append(args, &j.ID)
	}
	return args
}

// text is an argument that takes no allocation, as a slice of bytes would.
type text []byte

// MarshalBinary is called by go-redis when it writes the command.
func (t *text) MarshalBinary() ([]byte, error) { return *t, nil }

func dedupSwitches(d *storage.Dedup) string {
	b := make([]byte, 0, 4)
	for _, f := range []struct {
		flag byte
		on   bool
	}{{'e', d.Extend}, {'r', d.Replace}, {'k', d.KeepLastIfActive}, {'s', d.Reschedule}} {
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
	b.Write(jsjson.AppendString(b.AvailableBuffer(), text))
}

// checkAdd refuses, before anything is sent, what would damage the queue.
func (s *Store) checkAdd(queue string, jobs []intake) error {
	b, err := s.base(queue)
	if err != nil {
		return err
	}
	for i, j := range jobs {
		err := s.checkJob(b, j)
		if err == nil && (i == 0 || !bytes.Equal(j.Opts, jobs[i-1].Opts)) {
			err = checkOpts(j.Opts)
		}
		if err != nil {
			return storage.Invalid("bullmq: add on queue %q: job %d of %d: %w", queue, i+1, len(jobs), err)
		}
	}
	return nil
}

func (s *Store) checkJob(b string, j intake) error {
	if err := wire.CheckStoredID(j.ID); err != nil {
		return err
	}
	switch {
	case j.Timestamp.IsZero():
		return errors.New("it has no timestamp")
	case j.Priority < 0 || j.Priority > wire.MaxPriority:
		return fmt.Errorf("the priority %d is not one of 0 to %d", j.Priority, wire.MaxPriority)
	case j.Dedup != nil && j.Dedup.ID == "":
		return errors.New("deduplication needs an id")
	case j.Parent == nil:
		return nil
	case j.Parent.ID == "" || j.Parent.Queue == "":
		return errors.New("a parent needs an id, and a queue with its prefix")
	case !knownPolicy(j.Parent.OnFail):
		return fmt.Errorf("there is no policy %q for children that fail: use one of the OnFail constants", j.Parent.OnFail)
	case s.cluster && hashTag(j.Parent.Queue+":") != hashTag(b):
		return fmt.Errorf("the parent's queue %q has another hash tag: a prefix with a hash tag, such as {jobs}, puts all queues in one slot: %w", j.Parent.Queue, ErrNoHashTag)
	}
	return nil
}

// checkOpts refuses options that peers cannot read.
func checkOpts(opts []byte) error {
	switch {
	case len(opts) == 0:
		return errors.New("there are no options: give at least {}")
	case opts[0] != '{' || !json.Valid(opts):
		return fmt.Errorf("its options %.40q are not a JSON object", opts)
	}
	return nil
}

func knownPolicy(p storage.OnFail) bool {
	switch p {
	case storage.OnFailWait, storage.OnFailFail, storage.OnFailContinue, storage.OnFailIgnore, storage.OnFailRemove:
		return true
	}
	return false
}
