package wire

import (
	"errors"
	"math"
	"time"
)

// Version is the version of every payload, question or answer, and its first byte. In version 1, hits had distances in bits.
const Version = 2

// frameVersion is the version of the frames around payloads, and of refusals, which sites with other payload versions must be able to
// read.
const frameVersion = 1

// ErrVersion is wrapped, together with ErrFormat, by the error for a payload of another version.
var ErrVersion = errors.New("unsupported protocol version")

// Modes of a request, stored in its second byte.
const (
	ModeSealed = 1
	ModeBlind  = 2 // reserved for the blind mode
)

// SignatureBytes is the length of an Ed25519 signature.
const SignatureBytes = 64

// Head identifies the newest entry in a site's audit log. Partners keep it, so that a rewritten audit log contradicts it. Seq 0 means
// that the site sent none.
type Head struct {
	Seq       uint64
	Hash      [32]byte
	At        time.Time
	KeyEpoch  uint32               // epoch of the signing key
	Signature [SignatureBytes]byte // by the site
}

func (c *coder) auditHead(h *Head) {
	c.uint(&h.Seq, 8)
	c.bytes(h.Hash[:])
	c.time(&h.At)
	c.uint32(&h.KeyEpoch)
	c.bytes(h.Signature[:])
}

// Request is the content of a sealed request, which is the payload and the data added by the transport.
type Request struct {
	Card    uint64 // serial of the sender's card
	Known   uint64 // serial of the recipient's card known to the sender
	Head    Head   // head of the sender's audit log
	Payload []byte
}

func (c *coder) request(r *Request) {
	c.constant(frameVersion, "unexpected request version")
	c.uint(&r.Card, 8)
	c.uint(&r.Known, 8)
	c.auditHead(&r.Head)
	c.blob(&r.Payload, 4, math.MaxInt32)
}

// AppendRequest appends the content of r.
func AppendRequest(b []byte, r *Request) ([]byte, error) {
	return write(b, "request", func(c *coder) { c.request(r) })
}

// ParseRequest reads the content of a request.
func ParseRequest(b []byte) (*Request, error) {
	var r Request
	if err := read(b, "request", func(c *coder) { c.request(&r) }); err != nil {
		return nil, err
	}
	return &r, nil
}

// Reply is the content of a sealed reply. At, KeyEpoch and Signature belong to the answering site's statement about Payload.
type Reply struct {
	Card      uint64 // serial of the sender's card
	Head      Head   // head of the sender's audit log
	At        time.Time
	KeyEpoch  uint32
	Signature [SignatureBytes]byte
	Payload   []byte
}

func (c *coder) reply(r *Reply) {
	c.constant(frameVersion, "unexpected reply version")
	c.uint(&r.Card, 8)
	c.auditHead(&r.Head)
	c.time(&r.At)
	c.uint32(&r.KeyEpoch)
	c.bytes(r.Signature[:])
	c.blob(&r.Payload, 4, math.MaxInt32)
}

// AppendReply appends the content of r.
func AppendReply(b []byte, r *Reply) ([]byte, error) {
	return write(b, "reply", func(c *coder) { c.reply(r) })
}

// ParseReply reads the content of a reply.
func ParseReply(b []byte) (*Reply, error) {
	var r Reply
	if err := read(b, "reply", func(c *coder) { c.reply(&r) }); err != nil {
		return nil, err
	}
	return &r, nil
}
