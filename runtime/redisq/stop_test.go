package redisq

import (
	"context"
	"crypto/sha1" //nolint:gosec // the name that Redis gives to a script
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/audit"
	"github.com/bullmq-gen/bullmq-gen/internal/testredis"
	"github.com/bullmq-gen/bullmq-gen/internal/vectors"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
	"github.com/bullmq-gen/bullmq-gen/scripts"
)

// stopPrelude makes a script fail at the command whose number is in the key
// "stop at", as one that is denied does. The commands are counted in "commands".
const stopPrelude = `local server, stop_at, commands = redis, tonumber(redis.call('GET', 'stop at') or '0'), 0
local function next_command(name)
  commands = commands + 1
  if stop_at < 0 then server.call('SET', 'commands', commands) end
  return commands == stop_at and 'NOPERM stopped before ' .. name or nil
end
local redis = {
  call = function(...)
    local stop = next_command(...)
    if stop then error(stop, 0) end
    return server.call(...)
  end,
  pcall = function(...)
    local stop = next_command(...)
    if stop then return { err = stop } end
    return server.pcall(...)
  end,
}
`

// stoppable is a script with that seam.
func stoppable(name string) *scripts.Script {
	source := stopPrelude + script(name).Source
	sum := sha1.Sum([]byte(source)) //nolint:gosec // see above
	return &scripts.Script{Name: name, Source: source, SHA: hex.EncodeToString(sum[:])}
}

// stopped is one record's operation that is stopped at each of its commands.
type stopped struct {
	ctx    context.Context
	rdb    *redis.Client
	store  *Store
	record *vectors.Record
	play   replayFunc
	prefix string
	queue  string
}

func newStopped(ctx context.Context, rdb *redis.Client, r *vectors.Record, play replayFunc) (*stopped, error) {
	p := &stopped{ctx: ctx, rdb: rdb, record: r, play: play}
	p.prefix, p.queue = r.Queue()
	opts := []Option{Prefix(p.prefix)}
	if r.Peers5() {
		opts = append(opts, Peers5())
	}
	var err error
	if p.store, err = New(rdb, opts...); err != nil {
		return nil, err
	}
	p.store.script = stoppable
	return p, nil
}

// begin writes the state before, and sets where scripts stop.
func (p *stopped) begin(at int) error {
	if err := p.rdb.FlushDB(p.ctx).Err(); err != nil {
		return err
	}
	if err := vectors.Apply(p.ctx, p.rdb, p.record.Before); err != nil {
		return err
	}
	return p.rdb.Set(p.ctx, "stop at", at, 0).Err()
}

// recover does what happens next in a real queue: the operation is made again,
// locks run out, and stalled jobs are looked for.
func (p *stopped) recover() error {
	if err := p.rdb.Del(p.ctx, "stop at", "commands").Err(); err != nil {
		return err
	}
	_, _ = p.play(p.ctx, p.store, p.record) // it may be refused: what it was about is done
	for range 2 {                           // one check marks the active jobs, the next finds those without a lock
		keys, err := p.rdb.Keys(p.ctx, p.prefix+":*").Result()
		if err != nil {
			return err
		}
		keys = slices.DeleteFunc(keys, func(k string) bool { return !strings.HasSuffix(k, ":lock") && !strings.HasSuffix(k, ":stalled-check") })
		if len(keys) > 0 {
			if err := p.rdb.Del(p.ctx, keys...).Err(); err != nil {
				return err
			}
		}
		for _, queue := range p.queues() {
			if _, err := p.store.RecoverStalled(p.ctx, queue, storage.StalledRequest{Now: time.UnixMilli(1800000000000), Interval: time.Millisecond, MaxStalled: 1 << 30}); err != nil {
				return err
			}
		}
	}
	return nil
}

