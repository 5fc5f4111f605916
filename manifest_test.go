package bullmqgen_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math/big"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
	"github.com/bullmq-gen/bullmq-gen/internal/manifest"
	"github.com/bullmq-gen/bullmq-gen/testdata/payloads"
)

// fixtures are the types of package payloads by the names of their tasks; a
// name with a slash is a result.
var fixtures = map[string]any{
	"numbers":    payloads.Numbers{},
	"optional":   payloads.Optional{},
	"containers": payloads.Containers{}, "containers/result": map[string][]*payloads.Level{},
	"self-made": payloads.SelfMade{},
	"embedding": payloads.Embedding{},
	"tree":      payloads.Tree{}, "tree/result": payloads.Tree{},
	"colors": payloads.Colors{}, "colors/result": payloads.Page[payloads.Point]{},
	"words": payloads.Words{}, "words/result": "",
	"counts": payloads.Counts{}, "counts/result": []byte{},
	"flag": payloads.Flag(false), "flag/result": struct {
		A int
		B *string
	}{},
	"raw": payloads.Raw{}, "raw/result": json.RawMessage{},
}

func payloadManifest(t *testing.T) *manifest.Document {
	t.Helper()
	r, err := bullmqgen.Generate(context.Background(), bullmqgen.Config{Patterns: []string{"./testdata/payloads"}})
	require.NoError(t, err)
	require.False(t, r.Failed(), "%v", r.Diagnostics)
	at := slices.IndexFunc(r.Files, func(f bullmqgen.File) bool { return filepath.Base(f.Path) == manifest.FileName })
	require.GreaterOrEqual(t, at, 0)
	d, err := manifest.Parse(r.Files[at].Content)
	require.NoError(t, err)
	again, err := d.Bytes()
	require.NoError(t, err)
	require.Equal(t, string(r.Files[at].Content), string(again), "what is read is what was written")
	return d
}

// payloadTasks are the tasks of queue payloads.
func payloadTasks(t *testing.T) []*manifest.Task {
	t.Helper()
	for _, q := range payloadManifest(t).Packages[0].Queues {
		if q.Name == "payloads" {
			return q.Tasks
		}
	}
	t.Fatal("there is no queue payloads")
	return nil
}

// What encoding/json makes of any value is valid by the schema of its type.
func TestRandomValuesFitTheirSchemas(t *testing.T) {
	t.Parallel()
	schemas := map[string]*jsonschema.Schema{}
	for _, task := range payloadTasks(t) {
		schemas[task.Name] = compileSchema(t, task.Data)
		if task.Result != nil {
			schemas[task.Name+"/result"] = compileSchema(t, task.Result)
		}
	}
	all := maps.Clone(fixtures)
	for _, q := range payloadManifest(t).Packages[0].Queues {
		if q.Name == "shapes" {
			for _, task := range q.Tasks {
				schemas[task.Name], all[task.Name] = compileSchema(t, task.Data), versions[task.Name]
			}
		}
	}
	require.Len(t, schemas, len(all))
	require.Greater(t, len(all), len(fixtures))
	for name, zero := range all {
		require.NotNil(t, zero, name)
		require.Contains(t, schemas, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				v := reflect.New(reflect.TypeOf(zero))
				fill(t, v.Elem(), 0)
				text, err := json.Marshal(v.Interface())
				if err != nil {
					t.Fatalf("%+v: %v", v, err)
				}
				if err := validate(schemas[name], text); err != nil {
					t.Fatalf("%s\n%v", text, err)
				}
			})
		})
	}
}

