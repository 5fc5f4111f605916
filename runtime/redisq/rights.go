package redisq

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
	"github.com/bullmq-gen/bullmq-gen/scripts"
)

var (
	scriptLine    = regexp.MustCompile(`@user_script: ?(\d+)`)
	scriptCommand = regexp.MustCompile(`'([A-Z]{3,})'`)
	scriptCalls   = regexp.MustCompile(`\brc\(|redis\.p?call\(`)
)

// nameDenied adds to the error of a script what the user was denied in it: a
// server names only the line.
func nameDenied(err error, sc *scripts.Script) error {
	var f *fault
	if !errors.As(err, &f) || f.kind != storage.ErrNotPermitted || !strings.Contains(f.err.Error(), "script") {
		return err
	}
	named := *f
	named.hint = "grant the user " + rights(deniedCommands(f.err.Error(), sc)) + " on the keys of the queues, ~bull:* by default; docs/security.md lists the rights of each role"
	return &named
}

// deniedCommands are the commands of the line of the script at which the server
// stopped, or of the whole script if it does not say which one.
func deniedCommands(text string, sc *scripts.Script) []string {
	if m := scriptLine.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		if lines := strings.Split(sc.Source, "\n"); n >= 1 && n <= len(lines) {
			if found := commandsIn(lines[n-1]); len(found) > 0 {
				return found
			}
		}
	}
	return scriptCommands(sc)
}

// scriptCommands are all commands that a script calls.
func scriptCommands(sc *scripts.Script) []string {
	var all []string
	for line := range strings.Lines(sc.Source) {
		all = append(all, commandsIn(line)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func commandsIn(line string) []string {
	var found []string
	if !scriptCalls.MatchString(line) {
		return nil
	}
	for _, m := range scriptCommand.FindAllStringSubmatch(line, -1) {
		if c := strings.ToLower(m[1]); commands[c] && !slices.Contains(found, c) {
			found = append(found, c)
		}
	}
	return found
}

func rights(commands []string) string { return "+" + strings.Join(commands, " +") }

// commands are the commands that scripts call. Other words in capitals are options.
var commands = map[string]bool{}

func init() {
	for _, c := range strings.Fields(`copy decr decrby del exists expire get getdel hdel hexists hget hgetall hincrby hkeys hlen hmget hmset
		hscan hset hsetnx incr incrby lindex linsert llen lmove lpop lpos lpush lpushx lrange lrem lset ltrim mget mset object persist pexpire psetex
		pttl rename rpop rpoplpush rpush rpushx sadd scard set setnx sismember smismember smembers smove spop srandmember srem sscan strlen ttl type unlink
		xadd xlen xrange xtrim zadd zcard zcount zincrby zmscore zpopmax zpopmin zrange zrangebyscore zrank zrem zremrangebyrank
		zremrangebyscore zrevrange zrevrangebyscore zscan zscore time hstrlen xrevrange sunionstore zrangestore zunionstore dump restore`) {
		commands[c] = true
	}
}
