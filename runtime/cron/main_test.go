package cron

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// Random tests repeat one another unless -rapid.seed says otherwise: what fails
// is then due to a change, and not to chance.
func TestMain(m *testing.M) {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" {
		if err := seed.Value.Set("1"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}
