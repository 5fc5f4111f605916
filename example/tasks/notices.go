package tasks

// Announce publishes a notice, the most urgent first. A topic is announced at
// most once a minute.
//
//bullmq:task notices/announce
//bullmq:dedup ttl=1m
//bullmq:schedule @hourly id=alive payload=Alive
type Announce struct {
	Topic   string `json:"topic" bullmq:"dedup"`
	Text    string `json:"text"`
	Urgency int    `json:"urgency,omitempty" bullmq:"priority"` // 1 is the most urgent
}

// Alive is announced every hour.
var Alive = Announce{Topic: "alive", Text: "the workers are there", Urgency: 3}
