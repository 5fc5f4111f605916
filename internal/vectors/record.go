// Package vectors replays recorded facts about a BullMQ queue: the keys
// before an operation, its arguments, the keys after it and its reply.
//
// [Load] reads records, [Apply] writes the state before into an empty
// database, [Snapshot] reads the state after, and [Diff] and [DiffReply]
// compare, by rules under which two states are the same to every peer:
//
//  1. Stream ids count by their order only; fields of an entry have no order.
//  2. A key that expires must expire, within 1.5 seconds of the time recorded.
//  3. Hash fields and set members have no order; numbers are compared as numbers.
//  4. Text that is JSON is compared as JSON.
//  5. Members of sorted sets and their scores are exact.
//  6. List order is exact.
//  7. In replies, an array of alternating field and value is a hash; of an
//     error only its presence counts.
package vectors

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Record is one recorded fact.
type Record struct {
	ID  string `json:"id"`
	Lib string `json:"lib"` // the release that made it: "6.7.0" or "5.81.5"
	// Script is the operation's name, when it is an atomic one.
	Script string `json:"script,omitempty"`
	// Operation is the name of one that is made of plain commands.
	Operation string `json:"operation,omitempty"`
	// Args are the arguments by their meaning; see Record.Decode.
	Args json.RawMessage `json:"args"`
	// Keys are those handed to the operation.
	Keys   []string        `json:"keys,omitempty"`
	Before Keyspace        `json:"before"`
	After  Keyspace        `json:"after"`
	Reply  json.RawMessage `json:"reply"`
	Note   string          `json:"note"`
	// Commands are what the server saw of a plain operation, in order, and
	// Scripts counts the script calls in between.
	Commands [][]string `json:"commands,omitempty"`
	Scripts  int        `json:"scripts,omitempty"`
}

// Op names the operation: the script, or "plain:" and the plain operation.
func (r *Record) Op() string {
	if r.Script != "" {
		return r.Script
	}
	return "plain:" + r.Operation
}

// Peers5 reports whether a 5.x release made the record.
func (r *Record) Peers5() bool { return strings.HasPrefix(r.Lib, "5.") }

// Decode reads the arguments into v, a pointer to a struct or map.
func (r *Record) Decode(v any) error {
	if err := json.Unmarshal(r.Args, v); err != nil {
		return fmt.Errorf("vectors: arguments of %s: %w", r.ID, err)
	}
	return nil
}

// Base is what the keys of the record's queue begin with, colon included:
// "bull:q:".
func (r *Record) Base() string {
	var args struct {
		Prefix string `json:"prefix"`
	}
	if json.Unmarshal(r.Args, &args) == nil && args.Prefix != "" {
		return args.Prefix
	}
	key := r.firstKey()
	base := ""
	for _, space := range []Keyspace{r.Before, r.After} {
		for k := range space {
			b, ok := strings.CutSuffix(k, "meta")
			if ok && strings.HasSuffix(b, ":") && strings.HasPrefix(key, b) && len(b) > len(base) {
				base = b
			}
		}
	}
	if base != "" {
		return base
	}
	parts := strings.SplitN(key, ":", 3)
	return strings.Join(parts[:min(2, len(parts))], ":") + ":"
}

// firstKey is a key of the record's queue.
func (r *Record) firstKey() string {
	if len(r.Keys) > 0 {
		return r.Keys[0]
	}
	for _, c := range r.Commands {
		if len(c) > 1 && strings.Contains(c[1], ":") {
			return c[1]
		}
	}
	return "bull:q:"
}

// Queue cuts Base into the prefix and the queue's name.
func (r *Record) Queue() (prefix, queue string) {
	base := strings.TrimSuffix(r.Base(), ":")
	i := strings.LastIndexByte(base, ':')
	return base[:max(i, 0)], base[i+1:]
}

// Job is what follows the base in the first key: the job's id, when the
// operation was handed the key of a job.
func (r *Record) Job() string { return strings.TrimPrefix(r.firstKey(), r.Base()) }

// Load reads the records of all files *.jsonl.gz of some folders, each fact
// once even if two folders have it. A folder that does not exist is an error.
func Load(dirs ...string) ([]*Record, error) {
	var all []*Record
	seen := map[[sha256.Size]byte]bool{}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("vectors: %w", err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
		if err != nil {
			return nil, fmt.Errorf("vectors: %w", err)
		}
		sort.Strings(files)
		for _, f := range files {
			err := eachLine(f, func(line []byte) error {
				sum := sha256.Sum256(line)
				if seen[sum] {
					return nil
				}
				seen[sum] = true
				r := new(Record)
				all = append(all, r)
				return json.Unmarshal(line, r)
			})
			if err != nil {
				return nil, fmt.Errorf("vectors: %s: %w", f, err)
			}
		}
	}
	return all, nil
}

// eachLine calls f with each line of a gzip file.
func eachLine(file string, f func(line []byte) error) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	z, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	lines := bufio.NewReaderSize(z, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := f(line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
