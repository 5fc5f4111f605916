package tasks

// Announce tells somebody something, the most urgent first. What has been said
// about a topic is not said again within a minute.
//
//bullmq:task notices/announce
//bullmq:dedup ttl=1m
//bullmq:schedule @hourly id=alive payload=Alive
type Announce struct {
	Topic   string `json:"topic" bullmq:"dedup"`
	Text    string `json:"text"`
	Urgency int    `json:"urgency,omitempty" bullmq:"priority"` // 1 is the most urgent
}

// Alive is announced each hour, as long as there are workers.
var Alive = Announce{Topic: "alive", Text: "the workers are there", Urgency: 3}