// A program in another language compiles a schema of the file together with the
// definitions of the file.
func TestSchemasOfAFileShareItsDefinitions(t *testing.T) {
	t.Parallel()
	text, err := payloadManifest(t).Bytes()
	require.NoError(t, err)
	var file struct {
		Packages []struct {
			Queues []struct {
				Tasks []struct{ Data map[string]any }
			}
		}
		Defs map[string]any `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(text, &file))
	require.NotEmpty(t, file.Defs)
	n := 0
	for _, q := range file.Packages[0].Queues {
		for _, task := range q.Tasks {
			require.NotContains(t, task.Data, "$defs")
			task.Data["$defs"] = file.Defs
			c := jsonschema.NewCompiler()
			whole, err := json.Marshal(task.Data)
			require.NoError(t, err)
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(whole))
			require.NoError(t, err)
			require.NoError(t, c.AddResource("mem:schema", doc))
			_, err = c.Compile("mem:schema")
			require.NoError(t, err)
			n++
		}
	}
	require.Greater(t, n, 10)
}

func compileSchema(t testing.TB, s *manifest.Schema) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(s)
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	require.NoError(t, c.AddResource("mem:schema", doc))
	compiled, err := c.Compile("mem:schema")
	require.NoError(t, err, string(text))
	return compiled
}

func validate(s *jsonschema.Schema, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// fill puts a random value into v. Types that write themselves have values of
// their own.
func fill(t *rapid.T, v reflect.Value, depth int) {
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "time"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).UTC()
		return
	case *json.RawMessage:
		*p = json.RawMessage(rapid.SampledFrom([]string{"null", `{"a":[1]}`, `"x"`, "1.5"}).Draw(t, "raw"))
		return
	case *json.Number:
		*p = json.Number(rapid.SampledFrom([]string{"", "0", "-1.5e9", "12"}).Draw(t, "number"))
		return
	case *big.Int:
		p.SetString(strings.Repeat("9", rapid.IntRange(1, 40).Draw(t, "digits")), 10)
		return
	case *netip.Addr:
		*p = netip.AddrFrom4([4]byte{127, 0, 0, rapid.Byte().Draw(t, "addr")})
		return
	case *netip.Prefix:
		*p = netip.PrefixFrom(netip.AddrFrom4([4]byte{10}), rapid.IntRange(0, 32).Draw(t, "bits"))
		return
	case *payloads.Tristate:
		_ = p.UnmarshalJSON([]byte(rapid.SampledFrom([]string{"true", "false", `"unknown"`}).Draw(t, "tristate")))
		return
	case *payloads.Code:
		_ = p.UnmarshalText([]byte(rapid.SampledFrom([]string{"code-1", "code-255"}).Draw(t, "code")))
		return
	}
	fillKind(t, v, depth)
}

func fillKind(t *rapid.T, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "string"))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := rapid.Int64().Draw(t, "int")
		v.SetInt(n >> (64 - v.Type().Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint") >> (64 - v.Type().Bits()))
	case reflect.Float32:
		v.SetFloat(float64(rapid.Float32().Draw(t, "float")))
	case reflect.Float64:
		v.SetFloat(rapid.Float64().Draw(t, "float"))
	case reflect.Pointer:
		if depth < 5 && rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				fill(t, f, depth)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), depth)
		}
	case reflect.Slice, reflect.Map:
		fillMany(t, v, depth)
	default:
		t.Fatalf("no values of %v", v.Type())
	}
}

// fillMany makes slices and maps: nil, empty, or with some elements.
func fillMany(t *rapid.T, v reflect.Value, depth int) {
	n := rapid.IntRange(-1, 2).Draw(t, "len")
	if n < 0 || depth >= 5 {
		return
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i), depth+1)
		}
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range n {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, depth+1)
		fill(t, value, depth+1)
		v.SetMapIndex(key, value)
	}
}

// What does not fit a type is refused by its schema.
func TestSchemasRefuse(t *testing.T) {
	t.Parallel()
	schemas := map[string]*jsonschema.Schema{}
	for _, task := range payloadTasks(t) {
		schemas[task.Name] = compileSchema(t, task.Data)
	}
	optional := `"ptr":null,"list":null,"map":null,"struct":{"A":1},"raw":1,"-":true`
	for _, line := range []struct {
		task, text string
		fits       bool
	}{
		{"optional", "{" + optional + "}", true},
		{"optional", `{"struct":{},"-":true}`, true},
		{"optional", "{}", false},
		{"optional", "{" + optional + `,"empty":1}`, false},
		{"optional", "{" + optional + `,"ptrEmpty":null}`, true},
		{"optional", "{" + optional + `,"ptrPtr":null}`, true},
		{"optional", "{" + optional + `,"zero":"yesterday"}`, false},
		{"optional", "{" + optional + `,"map":{"a":40000}}`, false},
		{"optional", "[]", false},
		{"words", `["a"]`, true},
		{"words", `null`, true},
		{"words", `[null]`, false},
		{"counts", `{"a":1.5}`, false},
		{"flag", `"true"`, false},
		{"colors", `{"items":["red"],"next":"blue"}`, true},
		{"colors", `{"items":[1]}`, false},
		{"tree", `{"value":"a","kids":[{"kids":null}]}`, false},
		{"tree", `{"value":"a","kids":[{"value":"b","forest":[[],[null]]}],"forest":null}`, true},
		{"embedding", `{"tenant":"t","shadow":1,"Low":1,"point":{"x":1,"y":2}}`, true},
		{"embedding", `{"tenant":"t","shadow":"1","Low":1,"point":{"x":1,"y":2}}`, false},
	} {
		err := validate(schemas[line.task], []byte(line.text))
		require.Equal(t, line.fits, err == nil, "%s %s: %v", line.task, line.text, err)
	}
}
