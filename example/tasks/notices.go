package tasks

// Announce tells somebody something, the most urgent first. What has been said
// about a topic is not said again within a minute.
//
//bullmq:task notices/announce
//bullmq:dedup ttl=1m
type Announce struct {
	Topic   string `json:"topic" bullmq:"dedup"`
	Text    string `json:"text"`
	Urgency int    `json:"urgency,omitempty" bullmq:"priority"` // 1 is the most urgent
}