// queues are the names of all queues of the record.
func (p *stopped) queues() []string {
	var names []string
	for key := range p.record.Before {
		if name, _, ok := strings.Cut(strings.TrimPrefix(key, p.prefix+":"), ":"); ok && name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if !slices.Contains(names, p.queue) {
		names = append(names, p.queue)
	}
	return names
}

// end returns the jobs that there are, and the broken invariants.
func (p *stopped) end() (jobs map[string]bool, broken map[string]string, err error) {
	state, err := vectors.Snapshot(p.ctx, p.rdb)
	if err != nil {
		return nil, nil, err
	}
	jobs, broken = map[string]bool{}, map[string]string{}
	for key, e := range state {
		if _, ok := e.Hash["timestamp"]; ok {
			jobs[key] = true
		}
	}
	for _, b := range audit.Keyspace(state, p.prefix) {
		if unguaranteed[b.Rule] {
			continue
		}
		broken[string(b.Rule)+" "+b.Key] = b.String()
	}
	return jobs, broken, nil
}

// unguaranteed are invariants that a stop may break without a job being lost:
// counts and marks that no job depends on, or that the next add or take mends.
var unguaranteed = map[audit.Rule]bool{
	audit.RuleWake: true, audit.RuleMarker: true, audit.RuleMetrics: true, audit.RuleEvent: true, audit.RuleLimiter: true, audit.RuleStalled: true,
}

// tolerated reports whether a rule is broken anyway, or is what a removal that
// stops may leave: a child that its parent has forgotten, which runs, and an id
// without its job, which workers pass over and the next removal takes out. New
// jobs have other ids when the operation is made again.
func (p *stopped) tolerated(where string, usual map[string]string) bool {
	rule, key, _ := strings.Cut(where, " ")
	_, old := p.record.Before[key]
	for u := range usual {
		if u == where || !old && strings.HasPrefix(u, rule+" ") {
			return true
		}
	}
	return rule == string(audit.RuleGhost) || rule == string(audit.RuleUnawaited) && strings.HasPrefix(p.record.Op(), "remove")
}

// stopEverywhere stops the operation at each command, and returns what is then
// wrong for good that is not if it is never stopped.
func (p *stopped) stopEverywhere() (wrong []string, stops int, err error) {
	if err := p.begin(-1); err != nil {
		return nil, 0, err
	}
	_, before, err := p.end()
	if err != nil {
		return nil, 0, err
	}
	if _, err := p.play(p.ctx, p.store, p.record); err != nil {
		return nil, 0, nil //nolint:nilerr // it is refused anyway
	}
	commands, err := p.rdb.Get(p.ctx, "commands").Int()
	if err != nil {
		return nil, 0, nil //nolint:nilerr // it runs no script
	}
	keptOnce, usualOnce, err := p.end()
	if err != nil {
		return nil, 0, err
	}
	if err := p.recover(); err != nil {
		return nil, 0, err
	}
	kept, usual, err := p.end()
	if err != nil {
		return nil, 0, err
	}
	maps.Copy(usual, usualOnce)
	maps.Copy(usual, before)
	for at := 1; at <= commands; at++ {
		if err := p.begin(at); err != nil {
			return nil, 0, err
		}
		_, stop := p.play(p.ctx, p.store, p.record)
		if err := p.recover(); err != nil {
			return nil, 0, fmt.Errorf("stopped at %d: %w", at, err)
		}
		jobs, broken, err := p.end()
		if err != nil {
			return nil, 0, err
		}
		for key := range kept { // a new job may have another id, when the operation was made again
			if _, old := p.record.Before[key]; old && keptOnce[key] && !jobs[key] {
				wrong = append(wrong, fmt.Sprintf("command %d (%v): job %s is lost", at, stop, key))
			}
		}
		if want := min(len(kept), len(keptOnce)); len(jobs) < want {
			wrong = append(wrong, fmt.Sprintf("command %d (%v): there are %d jobs, not %d", at, stop, len(jobs), want))
		}
		for where, text := range broken {
			if !p.tolerated(where, usual) {
				wrong = append(wrong, fmt.Sprintf("command %d (%v): %s", at, stop, text))
			}
		}
	}
	return wrong, commands, nil
}

// A script may be stopped at any of its commands: one is denied, say. When the
// operation is made again, and stalled jobs were looked for, no job is lost and
// each is in one state. BULLMQ_STOPS is how many records are tried; 0: all.
func TestAScriptThatStopsAtAnyCommandLosesNothing(t *testing.T) {
	t.Parallel()
	records, err := vectors.Load(filepath.Join("..", "..", "testdata", "vectors"))
	require.NoError(t, err)
	if *onlyRecords != "" {
		records = slices.DeleteFunc(records, func(r *vectors.Record) bool { return !strings.Contains(r.ID, *onlyRecords) })
	}
	want, err := strconv.Atoi(os.Getenv("BULLMQ_STOPS"))
	if err != nil {
		want = 250
	}
	step := 1
	if want > 0 {
		step = max(1, len(records)/want)
	}
	funcs := replays()
	var mu sync.Mutex
	var all sync.WaitGroup
	next := make(chan *vectors.Record)
	total, played := 0, 0
	for range 2 {
		rdb := testredis.Any(t).Client(t)
		all.Go(func() {
			for r := range next {
				p, err := newStopped(t.Context(), rdb, r, funcs[r.Op()])
				var wrong []string
				stops := 0
				if err == nil {
					wrong, stops, err = p.stopEverywhere()
				}
				mu.Lock()
				total, played = total+stops, played+1
				if err != nil {
					t.Errorf("%s: %v", r.ID, err)
				}
				if len(wrong) > 0 {
					t.Errorf("%s (%s, %s):\n  %s", r.ID, r.Lib, r.Note, strings.Join(wrong[:min(len(wrong), 4)], "\n  "))
				}
				mu.Unlock()
			}
		})
	}
	for i := 0; i < len(records); i += step {
		if funcs[records[i].Op()] != nil {
			next <- records[i]
		}
	}
	close(next)
	all.Wait()
	t.Logf("%d records, stopped %d times", played, total)
	require.Positive(t, total)
}
