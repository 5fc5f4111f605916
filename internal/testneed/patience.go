package testneed

import "time"

// Patience is how long a test waits for what must happen, before it fails. It
// is minutes, so that a machine ten times slower than others, or one that is
// busy with much else, does not make a test fail: what has happened ends the
// wait at once.
const Patience = 5 * time.Minute
