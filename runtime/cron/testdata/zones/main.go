// Zones finds a time in a zone, for a test of programs on machines without a
// zone database.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/bullmq-gen/bullmq-gen/runtime/cron"
)

func main() {
	p, err := cron.Parse("0 9 * * *")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	zone, err := cron.LoadZone("Europe/Rome")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	at, _ := p.Next(time.Date(2025, 7, 1, 0, 0, 0, 0, time.UTC), zone)
	fmt.Println(at.UTC().Format(time.RFC3339))
}
