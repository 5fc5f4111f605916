// Command bullmq-vet checks the directives of BullMQ tasks without generating
// anything. It runs by itself, and for go vet:
//
//	go tool bullmq-vet ./...
//	go vet -vettool=$(go tool -n bullmq-vet) ./...
//
// See docs/vet.md for editors and continuous integration.
package main

import (
	"golang.org/x/tools/go/analysis/singlechecker"

	bullmqgen "github.com/bullmq-gen/bullmq-gen"
)

func main() { singlechecker.Main(bullmqgen.Analyzer) }
