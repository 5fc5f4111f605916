package behaviour

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"math/big"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	foreigngen "example.com/AliasOfAForeignTypeAsPayload/gen"
	foreign "example.com/AliasOfAForeignTypeAsPayload/tasks"
	jointbooks "example.com/FlowsAcrossPackagesIntoOneOutput/books"
	jointgen "example.com/FlowsAcrossPackagesIntoOneOutput/gen"
	jointparts "example.com/FlowsAcrossPackagesIntoOneOutput/parts"
	hiddengen "example.com/GuardOnlyWhereItCanBeWritten/gen"
	other "example.com/GuardOnlyWhereItCanBeWritten/other"
	hidden "example.com/GuardOnlyWhereItCanBeWritten/tasks"
	importsgen "example.com/ImportsOfEveryKind/gen"
	imports "example.com/ImportsOfEveryKind/tasks"
	integersgen "example.com/IntegersThatNodeWouldRound/gen"
	integers "example.com/IntegersThatNodeWouldRound/tasks"
	foldergen "example.com/PackageNameUnlikeItsFolder/gen"
	folder "example.com/PackageNameUnlikeItsFolder/my-tasks"
	contexttasks "example.com/PackagesNamedLikeImports/a/context"
	contextgen "example.com/PackagesNamedLikeImports/a/gen"
	bullmqtasks "example.com/PackagesNamedLikeImports/b/bullmq"
	bullmqgen "example.com/PackagesNamedLikeImports/b/gen"
	samegen "example.com/QueueAndTaskOfOneName/gen"
	onename "example.com/QueueAndTaskOfOneName/tasks"
	constgen "example.com/QueueConstantGivesTheName/gen"
	constants "example.com/QueueConstantGivesTheName/tasks"
	madegen "example.com/QueueConstantMadeOfOthers/gen"
	made "example.com/QueueConstantMadeOfOthers/tasks"
	alonegen "example.com/QueueNamedByItsTasksAlone/gen"
	alone "example.com/QueueNamedByItsTasksAlone/tasks"
	sharedagen "example.com/QueueOfTwoPackagesWithTwoOutputs/a/gen"
	shareda "example.com/QueueOfTwoPackagesWithTwoOutputs/a/tasks"
	sharedbgen "example.com/QueueOfTwoPackagesWithTwoOutputs/b/gen"
	sharedb "example.com/QueueOfTwoPackagesWithTwoOutputs/b/tasks"
	recursivegen "example.com/RecursivePayload/gen"
	recursive "example.com/RecursivePayload/tasks"
	abroad "example.com/ResultsOfOtherPackages/billing"
	abroadgen "example.com/ResultsOfOtherPackages/gen"
	abroadtasks "example.com/ResultsOfOtherPackages/tasks"
	severalgen "example.com/SeveralPackagesIntoOneOutput/gen"
	severalreport "example.com/SeveralPackagesIntoOneOutput/report"
	returnsgen "example.com/SourceWithCarriageReturns/gen"
	returnstasks "example.com/SourceWithCarriageReturns/tasks"
	kidsbooks "example.com/StructOfChildrenOfAPackageThatIsNotRead/books"
	kidsgen "example.com/StructOfChildrenOfAPackageThatIsNotRead/gen"
	kidsparts "example.com/StructOfChildrenOfAPackageThatIsNotRead/parts"
	quotesgen "example.com/TagsInPlainQuotes/gen"
	quotes "example.com/TagsInPlainQuotes/tasks"
	twinsgen "example.com/TwoPackagesOfOneName/gen"
	twins "example.com/TwoPackagesOfOneName/tasks"
	twinsx "example.com/TwoPackagesOfOneName/x/model"
	twinsy "example.com/TwoPackagesOfOneName/y-model"
	likegen "example.com/TypesNamedLikeEverythingElse/gen"
	like "example.com/TypesNamedLikeEverythingElse/tasks"
	standardgen "example.com/TypesOfTheStandardLibrary/gen"
	standard "example.com/TypesOfTheStandardLibrary/tasks"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/bullmqtest"
)

// wire is what a job is stored as, and its result.
type wire struct {
	queue, name, data string
	opts              bullmq.Options
	result            string
}

