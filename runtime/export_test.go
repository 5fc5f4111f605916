package bullmq

// GzipUpTo is Gzip with another limit of what it decodes to.
func GzipUpTo(most int64) Codec { return gzipCodec{0, most} }
