package bullmqgen_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullmq-gen/bullmq-gen/internal/manifest"
	"github.com/bullmq-gen/bullmq-gen/testdata/payloads"
)

var versions = map[string]any{
	"shape1": payloads.Shape1{}, "shape2": payloads.Shape2{}, "shape3": payloads.Shape3{}, "shape4": payloads.Shape4{},
	"shape5": payloads.Shape5{}, "shape6": payloads.Shape6{}, "shape7": payloads.Shape7{}, "shape8": payloads.Shape8{},
	"raw": payloads.Raw{}, "counts": payloads.Counts{}, "words": payloads.Words{}, "tree": payloads.Tree{},
}

// When no change from one type to another is breaking, whatever was written as
// the one is read as the other, with all members that it requires.
func TestSafeChangesAreSafe(t *testing.T) {
	t.Parallel()
	tasks := map[string]*manifest.Task{}
	for _, q := range payloadManifest(t).Packages[0].Queues {
		for _, task := range q.Tasks {
			tasks[task.Name] = task
		}
	}
	safe := 0
	for was, old := range versions {
		for is, now := range versions {
			if was == is || slices.ContainsFunc(changed(tasks[was], tasks[is]), func(c manifest.Change) bool { return c.Level != manifest.Safe }) {
				continue
			}
			safe++
			t.Run(was+" to "+is, func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					v := reflect.New(reflect.TypeOf(old))
					fill(t, v.Elem(), 0)
					text, err := json.Marshal(v.Interface())
					if err != nil {
						t.Fatal(err)
					}
					if err := json.Unmarshal(text, reflect.New(reflect.TypeOf(now)).Interface()); err != nil {
						t.Fatalf("%s: %v", text, err)
					}
					var members map[string]json.RawMessage
					for _, name := range tasks[is].Data.Required {
						if err := json.Unmarshal(text, &members); err != nil || members[name] == nil {
							t.Fatalf("%s lacks %s: %v", text, name, err)
						}
					}
				})
			})
		}
	}
	require.Greater(t, safe, 8)
}

// changed compares two tasks as if they were one.
func changed(was, is *manifest.Task) []manifest.Change {
	document := func(t *manifest.Task) *manifest.Document {
		return manifest.New([]*manifest.Package{{Queues: []*manifest.Queue{{Name: "q", Tasks: []*manifest.Task{{Name: "t", Data: t.Data}}}}}})
	}
	return manifest.Compare(document(was), document(is))
}
