package bullmq

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
)

// aesName is the member of an envelope that has encrypted JSON in it.
const aesName = "$aesgcm"

// EncryptionKey is a key of AESGCM.
type EncryptionKey struct {
	// ID names the key in what it encrypts; peers see it.
	ID string
	// Secret is the key itself: 16, 24 or 32 random bytes.
	Secret []byte
}

// Format writes the key without its secret, whatever the verb is.
func (k EncryptionKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// String describes the key without its secret.
func (k EncryptionKey) String() string {
	return fmt.Sprintf("Key{ID: %q, Secret: %d bytes, not shown}", k.ID, len(k.Secret))
}

// GoString is String.
func (k EncryptionKey) GoString() string { return k.String() }

// LogValue makes slog leave the secret out.
func (k EncryptionKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalJSON writes the id alone, so that a key in a structure that is logged or
// sent as JSON does not give its secret away.
func (k EncryptionKey) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct{ ID string }{k.ID})
}

// AES is the codec of AESGCM.
type AES struct {
	id    string
	keys  map[string]cipher.AEAD
	err   error
	plain bool // plain texts are read too
}

// AESGCM is a codec that encrypts with AES-GCM under the key use, and decrypts
// with that or one of the others, which the envelope names. To rotate a key,
// first give the new one to all programs as another, then use it, and take the
// old one away when no job of it is left; each key is good for some 2^32 jobs.
// A job whose key is not known fails its attempt with ErrUnknownKey.
//
// It stores {"$aesgcm":{"kid":"...","iv":"...","data":"...","tag":"..."}}, all
// but kid in base64, bound to its queue, to the name of its job and to the part
// that it is: by the additional data "data:<queue>:<name>", "step:<queue>:<name>"
// or "result:<queue>:". A job that is stored under another name or on another
// queue cannot be read there.
//
// What is wrong with the keys is reported by each use of the codec.
func AESGCM(use EncryptionKey, others ...EncryptionKey) *AES {
	c := &AES{id: use.ID, keys: map[string]cipher.AEAD{}, plain: true}
	for _, k := range append([]EncryptionKey{use}, others...) {
		switch block, err := aes.NewCipher(k.Secret); {
		case k.ID == "":
			c.err = errors.New("a key needs an id")
		case c.keys[k.ID] != nil:
			c.err = fmt.Errorf("two keys have the id %q", k.ID)
		case err != nil:
			c.err = fmt.Errorf("key %q has %d bytes, not 16, 24 or 32", k.ID, len(k.Secret))
		default:
			if c.keys[k.ID], err = cipher.NewGCM(block); err != nil {
				c.err = fmt.Errorf("key %q: %w", k.ID, err)
			}
		}
	}
	return c
}

// Format writes the ids of the keys alone, whatever the verb is.
func (c *AES) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// String describes the codec by the ids of its keys.
func (c *AES) String() string {
	if c == nil {
		return "AESGCM(<nil>)"
	}
	return fmt.Sprintf("AESGCM(uses %q, knows %q)", c.id, slices.Sorted(maps.Keys(c.keys)))
}

// GoString is String.
func (c *AES) GoString() string { return c.String() }

// LogValue makes slog describe the codec by the ids of its keys.
func (c *AES) LogValue() slog.Value { return slog.StringValue(c.String()) }

// OnlyEncrypted is the codec without its tolerance: jobs that are not encrypted
// fail instead of being run, so that nobody without a key can add any.
func (c *AES) OnlyEncrypted() *AES {
	strict := *c
	strict.plain = false
	return &strict
}

// sealed is what an envelope holds.
type sealed struct {
	Key  string `json:"kid"`
	IV   []byte `json:"iv"`
	Data []byte `json:"data"`
	Tag  []byte `json:"tag"`
}

// Encode encrypts a text.
func (c *AES) Encode(text []byte, of CodecInfo) ([]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	gcm := c.keys[c.id]
	iv := make([]byte, gcm.NonceSize())
	_, _ = rand.Read(iv) // it never fails
	data := gcm.Seal(nil, iv, text, of.bytes())
	cut := len(data) - gcm.Overhead()
	return Envelope(aesName, sealed{c.id, iv, data[:cut], data[cut:]})
}

// Decode decrypts what Encode made, and leaves other texts as they are.
func (c *AES) Decode(text []byte, of CodecInfo) ([]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	value, ok := OpenEnvelope(text, aesName)
	if !ok {
		if !c.plain {
			return nil, errors.New("it is not encrypted")
		}
		return text, nil
	}
	var s sealed
	if err := json.Unmarshal(value, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", aesName, err)
	}
	gcm := c.keys[s.Key]
	switch {
	case gcm == nil:
		return nil, fmt.Errorf("%s: %w %q: give it to this program", aesName, ErrUnknownKey, s.Key)
	case len(s.IV) != gcm.NonceSize() || len(s.Tag) != gcm.Overhead():
		return nil, fmt.Errorf("%s: iv and tag have %d and %d bytes, not %d and %d", aesName, len(s.IV), len(s.Tag), gcm.NonceSize(), gcm.Overhead())
	}
	out, err := gcm.Open(nil, s.IV, append(s.Data, s.Tag...), of.bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: key %q does not open it: the text was changed, is that of another job, or the key is another one of this id", aesName, s.Key)
	}
	return out, nil
}

// bytes is what a text is bound to. Queues have no colon in their names.
func (of CodecInfo) bytes() []byte { return []byte(string(of.Part) + ":" + of.Queue + ":" + of.Job) }
