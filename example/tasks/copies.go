package tasks

// FindCopies finds files with the same content. It waits for the scans of all
// candidates.
//
//bullmq:task copies/find-copies result=Copies children=FindCopiesChildren
type FindCopies struct {
	// Smallest is the size in bytes below which files do not count.
	Smallest int `json:"smallest"`
}

// FindCopiesChildren declares the jobs that FindCopies waits for.
type FindCopiesChildren struct {
	// Files are scanned side by side. One that cannot be read is like no other.
	Files []ScanFile `bullmq:"onfail=ignore"`
}

// Copies lists files with the same content.
type Copies struct {
	// Sets are the paths of files with the same content, those that waste most first.
	Sets [][]string `json:"sets"`
	// Wasted is how many bytes there are more than needed.
	Wasted int `json:"wasted"`
	// Unread is how many files could not be read.
	Unread int `json:"unread"`
}
