package bullmq

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/bullmq-gen/bullmq-gen/internal/guard"
	"github.com/bullmq-gen/bullmq-gen/internal/jsdecode"
	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// Codec changes the JSON text of a task's payloads and results on its way to
// the storage and back, to compress or to encrypt it: see Spec.Codec, Gzip and
// AESGCM. It is used by many goroutines at once.
//
// What Encode returns must be JSON, so that peers that know nothing of the codec
// can still store, show and hand on the job; most often it is an object with one
// member, see Envelope. Decode undoes Encode, and returns as it is what Encode
// did not make: jobs that were stored before the task had the codec, or by a
// program that does not know it.
//
// Encode need not give the same for the same text twice. Nothing here compares
// what it returns: ids, deduplication keys, priority, delay and group come from
// the payload itself. The size limit of a task is for what Encode returns.
type Codec interface {
	Encode(text []byte, of CodecInfo) ([]byte, error)
	Decode(text []byte, of CodecInfo) ([]byte, error)
}

// CodecInfo describes the text that a codec encodes or decodes. A codec may bind
// the text to it, so that it is of no use in another place.
type CodecInfo struct {
	// Queue is the name of the job's queue, without prefix.
	Queue string
	// Job is the name under which the job is stored. It is empty for a result:
	// who reads that may know the task by an earlier name.
	Job  string
	Part Part
}

// Part is the part of a job that is encoded.
type Part string

// The parts of jobs. Progress, logs and the reasons of failures are stored as
// they are.
const (
	PartData   Part = "data"
	PartResult Part = "result"
	PartStep   Part = "step" // the result of a step, which only Go handlers read
)

// ErrUnknownKey is for codecs that lack the key which a text is encoded with. A
// job because of which it is met has failed this attempt only, unlike others
// that cannot be decoded: another worker may have the key, and this one too
// before the job is tried again.
var ErrUnknownKey = errors.New("unknown key")

// Envelope is the JSON of an object with one member: what codecs store. Its name
// begins with "$", so that it is not taken for a member of a payload.
func Envelope(name string, value any) ([]byte, error) {
	if !strings.HasPrefix(name, "$") {
		return nil, storage.Invalid("name of an envelope %q: begin it with $", name)
	}
	text, err := encodeJSON(map[string]any{name: value})
	return text, storage.OfKind(ErrInvalid, err)
}

// OpenEnvelope is the value in an envelope of that name. It is false for any
// other text, an object with more members included.
func OpenEnvelope(text []byte, name string) (json.RawMessage, bool) {
	n, found := 0, false
	jsdecode.EachMember(text, func(member []byte) bool {
		n++
		found = string(member) == name
		return n == 1 && found
	})
	var object map[string]json.RawMessage
	if !found || n != 1 || json.Unmarshal(text, &object) != nil {
		return nil, false
	}
	return object[name], true
}

// DecodeOnly is a codec that reads what c wrote and writes plain JSON. It is the
// first step of giving a codec to a task, and the last one of taking it away:
// with it all programs can read the envelopes before the first one is written.
func DecodeOnly(c Codec) Codec { return decodeOnly{c} }

type decodeOnly struct{ Codec }

func (decodeOnly) Encode(text []byte, _ CodecInfo) ([]byte, error) { return text, nil }

// Codecs is one codec of several, which encode one after the other, such as
// Gzip and then AESGCM.
func Codecs(first Codec, then ...Codec) Codec { return append(codecs{first}, then...) }

type codecs []Codec

func (all codecs) Encode(text []byte, of CodecInfo) (_ []byte, err error) {
	for _, c := range all {
		if text, err = c.Encode(text, of); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func (all codecs) Decode(text []byte, of CodecInfo) (_ []byte, err error) {
	for i := len(all) - 1; i >= 0; i-- {
		if text, err = all[i].Decode(text, of); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// coder uses the codec of a task. Nil stands for none.
type coder struct {
	get   func() Codec
	known atomic.Pointer[Codec]
}

func newCoder(get func() Codec) *coder {
	if get == nil {
		return nil
	}
	return &coder{get: get}
}

// codec asks for the codec until there is one: it may be made when the program
// has read its settings.
func (c *coder) codec() (Codec, error) {
	if known := c.known.Load(); known != nil {
		return *known, nil
	}
	var got Codec
	if err := guard.Call("codec: the function that returns it", func() error { got = c.get(); return nil }); err != nil {
		return nil, err
	}
	if got == nil {
		return nil, errors.New("codec: it is nil: set it before the task is used")
	}
	c.known.Store(&got)
	return got, nil
}

// encode makes what is stored of a JSON text.
func (c *coder) encode(text []byte, of CodecInfo) ([]byte, error) {
	if c == nil {
		return text, nil
	}
	codec, err := c.codec()
	if err != nil {
		return nil, err
	}
	var out []byte
	if err := guard.Call("it", func() (err error) { out, err = codec.Encode(text, of); return err }); err != nil {
		return nil, fmt.Errorf("codec: %w", err)
	}
	if !json.Valid(out) || !utf8.Valid(out) {
		return nil, errors.New("codec: what it made is not JSON, and peers could not read the job: put it into an object, see Envelope")
	}
	return out, nil
}

// decode makes JSON of a text that is stored.
func (c *coder) decode(text []byte, of CodecInfo) ([]byte, error) {
	if c == nil || len(text) == 0 {
		return text, nil
	}
	codec, err := c.codec()
	if err != nil {
		return nil, err
	}
	var out []byte
	if err := guard.Call("it", func() (err error) { out, err = codec.Decode(text, of); return err }); err != nil {
		return nil, fmt.Errorf("codec: %w", err)
	}
	return out, nil
}

// encodeResult makes what is stored of a result. A task without result has
// nothing to hide.
func (c *coder) encodeResult(queue string, result any) ([]byte, error) {
	text, err := encodeJSON(result)
	if _, none := result.(None); none || err != nil {
		return text, err
	}
	return c.encode(text, CodecInfo{Queue: queue, Part: PartResult})
}

// decodeResult reads what is stored of a result.
func decodeResult[R any](c *coder, queue string, value []byte, into *R) error {
	if !isNothing(into, value) {
		var err error
		if value, err = c.decode(value, CodecInfo{Queue: queue, Part: PartResult}); err != nil {
			return err
		}
	}
	return guard.Call("decoding", func() error { return decodeValue(value, into) })
}

// isNothing is true for the result of a task that has none, which is not
// encoded: also when a handle reads it that does not know its type.
func isNothing(into any, value []byte) bool {
	switch into.(type) {
	case *None:
		return true
	case *json.RawMessage:
		return string(value) == "null"
	}
	return false
}

// malformed is an error of the kind ErrMalformed with a text of its own.
func malformed(format string, args ...any) error {
	return storage.OfKind(ErrMalformed, fmt.Errorf(format, args...))
}

// final makes an error unrecoverable, unless it is one that another worker may
// not have.
func final(err error) error {
	if errors.Is(err, ErrUnknownKey) {
		return err
	}
	return Unrecoverable(err)
}