// Each line adds a job by a generated function and works it by another: what is
// stored is as said, the handler gets what was added, and the caller what the
// handler returned.
func TestJobsOfEveryForm(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	raw, a := json.RawMessage(`{"x":[1]}`), &standard.T{A: 1}
	large, most := int64(math.MaxInt64), int64(1)<<53-1 // as text, and as a number that Node reads
	embedded, unexported := hidden.UnexportedEmbedded{}, hidden.UnexportedAlias{}
	embedded.A, unexported.ID = "e", "u"
	for name, line := range map[string]func(*testing.T){
		"an alias of a foreign type": exchange(foreigngen.EnqueueCharge, unanswered(foreigngen.HandleCharge), foreigngen.BillingQueue,
			foreign.Charge{Amount: 3}, bullmq.None{},
			wire{queue: "billing", name: "charge", data: `{"amount":3,"note":null}`, result: "null"}),
		"imports of every kind": exchange(importsgen.EnqueueA, importsgen.HandleA, importsgen.QQueue,
			imports.A{Raw: raw, At: at}, at,
			wire{queue: "q", name: "a", data: `{"Raw":{"x":[1]},"At":"2024-02-29T12:00:00Z"}`, result: `"2024-02-29T12:00:00Z"`}),
		"a package named context": exchange(contextgen.EnqueueDo, contextgen.HandleDo, contextgen.AQueue,
			contexttasks.Do{}, contexttasks.Result{},
			wire{queue: "a", name: "do", data: "{}", opts: bullmq.Options{Timeout: time.Second}, result: "{}"}),
		"a package named bullmq": exchange(bullmqgen.EnqueueDo, bullmqgen.HandleDo, bullmqgen.BQueue,
			bullmqtasks.Do{}, bullmqtasks.Result{},
			wire{queue: "b", name: "do", data: "{}", opts: bullmq.Options{Timeout: time.Second}, result: "{}"}),
		"two packages of one name": exchange(twinsgen.EnqueueDo, twinsgen.HandleDo, twinsgen.QQueue,
			twins.Do{A: twinsx.Item{ID: "a"}, B: twinsy.Item{ID: "b"}, C: []map[string]*twinsy.Item{{"k": {ID: "c"}, "n": nil}}}, twins.Result{ID: "r"},
			wire{queue: "q", name: "do", data: `{"A":{"ID":"a"},"B":{"ID":"b"},"C":[{"k":{"ID":"c"},"n":null}]}`, result: `{"ID":"r"}`}),
		"a result of an internal package": exchange(abroadgen.EnqueueB, abroadgen.HandleB, abroadgen.QQueue,
			abroadtasks.B{Secret: &abroadtasks.Secret{ID: "s"}}, []abroadtasks.Secret{{ID: "t"}},
			wire{queue: "q", name: "b", data: `{"Secret":{"ID":"s"}}`, result: `[{"ID":"t"}]`}),
		"a result named by an unexported alias": exchange(abroadgen.EnqueueC, abroadgen.HandleC, abroadgen.QQueue,
			abroadtasks.C{}, []abroad.Receipt(nil),
			wire{queue: "q", name: "c", data: `{"Receipts":null}`, result: "null"}),
		"a queue by a constant made of others": exchange(madegen.EnqueueSend, unanswered(madegen.HandleSend), madegen.EmailsQueue,
			made.Send{}, bullmq.None{},
			wire{queue: "prod-emails", name: "send", data: "{}", result: "null"}),
		"a queue with a space": exchange(constgen.EnqueueDo, unanswered(constgen.HandleDo), constgen.QueueQueue,
			constants.Do{}, bullmq.None{},
			wire{queue: "the queue", name: "the task", data: "{}", result: "null"}),
		"a queue with braces": exchange(alonegen.EnqueueC, unanswered(alonegen.HandleC), alonegen.ShopOrdersQueue,
			alone.C{}, bullmq.None{},
			wire{queue: "{shop}-orders", name: "c", data: "{}", result: "null"}),
		"a queue beyond ASCII": exchange(alonegen.EnqueueD, unanswered(alonegen.HandleD), alonegen.ÉmailQueue,
			alone.D{}, bullmq.None{},
			wire{queue: "émail", name: "d", data: "{}", result: "null"}),
		"a queue and a task of one name": exchange(samegen.EnqueueTranscode, unanswered(samegen.HandleTranscode), samegen.TranscodeQueue,
			onename.Transcode{}, bullmq.None{},
			wire{queue: "transcode", name: "transcode", data: "{}", result: "null"}),
		"names that differ in case: HTTP": exchange(severalgen.EnqueueHTTPFetch, unanswered(severalgen.HandleHTTPFetch), severalgen.ReportsQueue,
			severalreport.HTTPFetch{}, bullmq.None{},
			wire{queue: "reports", name: "HTTP", data: "{}", result: "null"}),
		"names that differ in case: Http": exchange(severalgen.EnqueueHttpFetch, unanswered(severalgen.HandleHttpFetch), severalgen.ReportsQueue,
			severalreport.HttpFetch{}, bullmq.None{},
			wire{queue: "reports", name: "Http", data: "{}", result: "null"}),
		"a payload in itself": exchange(recursivegen.EnqueueNode, recursivegen.HandleNode, recursivegen.QQueue,
			recursive.Node{Name: "a", Children: []recursive.Node{{Name: "b"}}, Other: &recursive.Other{Back: &recursive.Node{}}},
			recursive.Node{ByName: map[string]*recursive.Node{"x": nil}},
			wire{queue: "q", name: "walk", data: `{"name":"a","children":[{"name":"b","children":null,"parent":null,"byName":null,"other":null}],"parent":null,"byName":null,
				"other":{"Back":{"name":"","children":null,"parent":null,"byName":null,"other":null}}}`,
				result: `{"name":"","children":null,"parent":null,"byName":{"x":null},"other":null}`}),
		"a generic payload in itself": exchange(recursivegen.EnqueueStringTree, unanswered(recursivegen.HandleStringTree), recursivegen.QQueue,
			recursive.StringTree{Value: "a", Kids: []recursive.StringTree{{Value: "b"}}}, bullmq.None{},
			wire{queue: "q", name: "tree", data: `{"Value":"a","Kids":[{"Value":"b","Kids":null}]}`, result: "null"}),
		"types of the standard library": exchange(standardgen.EnqueueDo, unanswered(standardgen.HandleDo), standardgen.QQueue,
			standard.Do{
				Raw: map[string]*json.RawMessage{"r": &raw}, Waits: []bullmq.Millis{1500}, At: &at, PP: &a, Four: [4]byte{1, 2, 3, 4}, Bytes: []byte{255},
				Big: *big.NewInt(7), BigP: big.NewInt(-8), Null: sql.NullString{String: "n", Valid: true},
				Addr: netip.MustParseAddr("::1"), Number: "1.50",
			}, bullmq.None{},
			wire{queue: "q", name: "do", data: `{"Raw":{"r":{"x":[1]}},"Waits":[1500],"At":"2024-02-29T12:00:00Z","PP":{"A":1},"Four":[1,2,3,4],"Bytes":"/w==",
				"Big":7,"BigP":-8,"Null":{"String":"n","Valid":true},"Addr":"::1","Number":1.50}`, result: "null"}),
		"integers that are exact": exchange(integersgen.EnqueueA, integersgen.HandleA, integersgen.QQueue,
			integers.A{A: most, B: uint64(most), C: integers.ID(-most), D: large, E: &large, F: []int64{most}, G: 7, H: map[string]uint64{"m": 1}}, []int64{most},
			wire{queue: "q", name: "a", data: `{"A":9007199254740991,"b":9007199254740991,"C":-9007199254740991,"D":"9223372036854775807","e":"9223372036854775807",
				"F":[9007199254740991],"G":7,"h":{"m":1}}`, result: "[9007199254740991]"}),
		"fields of types that cannot be named": exchange(hiddengen.EnqueueExported, unanswered(hiddengen.HandleExported), hiddengen.QQueue,
			hidden.Exported{Base: hidden.Base{A: "a"}, Item: &other.Item{ID: "i"}, B: "b", L: other.Item{ID: "l"}, Tick: "t"}, bullmq.None{},
			wire{queue: "q", name: "exported", data: `{"A":"a","item":{"ID":"i"},"B":"b","C":"","Inner":{"at":"0001-01-01T00:00:00Z"},"L":{"ID":"l"},"Tick":"t"}`, result: "null"}),
		"an embedded type that cannot be named": exchange(hiddengen.EnqueueUnexportedEmbedded, unanswered(hiddengen.HandleUnexportedEmbedded), hiddengen.QQueue,
			embedded, bullmq.None{},
			wire{queue: "q", name: "unexported-embedded", data: `{"A":"e"}`, result: "null"}),
		"an embedded alias that cannot be named": exchange(hiddengen.EnqueueUnexportedAlias, unanswered(hiddengen.HandleUnexportedAlias), hiddengen.QQueue,
			unexported, bullmq.None{},
			wire{queue: "q", name: "unexported-alias", data: `{"ID":"u"}`, result: "null"}),
		"a source with Windows line ends": exchange(returnsgen.EnqueueDo, returnsgen.HandleDo, returnsgen.AQueue,
			returnstasks.Do{A: "k"}, "done",
			wire{queue: "a", name: "do", data: `{"A":"k"}`, opts: bullmq.Options{Attempts: 2, Dedup: &bullmq.Dedup{ID: "do/k"}}, result: `"done"`}),
		"tags in plain quotes": exchange(quotesgen.EnqueueA, unanswered(quotesgen.HandleA), quotesgen.QQueue,
			quotes.A{ID: "k", Rank: 3}, bullmq.None{},
			wire{queue: "q", name: "a", data: `{"id":"k","Rank":3}`, opts: bullmq.Options{JobID: "a/k", Priority: 3, Dedup: &bullmq.Dedup{ID: "a/k"}}, result: "null"}),
		"a package unlike its folder": exchange(foldergen.EnqueueDo, foldergen.HandleDo, foldergen.QQueue,
			folder.Do{}, folder.Result{},
			wire{queue: "q", name: "do", data: "{}", result: "{}"}),
		"a payload with the names of parameters": exchange(likegen.EnqueueCtx, unanswered(likegen.HandleCtx), likegen.NamesQueue,
			like.Ctx{Ctx: "1", C: "2", P: "3", Type: "k"}, bullmq.None{},
			wire{queue: "names", name: "ctx", data: `{"Ctx":"1","Err":"","Opts":"","Job":"","C":"2","P":"3","W":"","type":"k"}`, opts: bullmq.Options{Dedup: &bullmq.Dedup{ID: "ctx/k"}}, result: "null"}),
		"a payload named like the runtime": exchange(likegen.EnqueueBullmq, unanswered(likegen.HandleBullmq), likegen.NamesQueue,
			like.Bullmq{}, bullmq.None{},
			wire{queue: "names", name: "bullmq", data: "{}", result: "null"}),
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); line(t) })
	}
}

