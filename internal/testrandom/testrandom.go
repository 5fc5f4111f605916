// Package testrandom makes random tests repeatable.
package testrandom

import (
	"flag"
	"fmt"
	"os"
	"testing"

	_ "pgregory.net/rapid" // declares the flag
)

// Main runs the tests of a package, see Seed.
func Main(m *testing.M) {
	Seed()
	os.Exit(m.Run())
}

// Seed is for TestMain: random tests repeat one another unless -rapid.seed says
// otherwise. What fails is then due to a change, and not to chance.
func Seed() {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" {
		if err := seed.Value.Set("1"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
}
