// Package tasks declares the jobs of the example: one reads a file, one adds up
// the findings, one compares files, and one announces the result.
//
// The functions that add and handle these jobs are generated into package gen
// by go generate.
package tasks

import bullmq "github.com/bullmq-gen/bullmq-gen/runtime"

// Files is the queue of all jobs that read files. A worker runs eight of its
// jobs at once. The queue keeps the last ten thousand completed jobs.
//
//bullmq:queue concurrency=8 keep-completed=10000
const Files = "files"

// ScanFile reads a file and counts its lines and words. If the file is locked or
// not there yet, the job is retried.
//
//bullmq:task files/scan-file result=FileReport timeout=1m
//bullmq:retry attempts=3 backoff=exponential:200ms jitter=0.2
type ScanFile struct {
	// Path of the file, below the folder that the worker was started with.
	Path string `json:"path"`
}

// FileReport is what ScanFile found.
type FileReport struct {
	Path     string `json:"path"`
	SHA256   string `json:"sha256"`
	Bytes    int    `json:"bytes"`
	Lines    int    `json:"lines"`
	Words    int    `json:"words"`
	Language string `json:"language,omitempty"`
}

// Summarize adds up the reports of earlier scans.
//
//bullmq:task files/summarize result=Summary
type Summarize struct {
	// Scans are the ids of the ScanFile jobs.
	Scans []string `json:"scans"`
	// Wait is how long the job is delayed.
	Wait bullmq.Millis `json:"wait" bullmq:"delay"`
}

// Summary is the sum of many reports.
type Summary struct {
	Files     int            `json:"files"`
	Failed    int            `json:"failed"`
	Bytes     int            `json:"bytes"`
	Lines     int            `json:"lines"`
	Words     int            `json:"words"`
	Languages map[string]int `json:"languages"`
}
