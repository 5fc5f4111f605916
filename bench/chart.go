package main

import (
	"fmt"
	"strings"
)

// The chart shows, for each work that is measured as a rate, how the
// contenders compare with Node, which is 1.
const (
	barHeight, barGap, groupGap, leftEdge, plotWidth = 14, 3, 22, 340, 420
)

var colours = map[string]string{"ours": "#1f6feb", "node": "#6cc24a", "asynq": "#8c8c8c", "river": "#b07cc6", "limit": "#e3b341"}

// chart draws the rates and the Redis CPU as an SVG picture.
func (r *results) chart() string {
	var body strings.Builder
	y := 82
	y = r.panel(&body, y, "Rate, times that of Node (longer is better)", func(w *result, c string) (float64, string) {
		f := w.Contenders[c]
		return f.Value.Median / w.Contenders["node"].Value.Median, number(f.Value.Median)
	})
	y = r.panel(&body, y+18, "Redis CPU a job or flow, times that of Node (shorter is better)", func(w *result, c string) (float64, string) {
		f := w.Contenders[c]
		return f.Redis.Median / w.Contenders["node"].Redis.Median, number(f.Redis.Median) + " µs"
	})
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="870" height="%d" font-family="sans-serif" font-size="12">`+"\n", y)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	text(&b, 16, 24, "bullmq-gen beside its peers", ` font-size="16" font-weight="bold"`)
	text(&b, 16, 42, "Node BullMQ "+r.Versions["bullmq"]+" and asynq "+r.Versions["asynq"]+" on the same Redis, River "+r.Versions["river"]+" on its own PostgreSQL", "")
	x := 16
	for _, c := range []string{"ours", "node", "asynq", "river", "limit"} {
		fmt.Fprintf(&b, `<rect x="%d" y="54" width="12" height="12" fill="%s"/>`+"\n", x, colours[c])
		text(&b, x+16, 64, titles[c], "")
		x += 120
	}
	b.WriteString(body.String() + "</svg>\n")
	return b.String()
}

// panel draws one group of bars a work and returns where it ends.
func (r *results) panel(b *strings.Builder, y int, title string, of func(w *result, contender string) (float64, string)) int {
	y += 20
	text(b, 16, y, title, ` font-weight="bold"`)
	y += 12
	most := 1.0
	for _, w := range r.charted() {
		for c := range colours {
			if w.Contenders[c] != nil {
				v, _ := of(w, c)
				most = max(most, v)
			}
		}
	}
	for _, w := range r.charted() {
		text(b, 16, y+barHeight, w.Title, "")
		for _, c := range []string{"ours", "node", "asynq", "river", "limit"} {
			if w.Contenders[c] == nil {
				continue
			}
			v, label := of(w, c)
			if v == 0 {
				continue // it uses no Redis
			}
			width := int(v / most * plotWidth)
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", leftEdge, y, width, barHeight, colours[c])
			text(b, leftEdge+width+5, y+11, fmt.Sprintf("%.2fx  (%s)", v, label), ` font-size="10"`)
			y += barHeight + barGap
		}
		y += groupGap - barGap
	}
	return y
}

func (r *results) charted() []*result {
	var list []*result
	for _, w := range r.Works {
		if (w.Unit == rate || w.Unit == flowRate) && w.Contenders["node"] != nil && w.Contenders["bare"] == nil {
			list = append(list, w)
		}
	}
	return list
}

func text(b *strings.Builder, x, y int, s, more string) {
	fmt.Fprintf(b, `<text x="%d" y="%d"%s>%s</text>`+"\n", x, y, more, strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(s))
}
