package bullmq_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	bullmq "github.com/bullmq-gen/bullmq-gen/runtime"
	"github.com/bullmq-gen/bullmq-gen/runtime/embedded"
	"github.com/bullmq-gen/bullmq-gen/runtime/redisq"
)

func ExampleQueue_Schedule() {
	ctx := context.Background()
	server, err := embedded.Start()
	check(err)
	defer func() { _ = server.Close() }()
	store, err := redisq.Open(server.URL())
	check(err)
	defer func() { _ = store.Close() }()
	monday := time.Date(2025, 6, 2, 12, 0, 0, 0, time.UTC)
	client, err := bullmq.NewClient(store, bullmq.WithClock(func() time.Time { return monday }))
	check(err)

	q := client.Queue("reports")
	paris := bullmq.ScheduleSpec{Cron: "0 9 * * MON", TZ: "Europe/Paris"}
	for range 2 { // as at each start of a program
		run, err := q.UpsertSchedule(ctx, "weekly", paris, "build-report", map[string]string{"customer": "acme"}, bullmq.Attempts(3))
		fmt.Println(run.At.UTC().Format(time.RFC3339), err)
	}
	n, err := q.CountSchedules(ctx)
	fmt.Println(n, err)
	s, err := q.Schedule(ctx, "weekly")
	fmt.Println(s.Spec.Cron, s.Spec.TZ, s.Name, string(s.Data), s.Iterations, err)

	_, err = q.UpsertSchedule(ctx, "never", bullmq.ScheduleSpec{Cron: "0 0 30 2 *", TZ: "Mars/Base"}, "build-report", nil)
	fmt.Println(err)
	n, err = q.RemoveSchedules(ctx, "weekly")
	fmt.Println(n, err)
	_, err = q.Schedule(ctx, "weekly")
	fmt.Println(errors.Is(err, bullmq.ErrScheduleNotFound))
	// Output:
	// 2025-06-09T07:00:00Z <nil>
	// 2025-06-09T07:00:00Z <nil>
	// 1 <nil>
	// 0 9 * * MON Europe/Paris build-report {"customer":"acme"} 1 <nil>
	// bullmq: schedule "never" on queue "reports": time zone "Mars/Base" is not known: give the name of a zone, such as Europe/Paris, UTC or UTC+2
	// cron pattern "0 0 30 2 *": day of month 30 is in none of the months: no date ever matches it
	// 1 <nil>
	// true
}

// Generated code makes such a set of the schedules that a package declares, and
// the functions EnsureSchedules and PruneSchedules.
func ExampleScheduleSet() {
	ctx := context.Background()
	server, err := embedded.Start()
	check(err)
	defer func() { _ = server.Close() }()
	store, err := redisq.Open(server.URL())
	check(err)
	defer func() { _ = store.Close() }()
	monday := time.Date(2025, 6, 2, 12, 0, 0, 0, time.UTC)
	client, err := bullmq.NewClient(store, bullmq.WithClock(func() time.Time { return monday }))
	check(err)

	type BuildReport struct {
		Customer string `json:"customer"`
	}
	reports := bullmq.NewTask[BuildReport, bullmq.None](bullmq.Spec{Queue: &bullmq.QueueSpec{Name: "reports"}, Name: "build-report"}, nil)
	all := func() (BuildReport, error) { return BuildReport{"all"}, nil }

	// The first version of the program.
	first := bullmq.NewScheduleSet("example.com/app/tasks",
		reports.DeclareSchedule("weekly", bullmq.ScheduleSpec{Cron: "0 9 * * MON", TZ: "Europe/Paris"}, all),
		reports.DeclareSchedule("hourly", bullmq.ScheduleSpec{Every: time.Hour, Offset: 5 * time.Minute}, all),
	)
	fmt.Println(first.Ensure(ctx, client))

	// The next one declares another pattern, and no hourly report.
	next := bullmq.NewScheduleSet("example.com/app/tasks",
		reports.DeclareSchedule("weekly", bullmq.ScheduleSpec{Cron: "0 7 * * FRI", TZ: "Europe/Paris"}, all),
	)
	fmt.Println(next.Ensure(ctx, client))
	gone, err := next.Prune(ctx, client)
	fmt.Println(gone, err)
	list, err := client.Queue("reports").Schedules(ctx, 0, -1)
	check(err)
	for _, s := range list {
		fmt.Println(s.ID, s.Spec.Cron, s.Next.At.UTC().Format(time.RFC3339), s.Owner)
	}
	// Output:
	// <nil>
	// <nil>
	// [{reports hourly}] <nil>
	// weekly 0 7 * * FRI 2025-06-06T05:00:00Z example.com/app/tasks
}
