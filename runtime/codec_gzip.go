package bullmq

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// gzipName is the member of an envelope that has compressed JSON in it.
const gzipName = "$gzip"

// maxInflated is the largest text that Gzip decodes to. The storage takes no
// larger one either.
const maxInflated = 512 << 20

// Gzip is a codec that compresses texts of at least threshold bytes, if that
// makes them smaller. It stores {"$gzip":"<base64>"}, so that some 3/4 of what
// gzip saves is saved. A Node program reads that with
//
//	JSON.parse(zlib.gunzipSync(Buffer.from(job.data.$gzip, "base64")))
func Gzip(threshold int) Codec { return gzipCodec{threshold, maxInflated} }

type gzipCodec struct {
	threshold int
	most      int64 // bytes that it decodes to
}

var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func (c gzipCodec) Encode(text []byte, _ CodecInfo) ([]byte, error) {
	_, alike := OpenEnvelope(text, gzipName) // a payload that would be taken for an envelope
	if len(text) < c.threshold && !alike {
		return text, nil
	}
	var packed bytes.Buffer
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(&packed)
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	const open, end = `{"` + gzipName + `":"`, `"}`
	size := len(open) + base64.StdEncoding.EncodedLen(packed.Len()) + len(end)
	if size >= len(text) && !alike {
		return text, nil
	}
	out := append(make([]byte, 0, size), open...)
	out = base64.StdEncoding.AppendEncode(out, packed.Bytes())
	return append(out, end...), nil
}

func (c gzipCodec) Decode(text []byte, _ CodecInfo) ([]byte, error) {
	value, ok := OpenEnvelope(text, gzipName)
	if !ok {
		return text, nil
	}
	var packed []byte
	if err := json.Unmarshal(value, &packed); err != nil {
		return nil, fmt.Errorf("%s is not base64", gzipName)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", gzipName, err)
	}
	out, err := io.ReadAll(io.LimitReader(r, c.most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", gzipName, err)
	case int64(len(out)) > c.most:
		return nil, fmt.Errorf("%s: it is larger than %d bytes", gzipName, c.most)
	}
	return out, nil
}
