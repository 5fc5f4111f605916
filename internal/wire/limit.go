package wire

import "time"

const (
	// MaxPriority is the least urgent priority. The score of a job has 2^32 places
	// for each, and is exact up to 2^53.
	MaxPriority = 1<<21 - 1
	// MaxName is the longest name of a queue or a job, in bytes. A job's name is
	// part of its events, and a queue's of its keys.
	MaxName = 300
	// MaxDuration is the longest delay or interval. The score of a delayed job is
	// its time in milliseconds times 4096, which stays exact.
	MaxDuration = 200 * 365 * 24 * time.Hour
)
