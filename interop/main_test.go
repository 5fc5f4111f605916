package interop

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write docs/compatibility.md")

func TestMain(m *testing.M) {
	code := m.Run()
	Clean()
	os.Exit(code)
}
