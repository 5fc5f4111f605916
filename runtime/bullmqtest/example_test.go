package bullmqtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/bullmqtest"
)

// What stands here is generated, for a task with children.
type (
	book        struct{ Title string }
	bookResults struct {
		Pages []string
		Cover bullmq.Outcome[string] // may have failed
	}
)

var bookTask = bullmq.NewTask[book, string](bullmq.Spec{
	Queue: &bullmq.QueueSpec{Name: "books"}, Name: "book",
	Slots: []bullmq.SlotSpec{
		{Name: "pages", Kind: bullmq.SlotMany, Queue: "parts", Job: "page", OnFail: bullmq.OnFailFail},
		{Name: "cover", Queue: "parts", Job: "cover", OnFail: bullmq.OnFailIgnore},
	},
}, nil)

// bind is the handler to be tested.
func bind(_ context.Context, job *bullmq.Job[book], in bookResults) (string, error) {
	if len(in.Pages) == 0 {
		return "", errors.New("a book needs pages")
	}
	cover, err := in.Cover.Get()
	if err != nil {
		cover = "plain"
	}
	return fmt.Sprintf("%s, %d pages, %s", job.Data.Title, len(in.Pages), cover), nil
}

// A handler that gets results of children is tested with results that the test
// makes up.
func ExampleWorkParent() {
	test := func(t testing.TB) {
		fmt.Println(bullmqtest.WorkParent(t, bookTask, bind, book{"Atlas"}, bookResults{
			Pages: []string{"Europe", "Asia"},
			Cover: bullmq.Outcome[string]{Value: "blue"},
		}))
		fmt.Println(bullmqtest.WorkParent(t, bookTask, bind, book{"Atlas"}, bookResults{
			Pages: []string{"Europe"},
			Cover: bullmq.Outcome[string]{Err: errors.New("no color")},
		}))
		_, err := bullmqtest.WorkParent(t, bookTask, bind, book{"Atlas"}, bookResults{})
		fmt.Println(errors.Is(err, bullmq.ErrJobFailed))
	}
	run(test)
	// Output:
	// Atlas, 2 pages, blue <nil>
	// Atlas, 1 pages, plain <nil>
	// true
}

// run is what "go test" does with a test.
func run(test func(testing.TB)) {
	t := &exampleTB{}
	defer t.cleanUp()
	test(t)
}

type exampleTB struct {
	testing.TB
	cleanups []func()
}

func (t *exampleTB) Helper()           {}
func (t *exampleTB) Cleanup(do func()) { t.cleanups = append(t.cleanups, do) }
func (t *exampleTB) Fatal(args ...any) { panic(fmt.Sprint(args...)) }
func (t *exampleTB) cleanUp() {
	for _, do := range slices.Backward(t.cleanups) {
		do()
	}
}