// exchange is the test of one line.
func exchange[P, R any](
	add func(context.Context, *bullmq.Client, P, ...bullmq.AddOption) (*bullmq.JobHandle[R], error),
	handle func(*bullmq.Worker, func(context.Context, *bullmq.Job[P]) (R, error)),
	q *bullmq.QueueSpec, data P, result R, want wire,
) func(*testing.T) {
	return func(t *testing.T) {
		env, ctx := bullmqtest.Start(t), deadline(t)
		h, err := add(ctx, env.Client, data)
		require.NoError(t, err)
		stored, err := env.Client.Queue(want.queue).Job(ctx, h.ID)
		require.NoError(t, err)
		require.Equal(t, want.name, stored.Name)
		require.Equal(t, compact(t, want.data), string(stored.Data))
		got := options(t, stored)
		got.Timestamp, got.Parent, got.Unknown = time.Time{}, nil, nil
		require.Equal(t, want.opts, got)

		arrived := make(chan P, 1)
		work(t, env, q, func(w *bullmq.Worker) {
			handle(w, func(_ context.Context, job *bullmq.Job[P]) (R, error) {
				arrived <- job.Data
				return result, nil
			})
		}, bullmq.AllowPartial())
		back, err := h.Result(ctx)
		require.NoError(t, err)
		require.Equal(t, result, back)
		require.Equal(t, data, <-arrived)
		require.Equal(t, want.result, string(reaches(t, env, want.queue, h.ID, bullmq.StateCompleted).ReturnValue))
	}
}

