package interop

import "encoding/json"

// Job is a job as a peer reads it. What is not stored with it is zero, or nil.
type Job struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Data json.RawMessage `json:"data"`
	// Opts are the options by their long names, as Node programs have them.
	Opts map[string]json.RawMessage `json:"opts"`

	Timestamp int64 `json:"timestamp"` // these four in milliseconds
	Delay     int64 `json:"delay"`
	Processed int64 `json:"processedOn"`
	Finished  int64 `json:"finishedOn"`

	Priority       int    `json:"priority"`
	AttemptsMade   int    `json:"attemptsMade"`
	AttemptsStart  int    `json:"attemptsStarted"`
	StalledCounter int    `json:"stalledCounter"`
	ProcessedBy    string `json:"processedBy"`

	Progress     json.RawMessage `json:"progress"`
	ReturnValue  json.RawMessage `json:"returnvalue"`
	FailedReason string          `json:"failedReason"`
	Stacktrace   []string        `json:"stacktrace"`
	Deferred     string          `json:"deferredFailure"`

	ParentKey string          `json:"parentKey"`
	Parent    json.RawMessage `json:"parent"`
	Scheduler string          `json:"repeatJobKey"`
	DedupID   string          `json:"deduplicationId"`
}

// Flow is a job of a flow with its children.
type Flow struct {
	Queue    string `json:"queue"`
	Job      *Job   `json:"job"`
	Children []Flow `json:"children"`
}
