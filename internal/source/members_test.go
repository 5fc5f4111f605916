package source

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullmq-gen/bullmq-gen/internal/diag"
)

// What the model says about the JSON of a struct must be what encoding/json
// does. Random structs, with embedding to three levels, tags that collide,
// shadow and hide, are compiled into a program that says what json.Marshal
// writes of them.
func TestMembersAreThoseOfEncodingJSON(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			names, declarations := randomStructs(rand.New(rand.NewPCG(seed, 1)), 60)
			write(t, dir, "go.mod", "module example.com\n\ngo 1.26.0\n")
			write(t, dir, "tasks/tasks.go", "package tasks\n\n"+declarations)
			write(t, dir, "main.go", program(names))
			run := exec.Command("go", "run", ".")
			run.Dir = dir
			out, err := run.CombinedOutput()
			require.NoError(t, err, string(out))
			var want map[string]struct{ All, Required []string }
			require.NoError(t, json.Unmarshal(out, &want))

			l := &diag.List{}
			loaded, err := Load(context.Background(), Config{Dir: dir, Patterns: []string{"./tasks"}}, l)
			require.NoError(t, err)
			require.False(t, l.Failed(), "%v", l.Sorted())
			require.Len(t, loaded.Annotated, 1)
			require.Len(t, loaded.Annotated[0].Tasks, len(names))
			for _, task := range loaded.Annotated[0].Tasks {
				var all []string
				members, _ := task.Payload.Members()
				for _, m := range members {
					all = append(all, m.Name)
				}
				slices.Sort(all)
				required := slices.Sorted(slices.Values(task.Required()))
				require.Equal(t, want[task.GoName].All, all, "members of %s in\n%s", task.GoName, declarations)
				require.Equal(t, want[task.GoName].Required, required, "required members of %s in\n%s", task.GoName, declarations)
			}
		})
	}
}

// randomStructs declares structs S0, S1, ...; each may embed those before it.
func randomStructs(r *rand.Rand, n int) (names []string, declarations string) {
	types := []string{"string", "int", "*int", "[]string", "map[string]int", "[2]bool", "Own", "*Own", "Text"}
	tags := []string{"", "", "", "a", "b", "c", "-", "-,", "a,omitempty", ",omitempty", "b,omitzero", ",string", "é"}
	var b strings.Builder
	b.WriteString("type Own struct{ X int }\n\ntype Text string\n\ntype list []int\n\n")
	for i := range n {
		name := fmt.Sprintf("S%d", i)
		if r.IntN(4) == 0 {
			name = fmt.Sprintf("s%d", i)
		} else {
			fmt.Fprintf(&b, "//bullmq:task q/%s\n", name)
		}
		fmt.Fprintf(&b, "type %s struct {\n\tZ%d int\n", name, i) // so that none is empty
		embedded := map[string]bool{}
		for range r.IntN(4) {
			if len(names) == 0 {
				break
			}
			e := names[r.IntN(len(names))]
			if embedded[e] {
				continue
			}
			embedded[e] = true
			star := ""
			if r.IntN(3) == 0 && e[0] == 'S' {
				star = "*"
			}
			fmt.Fprintf(&b, "\t%s%s%s\n", star, e, tag(r, star+e, tags))
		}
		for f := range r.IntN(5) {
			field := fmt.Sprintf("%c", "ABCDEab"[(f+r.IntN(2))%7])
			if embedded[field] {
				continue
			}
			embedded[field] = true
			typ := types[r.IntN(len(types))]
			fmt.Fprintf(&b, "\t%s %s%s\n", field, typ, tag(r, typ, tags))
		}
		b.WriteString("}\n\n")
		names = append(names, name)
	}
	return slices.DeleteFunc(names, func(s string) bool { return s[0] == 's' }), b.String()
}

// tag chooses a tag. It leaves out omitempty where encoding/json ignores it,
// since there the model takes the word for the wish.
func tag(r *rand.Rand, typ string, tags []string) string {
	t := tags[r.IntN(len(tags))]
	if t == "" || strings.Contains(t, "omitempty") && (strings.Contains("[2]bool Own", typ) || strings.Trim(typ, "Ss0123456789") == "") {
		return ""
	}
	return " `json:\"" + t + "\"`"
}

// program prints what encoding/json makes of filled and of zero values.
func program(names []string) string {
	var b strings.Builder
	b.WriteString(`package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"example.com/tasks"
)

// fill makes every value that it can reach other than zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() || v.Type().Field(i).Anonymous && f.Kind() == reflect.Struct {
				fill(f)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k"), reflect.ValueOf(1))
	case reflect.String:
		v.SetString("x")
	case reflect.Int:
		v.SetInt(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Array:
		fill(v.Index(0))
	}
}

func members(v any, nulls bool) []string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		panic(err)
	}
	var names []string
	for name, value := range object {
		if nulls || string(value) != "null" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

type entry struct{ All, Required []string }

func add[T any](all map[string]entry, name string) {
	var zero, full T
	fill(reflect.ValueOf(&full).Elem())
	all[name] = entry{members(full, true), members(zero, false)}
}

func main() {
	all := map[string]entry{}
`)
	for _, n := range names {
		fmt.Fprintf(&b, "\tadd[tasks.%s](all, %q)\n", n, n)
	}
	b.WriteString("\ttext, _ := json.Marshal(all)\n\tfmt.Println(string(text))\n}\n")
	return b.String()
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}