// unanswered makes a function for handlers without a result one for those with an empty one.
func unanswered[P any](handle func(*bullmq.Worker, func(context.Context, *bullmq.Job[P]) error)) func(*bullmq.Worker, func(context.Context, *bullmq.Job[P]) (bullmq.None, error)) {
	return func(w *bullmq.Worker, h func(context.Context, *bullmq.Job[P]) (bullmq.None, error)) {
		handle(w, func(ctx context.Context, job *bullmq.Job[P]) error {
			_, err := h(ctx, job)
			return err
		})
	}
}

// compact is JSON without the spaces that the test has for its reader. Numbers
// stay as they are written: those of Go are compared to the last digit.
func compact(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, json.Compact(&out, []byte(text)))
	return out.String()
}

// What Node would round is not added.
func TestIntegersThatNodeWouldRound(t *testing.T) {
	t.Parallel()
	env := bullmqtest.Start(t)
	_, err := integersgen.EnqueueA(deadline(t), env.Client, integers.A{F: []int64{1<<53 - 1, 1 << 53}})
	require.ErrorContains(t, err, "9007199254740992 is beyond 2^53")
	bullmqtest.RequireNotEnqueued(t, env, integersgen.ATask)
}

// Two packages with outputs of their own share a queue, and one worker does the
// tasks of both.
func TestQueueOfTwoOutputs(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), deadline(t)
	a, err := sharedagen.EnqueueA(ctx, env.Client, shareda.A{})
	require.NoError(t, err)
	b, err := sharedbgen.EnqueueB(ctx, env.Client, sharedb.B{})
	require.NoError(t, err)
	ran := make(chan string, 2)
	work(t, env, sharedagen.QQueue, func(w *bullmq.Worker) {
		sharedagen.HandleA(w, func(_ context.Context, job *bullmq.Job[shareda.A]) error { ran <- job.Name; return nil })
		sharedbgen.HandleB(w, func(_ context.Context, job *bullmq.Job[sharedb.B]) error { ran <- job.Name; return nil })
	})
	for _, h := range []*bullmq.JobHandle[bullmq.None]{a, b} {
		_, err := h.Result(ctx)
		require.NoError(t, err)
	}
	require.ElementsMatch(t, []string{"a", "b"}, []string{<-ran, <-ran})
}

