package templates

import (
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/bullmq-gen/bullmq-gen/internal/model"
)

// literal is a composite literal whose members keep their order.
type literal struct{ members []jen.Code }

func (l *literal) set(name string, value jen.Code) {
	l.members = append(l.members, jen.Id(name).Op(":").Add(value))
}

// setFirst sets a member if there is a value for it.
func (l *literal) setFirst(name string, values []jen.Code) {
	if len(values) > 0 {
		l.set(name, values[0])
	}
}

// members is how a list in braces is written, each in a line of its own.
var members = jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}

// arguments is how those of a call are written, each in a line of its own.
var arguments = jen.Options{Open: "(", Close: ")", Separator: ",", Multi: true}

// lines are the members one below the other, for behind a type.
func (l *literal) lines(typ *jen.Statement) *jen.Statement {
	return typ.Custom(members, l.members...)
}

// inline are the members in one line.
func (l *literal) inline(typ *jen.Statement) *jen.Statement { return typ.Values(l.members...) }

func texts(values []string) *jen.Statement {
	return jen.Index().String().ValuesFunc(func(g *jen.Group) {
		for _, v := range values {
			g.Lit(v)
		}
	})
}

// duration writes d in the largest unit that it is a multiple of.
func duration(d time.Duration) *jen.Statement {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"}, {time.Millisecond, "Millisecond"}} {
		if n := d / u.unit; d%u.unit == 0 && n != 0 {
			if n == 1 {
				return jen.Qual("time", u.name)
			}
			return jen.Lit(int(n)).Op("*").Qual("time", u.name)
		}
	}
	return jen.Lit(int(d))
}

func retention(r *model.Retention) *jen.Statement {
	switch {
	case r.None:
		return runtime("KeepNone").Call()
	case r.Count > 0 && r.Age > 0:
		var l literal
		l.set("Count", jen.Lit(r.Count))
		l.set("Age", duration(r.Age))
		return l.inline(jen.Op("&").Add(runtime("Retention")))
	case r.Count > 0:
		return runtime("KeepLast").Call(jen.Lit(r.Count))
	case r.Age > 0:
		return runtime("KeepFor").Call(duration(r.Age))
	}
	return runtime("KeepAll").Call()
}

func backoff(b model.Backoff) *jen.Statement {
	var l literal
	l.set("Type", jen.Lit(b.Type))
	if b.Delay > 0 {
		l.set("Delay", duration(b.Delay))
	}
	if b.Jitter > 0 {
		l.set("Jitter", jen.Lit(b.Jitter))
	}
	if b.Max > 0 {
		l.set("Max", duration(b.Max))
	}
	return l.inline(runtime("Backoff"))
}

func dedup(d *model.Dedup) *jen.Statement {
	var l literal
	if d.TTL > 0 {
		l.set("TTL", duration(d.TTL))
	}
	for _, flag := range []struct {
		name string
		on   bool
	}{{"Extend", d.Extend}, {"Replace", d.Replace}, {"KeepLastIfActive", d.KeepLast}, {"Reschedule", d.Reschedule}} {
		if flag.on {
			l.set(flag.name, jen.True())
		}
	}
	return l.inline(runtime("Dedup"))
}
