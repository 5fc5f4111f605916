package bullmq

// Version is the version of this module. It is what a queue's metadata says
// when no other library announced itself first.
const Version = "0.1.0"

// IsAtLeastV0_1 is referred to by generated code, so that code made by a
// generator of version 0.1 or later does not compile with an older runtime.
const IsAtLeastV0_1 = true