// A struct of children of another package in the same output, through an alias.
func TestFlowThroughAnAlias(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), deadline(t)
	lines := 0
	work(t, env, jointgen.PartsQueue, func(w *bullmq.Worker) {
		jointgen.HandleDraw(w, func(context.Context, *bullmq.Job[jointparts.Draw]) (jointparts.Drawing, error) {
			lines++ // one at a time
			return jointparts.Drawing{Lines: lines}, nil
		})
	})
	got := make(chan jointgen.BindResults, 1)
	work(t, env, jointgen.BooksQueue, func(w *bullmq.Worker) {
		jointgen.HandleBind(w, func(_ context.Context, _ *bullmq.Job[jointbooks.Bind], in jointgen.BindResults) error {
			got <- in
			return nil
		})
	})
	h, err := jointgen.EnqueueBind(ctx, env.Client, jointbooks.Bind{}, jointgen.BindFlow{
		Drawings: []jointgen.DrawNode{jointgen.FlowDraw(jointparts.Draw{}), jointgen.FlowDraw(jointparts.Draw{})},
	})
	require.NoError(t, err)
	_, err = h.Result(ctx)
	require.NoError(t, err)
	require.ElementsMatch(t, []jointparts.Drawing{{Lines: 1}, {Lines: 2}}, (<-got).Drawings)
}

// A generic struct of children with two slots for one task.
func TestFlowOfAGenericStruct(t *testing.T) {
	t.Parallel()
	env, ctx := bullmqtest.Start(t), deadline(t)
	work(t, env, kidsgen.PartsQueue, func(w *bullmq.Worker) {
		kidsgen.HandlePaint(w, func(_ context.Context, job *bullmq.Job[kidsparts.Paint]) (string, error) { return job.ID, nil })
	}, bullmq.AllowPartial())
	got := make(chan kidsgen.FoldResults, 1)
	work(t, env, kidsgen.BooksQueue, func(w *bullmq.Worker) {
		kidsgen.HandleFold(w, func(_ context.Context, _ *bullmq.Job[kidsbooks.Fold], in kidsgen.FoldResults) error {
			got <- in
			return nil
		})
	}, bullmq.AllowPartial())
	h, err := kidsgen.EnqueueFold(ctx, env.Client, kidsbooks.Fold{}, kidsgen.FoldFlow{
		Left: kidsgen.FlowPaint(kidsparts.Paint{}), Right: kidsgen.FlowPaint(kidsparts.Paint{}),
	})
	require.NoError(t, err)
	_, err = h.Result(ctx)
	require.NoError(t, err)
	in := <-got
	require.Contains(t, in.Left, "left")
	require.Contains(t, in.Right, "right")
}
