package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

var titles = map[string]string{"ours": "bullmq-gen", "node": "Node BullMQ", "asynq": "asynq", "river": "River", "limit": "limit", "bare": "goroutines"}

// markdown is the tables of a run.
func (r *results) markdown() string {
	var b strings.Builder
	river := ""
	if v := r.Versions["postgres"]; v != "" {
		river = "River " + r.Versions["river"] + " on PostgreSQL " + v + ", "
	}
	fmt.Fprintf(&b, "%s mode, %s, on %s. Redis %s, BullMQ %s on Node %s, asynq %s, %sgo-redis %s, %s.\n",
		capital(r.Mode), r.Date, r.Machine, r.Versions["redis"], r.Versions["bullmq"], r.Versions["node"], r.Versions["asynq"], river, r.Versions["go-redis"], r.Versions["go"])
	b.WriteString("Each cell is the median of the rounds, with the least and the largest in brackets; ratios are taken within each round.\n\n")
	r.values(&b)
	b.WriteString("\nMicroseconds of Redis CPU per job (or flow), commands that the server executed per job, and the longest single call of ours (0: below 1 ms):\n\n")
	r.redis(&b)
	return b.String()
}

func (r *results) values(b *strings.Builder) {
	b.WriteString("| work | bullmq-gen | Node BullMQ | asynq | River | limit | to Node | to asynq | to River | of the limit |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, w := range r.Works {
		cells := []string{w.Title + " (" + w.Unit + ")"}
		for _, p := range []string{"ours", "node", "asynq", "river"} {
			cells = append(cells, w.cell(p))
		}
		limit, of := w.cell("limit"), ratioCell(w.Ratios, "limit", "%.0f %%", 100)
		if w.Contenders["bare"] != nil {
			limit, of = w.cell("bare")+" (no queue)", ratioCell(w.Ratios, "bare", "%.0f %%", 100)
		}
		if w.Unit != rate {
			of = ""
		}
		cells = append(cells, limit, ratioCell(w.Ratios, "node", "%.2fx", 1), ratioCell(w.Ratios, "asynq", "%.2fx", 1), ratioCell(w.Ratios, "river", "%.2fx", 1), of)
		row(b, cells)
	}
}

func (r *results) redis(b *strings.Builder) {
	b.WriteString("| work | bullmq-gen | Node BullMQ | asynq | limit | to Node | to asynq | to the limit | longest call (ms) |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, w := range r.Works {
		if w.Unit == micros {
			continue
		}
		cells := []string{w.Title}
		for _, p := range []string{"ours", "node", "asynq", "limit"} {
			if f := w.Contenders[p]; f != nil {
				cells = append(cells, fmt.Sprintf("%s; %.1f", f.Redis, f.Commands))
			} else {
				cells = append(cells, "")
			}
		}
		for _, p := range []string{"node", "asynq", "limit"} {
			cells = append(cells, ratioCell(w.CPURatios, p, "%.2fx", 1))
		}
		cells = append(cells, w.longest("ours"))
		row(b, cells)
	}
}

func (r *result) cell(contender string) string {
	f := r.Contenders[contender]
	switch {
	case f == nil:
		return ""
	case r.Unit == micros:
		return fmt.Sprintf("p50 %s, p99 %s", number(f.Value.Median), number(f.P99))
	}
	return f.Value.String()
}

// longest is the longest call of each round.
func (r *result) longest(contender string) string {
	f := r.Contenders[contender]
	switch {
	case f == nil:
		return ""
	case f.LongestMillis.Max == 0:
		return "< 1"
	}
	return f.LongestMillis.String()
}

func ratioCell(ratios map[string]spread3, peer, format string, times float64) string {
	s, ok := ratios[peer]
	if !ok {
		return ""
	}
	return fmt.Sprintf(format, s.Median*times)
}

func row(b *strings.Builder, cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }

func (s spread3) String() string {
	if s.Min == s.Max {
		return number(s.Median)
	}
	return fmt.Sprintf("%s [%s-%s]", number(s.Median), number(s.Min), number(s.Max))
}

// number writes three digits that count, and thousands apart.
func number(f float64) string {
	if f == 0 {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(f))))
	if digits > 0 {
		return strconv.FormatFloat(f, 'f', digits, 64)
	}
	p := math.Pow10(-digits)
	whole := strconv.FormatFloat(math.Round(f/p)*p, 'f', 0, 64)
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// The table in a document stands between these lines.
const (
	tableBegin = "<!-- table: written by make bench -->"
	tableEnd   = "<!-- end of table -->"
)

// intoDocument replaces the table of a document.
func intoDocument(path, table string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), tableBegin)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no lines %q and %q", path, tableBegin, tableEnd)
	}
	return os.WriteFile(path, []byte(before+tableBegin+"\n"+table+tableEnd+after), 0o644)
}
